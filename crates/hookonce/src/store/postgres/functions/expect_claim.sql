-- Refuses a claim that can't be what was meant.
create function hookonce.expect_claim(worker text, routes text[], max integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  wrong text;
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception using
      errcode = 'HK003',
      message = format(
        '`claim` was called at %s: it needs to see what others have committed meanwhile',
        current_setting('transaction_isolation')
      ),
      hint = 'Call it in a transaction of its own, begun with `begin isolation level read committed`.';
  end if;
  perform hookonce.expect(
    char_length(expect_claim.worker) between 1 and 128
      and expect_claim.worker !~ '[\u0001-\u001f\u007f-\u009f]',
    'a worker''s name has 1 to 128 printable characters', 'Give one such as `host:1`.'
  );
  perform hookonce.expect(
    expect_claim.max between 1 and 1000, 'a claim is for 1 to 1000 tasks',
    'Ask for as many as the worker can begin at once, and again for more.'
  );
  perform hookonce.expect(
    cardinality(expect_claim.routes) > 0 and array_position(expect_claim.routes, null) is null,
    'a claim names its routes', 'Give them such as `array[''bookkeeping'']`.'
  );
  select n.name
  into wrong
  from unnest(expect_claim.routes) as n (name)
  where not exists (
    select 1
    from hookonce.routes r
    where r.name = n.name
      and r.worker = 'external'
  )
  limit 1;
  if wrong is not null then
    raise exception using
      errcode = 'HK002',
      message = format('the route `%s` is not left to workers outside', wrong),
      hint = 'Name a route of the configuration that has `worker = "external"`; `hookonce serve` writes '
        'the routes to the database when it starts and when it reloads.';
  end if;
end
$$;

comment on function hookonce.expect_claim(text, text[], integer) is
  'Refuses a claim at a stricter isolation level (HK003), of a route that is not left to workers '
  'outside (HK002), or with an argument that is not what it has to be (HK004). Inner.';
