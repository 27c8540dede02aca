-- Makes the task that waits next in a lane its head.
update hookonce_tasks
set due_at = :now
where (seq, route) = (
  select seq, route
  from hookonce_tasks
  where lane_id = :lane_id
    and state = 'pending' and due_at is null
  order by seq
  limit 1
)
and not exists (
  select 1
  from hookonce_tasks
  where lane_id = :lane_id
    and lane_id is not null and (state = 'claimed' or due_at is not null)
)
