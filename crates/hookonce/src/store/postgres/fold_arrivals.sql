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
  from hookonce.arrivals a
  where a.seq in (select seq from next)
    and a.element is null
    and a.at < hookonce.clock() - $2::double precision * interval '1 second'
  window same as (partition by a.seq, a.mismatch)
),
gone as (
  delete from hookonce.arrivals a
  using old
  where a.arrival = old.arrival
    and old.arrival <> old.last
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
