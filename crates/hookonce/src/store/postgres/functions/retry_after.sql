-- Decides when a failed attempt is made again, as the server does: after a delay that doubles, with
-- jitter over its upper half; never (null) after the last one.
create function hookonce.retry_after(
  attempt integer, max_attempts integer, retry_min interval, retry_max interval,
  jitter double precision
) returns interval
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case
    when attempt < max_attempts then
      least(
        extract(epoch from retry_min)::double precision * 2 ^ greatest(least(attempt - 1, 31), 0),
        extract(epoch from retry_max)::double precision
      ) * (0.5 + 0.5 * jitter) * interval '1 second'
  end
$$;

comment on function hookonce.retry_after(integer, integer, interval, interval, double precision) is
  'After how long a failed attempt is made again; null where it was the last one. The policy of the '
  'routes, as the server has it. Inner.';
