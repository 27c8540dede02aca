-- Gives the number below which a page does not look.
select seq
from hookonce.events
where seq < $1
order by seq desc
limit 1 offset $2
