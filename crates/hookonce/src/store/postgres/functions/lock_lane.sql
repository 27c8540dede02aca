-- Takes a lane's lock until the transaction ends, if it is free; what is seen afterwards, by another
-- statement, was committed before.
create function hookonce.lock_lane(lane_id uuid) returns boolean
language plpgsql volatile strict
set search_path = pg_catalog, pg_temp
as $$
begin
  return pg_try_advisory_xact_lock(('x' || right(lane_id::text, 12))::bit(48)::bigint);
end
$$;

comment on function hookonce.lock_lane(uuid) is
  'Whether a lane''s lock was free: it is then held until the transaction ends. Inner.';
