-- Tells all of an event's folded arrivals in one row.
update hookonce_arrivals
set n = :n, at = :at
where arrival = :arrival
