-- Stores a task of an event that has none of that route: due now, unless its lane has a head or it is
-- dead on arrival.
insert into hookonce_tasks (
  seq, route, event_id, source, lane_id, priority, max_attempts, state, due_at, error, finished_at
)
values (
  :seq, :route, :event_id, :source, :lane_id, :priority, :max_attempts,
  iif(:error is null, 'pending', 'dead'),
  case
    when :error is not null then null
    when :lane_id is not null and exists (
      select 1
      from hookonce_tasks
      where lane_id = :lane_id
        and lane_id is not null and (state = 'claimed' or due_at is not null)
    ) then null
    else :now
  end,
  :error,
  iif(:error is null, null, :now)
)
on conflict (seq, route) do nothing
