-- claimed → completed, pending or dead, while the token holds.
update hookonce_tasks
set state = :state,
  due_at = case
    when :state = 'pending' then :due_at
    when :state = 'dead' and :holds and lane_id is not null then :now
  end,
  error = :error,
  finished_at = iif(:state = 'pending', null, :now),
  token = null,
  lease_until = null,
  claimed_at = null,
  worker = null
where seq = :seq
  and route = :route
  and state = 'claimed' and token = :token
