-- Counts live states by their partial indexes, totals by the minutes.
select
  (select coalesce(sum(n), 0) from hookonce_minutes where what = 'new'),
  (select count(*) from hookonce_tasks where state = 'pending' and due_at is not null)
    + (select count(*) from hookonce_tasks where state = 'pending' and due_at is null),
  (select count(*) from hookonce_tasks where state = 'claimed'),
  (select coalesce(sum(n), 0) from hookonce_minutes where what = 'completed'),
  (select count(*) from hookonce_tasks where state = 'dead'),
  (select coalesce(sum(n), 0) from hookonce_minutes where what in ('duplicate', 'mismatch')),
  (select coalesce(sum(n), 0) from hookonce_minutes where what = 'unrouted')
