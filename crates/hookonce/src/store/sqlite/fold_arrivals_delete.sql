-- Deletes the arrivals that are told by another row.
delete from hookonce_arrivals
where seq = :seq
  and at < :before
  and element is null
  and mismatch = :mismatch
  and arrival <> :arrival
