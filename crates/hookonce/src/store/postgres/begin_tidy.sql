-- Begins a part of the janitor's work: nobody's open transaction holds it up for long.
begin;
set local lock_timeout = '200ms'
