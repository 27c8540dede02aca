-- Adds old counts to their day, and those of the last days to their minute.
with gone as (
  delete from hookonce.minutes
  where minute < hookonce.clock() - interval '2 minutes'
    and (
      minute < hookonce.clock() - interval '14 days'
      or minute >= hookonce.clock() - interval '1 hour'
    )
  returning minute, source, what, n
)
insert into hookonce.minutes (minute, source, what, n)
select
  case
    when minute < hookonce.clock() - interval '14 days' then date_trunc('day', minute, 'UTC')
    else minute
  end,
  source, what, sum(n)
from gone
group by 1, 2, 3
