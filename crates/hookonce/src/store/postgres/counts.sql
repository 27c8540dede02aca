-- Counts live states by their partial indexes, totals by the minutes.
select
  coalesce(sum(n) filter (where what = 'new'), 0)::bigint,
  (select count(*) from hookonce.tasks where state = 'pending' and due_at is not null)
    + (select count(*) from hookonce.tasks where state = 'pending' and due_at is null),
  (select count(*) from hookonce.tasks where state = 'claimed'),
  coalesce(sum(n) filter (where what = 'completed'), 0)::bigint,
  (select count(*) from hookonce.tasks where state = 'dead'),
  coalesce(sum(n) filter (where what in ('duplicate', 'mismatch')), 0)::bigint,
  coalesce(sum(n) filter (where what = 'unrouted'), 0)::bigint
from hookonce.minutes
