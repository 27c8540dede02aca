-- Gives the claims whose lease ended longest ago.
select seq, route, token
from hookonce_tasks
where state = 'claimed'
  and lease_until <= :now
order by lease_until
limit :limit
