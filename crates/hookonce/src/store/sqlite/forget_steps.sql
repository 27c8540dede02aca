-- Forgets the steps of a task's run that were only begun: what became of them is known.
delete from hookonce_steps
where seq = :seq
  and route = :route
  and run = :run
  and state = 'begun'
