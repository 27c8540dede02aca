-- Forgets earlier releases of the attempt that is given back again: a task may be told to wait for days.
delete from hookonce_attempts
where seq = :seq
  and route = :route
  and run = :run
  and attempt = :attempt
  and outcome = 'released'
