-- Gives so many lanes without a head their next one. What a crash undoes of it is still to be done, and
-- then done.
select set_config('synchronous_commit', 'off', true), hookonce.drain_wakes($1)
