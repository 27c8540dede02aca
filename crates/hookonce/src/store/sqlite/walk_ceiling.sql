-- Gives the number above which a page does not look.
select seq
from hookonce_events
where seq > :after
order by seq
limit 1 offset :looked
