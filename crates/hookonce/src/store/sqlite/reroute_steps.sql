-- Lets what is remembered of a task's steps go with it.
update hookonce_steps
set route = :to
where seq = :seq
  and route = :route
  and state = 'done'
