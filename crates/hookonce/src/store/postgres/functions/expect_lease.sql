-- Refuses a lease that ends at once or hardly ever.
create function hookonce.expect_lease(lease interval) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select hookonce.expect(
    lease > interval '0' and lease <= interval '30 days',
    'a lease is longer than nothing and at most 30 days', 'Give one such as `interval ''60 seconds''`.'
  )
$$;

comment on function hookonce.expect_lease(interval) is
  'Refuses (HK004) a lease that is not positive, or longer than 30 days. Inner.';
