-- Deletes events with all that is kept of them, and remembers up to which sender's time keys were
-- removed; that never goes back.
with gone as (
  delete from hookonce.events
  where seq = any($1::bigint[])
    and payload is null
  returning seq
),
arrivals as (
  delete from hookonce.arrivals where seq in (select seq from gone)
),
steps as (
  delete from hookonce.steps where seq in (select seq from gone)
),
attempts as (
  delete from hookonce.attempts where seq in (select seq from gone)
),
tasks as (
  delete from hookonce.tasks where seq in (select seq from gone)
),
until as (
  insert into hookonce.meta (name, value)
  select 'keys_pruned_until', $2
  where $2::timestamptz is not null
  on conflict (name) do update set value = greatest(hookonce.meta.value, excluded.value)
)
select count(*)
from gone
