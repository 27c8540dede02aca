-- Gives the steps that are remembered of these tasks' present runs.
select t.seq, t.route, s.name, s.state, s.result
from unnest($1::bigint[], $2::text[]) as p (seq, route)
join hookonce.tasks t on t.seq = p.seq and t.route = p.route
join hookonce.steps s on s.seq = t.seq and s.route = t.route and s.run = t.run
