-- pending → dead, by a person; a dead task that holds its lane gives it up.
update hookonce_tasks
set error = iif(state = 'dead', error, 'buried by a person'),
  finished_at = iif(state = 'dead', finished_at, :now),
  state = 'dead',
  due_at = null
where seq = :seq
  and route = :route
  and (state = 'pending' or (state = 'dead' and due_at is not null))
returning lane_id
