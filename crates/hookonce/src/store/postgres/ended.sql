-- Gives those of these claims that ended as it is said here, for an answer that was lost: the attempt
-- that was written down tells, or that there is none of a claim that nobody has taken over. A claim
-- that was itself taken over has none in any case: it ended if the task was not claimed since.
select g.seq, g.route
from unnest($1::bigint[], $2::text[], $3::integer[], $4::text[], $5::boolean[])
  as g (seq, route, epoch, outcome, reaped)
join hookonce.tasks t on t.seq = g.seq and t.route = g.route
left join hookonce.attempts a on a.seq = g.seq and a.route = g.route and a.epoch = g.epoch
where (t.epoch > g.epoch or t.state <> 'claimed')
  and case when g.reaped then t.epoch = g.epoch else a.outcome is not distinct from g.outcome end
