-- Deletes the arrivals that are told by another row.
delete from hookonce_arrivals
where seq = :seq
  and arrival > :after
  and arrival <= :until
  and at < :before
  and mismatch = 0
  and arrival <> :arrival
