-- Forgets the steps of a task that were only begun.
delete from hookonce_steps
where seq = :seq
  and route = :route
  and state = 'begun'
