-- Tells all old arrivals of an event in one row, duplicates and mismatches apart, for the events of the
-- next arrivals after a number; a row that keeps its element stays as it is. Gives the number of the
-- last arrival looked at.
with next as (
  select arrival, seq
  from hookonce.arrivals
  where arrival > $1
    and at < hookonce.clock() - $2::double precision * interval '1 second'
  order by arrival
  limit $3
),
old as (
  select a.arrival, a.seq, a.mismatch, a.n, a.at,
    max(a.arrival) over same as last, sum(a.n) over same as sum, max(a.at) over same as last_at,
    count(*) over same as rows
  from (select distinct seq from next) n
  cross join lateral (
    select *
    from hookonce.arrivals
    where seq = n.seq
      and element is null
      and at < hookonce.clock() - $2::double precision * interval '1 second'
    -- Found for each event by itself, and not by reading all there are.
    offset 0
  ) a
  window same as (partition by a.seq, a.mismatch)
),
gone as (
  delete from hookonce.arrivals
  where arrival = any (array(select arrival from old where arrival <> last))
),
told as (
  update hookonce.arrivals a
  set n = old.sum, at = old.last_at
  from old
  where a.arrival = old.arrival
    and old.arrival = old.last
    and old.rows > 1
)
select max(arrival)
from next
