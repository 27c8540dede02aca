-- claimed → pending, due after a while, or dead after the last attempt; while the token holds.
create function hookonce.retry(
  id uuid, route text, token uuid, error text, after interval default null
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform hookonce.expect(
    coalesce(retry.after between interval '0' and interval '30 days', true),
    'a wait is from nothing to 30 days', 'Leave `after` out, and the route''s policy decides.'
  );
  perform hookonce.fail_attempt(
    hookonce.held(retry.id, retry.route, retry.token), null, hookonce.error_text(retry.error),
    retry.after
  );
end
$$;

comment on function hookonce.retry(uuid, text, uuid, text, interval) is
  'Ends a claimed task''s attempt that failed: due again after the wait that is given, else by the '
  'route''s policy; dead if it was the last attempt. HK001 where the claim is lost.';
