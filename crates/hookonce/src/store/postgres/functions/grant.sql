-- Lets the role `hookonce_worker` handle events with SQL alone: give it to each worker's own role.
do $$
begin
  if to_regrole('hookonce_worker') is null then
    create role hookonce_worker nologin;
  end if;
exception
  -- Roles are of the whole server: another database's migration may make it at this moment.
  when duplicate_object or unique_violation then
    null;
end
$$;
grant usage on schema hookonce to hookonce_worker;
grant execute on function
  hookonce.receive(text, text, text, text, text, text, integer, timestamptz),
  hookonce.claim(text, text[], interval, integer),
  hookonce.extend(uuid, text, uuid, interval),
  hookonce.release(uuid, text, uuid, interval),
  hookonce.record_step(uuid, text, uuid, text, jsonb),
  hookonce.finish(uuid, text, uuid),
  hookonce.retry(uuid, text, uuid, text, interval),
  hookonce.bury(uuid, text, uuid, text)
to hookonce_worker;
