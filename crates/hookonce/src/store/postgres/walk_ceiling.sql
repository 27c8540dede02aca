-- Gives the number above which a page does not look.
select seq
from hookonce.events
where seq > $1
order by seq
limit 1 offset $2
