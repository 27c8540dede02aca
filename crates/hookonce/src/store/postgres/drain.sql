-- Gives so many lanes without a head their next one.
select hookonce.drain_wakes($1)
