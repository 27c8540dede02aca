-- Gives the oldest due tasks of each route that became due lately, by priority and source, and holds
-- them for this transaction.
select n, priority, source, due_at, seq
from hookonce.due_tasks_since($1, $2, $3, $4, $5, $6, $7)
