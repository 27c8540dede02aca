-- claimed → pending, due after a while, while the token holds: this attempt doesn't count.
update hookonce_tasks
set state = 'pending',
  attempt = attempt - 1,
  due_at = :due_at,
  error = coalesce(:error, error),
  token = null,
  lease_until = null,
  claimed_at = null,
  worker = null
where seq = :seq
  and route = :route
  and state = 'claimed' and token = :token
