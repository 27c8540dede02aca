-- Adds old counts to their day, and those of the last days to their minute; what is folded already stays
-- as it is.
with old as (
  select ctid as row, minute, source, what, into_minute,
    count(*) over (partition by into_minute, source, what) as rows
  from (
    select ctid, minute, source, what,
      case
        when minute < hookonce.clock() - interval '14 days' then date_trunc('day', minute, 'UTC')
        else minute
      end as into_minute
    from hookonce.minutes
    where minute < hookonce.clock() - interval '2 minutes'
      and (
        minute < hookonce.clock() - interval '14 days'
        or minute >= hookonce.clock() - interval '1 hour'
      )
  ) m
),
gone as (
  delete from hookonce.minutes m
  using old
  where m.ctid = old.row
    and (old.rows > 1 or old.minute <> old.into_minute)
  returning old.into_minute, m.source, m.what, m.n
)
insert into hookonce.minutes (minute, source, what, n)
select into_minute, source, what, sum(n)
from gone
group by 1, 2, 3
