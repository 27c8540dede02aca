-- Stores events whose ids are unknown, with their tasks, and gives the digests of the others.
select xid, known
from hookonce.insert_events(
  $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19
)
