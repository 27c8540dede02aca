-- Gives the number below which a page does not look.
select seq
from hookonce_events
where seq < :after
order by seq desc
limit 1 offset :looked
