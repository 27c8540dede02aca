-- Gives so many lanes without a head their next one, and says on which page of the list the first was.
-- What a crash undoes of it is still to be done, and then done.
select set_config('synchronous_commit', 'off', true), hookonce.drain_wakes($1, $2)
