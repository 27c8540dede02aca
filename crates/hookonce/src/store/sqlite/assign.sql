-- Gives a stored event a task, unless it has one of that route: due now, or after its lane's head.
insert into hookonce_tasks (
  seq, route, event_id, source, lane_id, priority, max_attempts, state, due_at
)
values (
  :seq, :route, :event_id, :source, :lane_id, :priority, :max_attempts, 'pending',
  case
    when :lane_id is not null and exists (
      select 1
      from hookonce_tasks
      where lane_id = :lane_id
        and lane_id is not null and (state = 'claimed' or due_at is not null)
    ) then null
    else :now
  end
)
on conflict (seq, route) do nothing
