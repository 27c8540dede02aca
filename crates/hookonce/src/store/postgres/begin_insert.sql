-- Begins a batch of events: nobody's open transaction holds it up for long.
begin isolation level read committed;
set local lock_timeout = '50ms'
