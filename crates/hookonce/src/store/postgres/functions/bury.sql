-- claimed → dead, while the token holds: it can never succeed.
create function hookonce.bury(id uuid, route text, token uuid, error text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform hookonce.end_attempt(
    hookonce.held(bury.id, bury.route, bury.token), 'dead', 'dead', hookonce.error_text(bury.error),
    null
  );
end
$$;

comment on function hookonce.bury(uuid, text, uuid, text) is
  'Gives a claimed task up that can never succeed: dead, until a person replays it. Its lane goes on, '
  'or waits where the route says `on_dead = "hold"`. HK001 where the claim is lost.';
