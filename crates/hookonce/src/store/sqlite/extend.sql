-- Lets a claim end later, while its token holds and its lease has not ended.
update hookonce_tasks
set lease_until = :lease_until
where seq = :seq
  and route = :route
  and state = 'claimed' and token = :token
  and lease_until > :now
