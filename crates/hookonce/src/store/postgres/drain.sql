-- Gives lanes without a head their next one.
select hookonce.drain_wakes()
