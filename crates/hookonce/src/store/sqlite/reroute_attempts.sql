-- Lets what is remembered of a task's attempts go with it.
update hookonce_attempts
set route = :to
where seq = :seq
  and route = :route
