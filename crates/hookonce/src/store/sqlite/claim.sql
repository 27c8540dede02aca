-- pending → claimed: raises attempt and epoch; the token proves the claim from here on.
update hookonce_tasks
set state = 'claimed',
  token = :token,
  worker = :worker,
  attempt = attempt + 1,
  epoch = epoch + 1,
  due_at = null,
  lease_until = :lease_until,
  claimed_at = :now
where seq = :seq
  and route = :route
  and state = 'pending' and due_at is not null
