-- Adds old minutes to their day.
insert into hookonce_minutes (minute, source, what, n)
select minute - minute % 1440, source, what, sum(n)
from hookonce_minutes
where minute < :before
  and minute % 1440 <> 0
group by 1, 2, 3
on conflict (minute, source, what) do update set n = n + excluded.n
