-- Handles one event of a route: its effect and its finish are one transaction.

-- Committed by itself, so that the attempt is counted even if this ends here. The join gives a row
-- where nothing is due, too; its nulls unset the variables.
select c.id, c.token, c.payload
from (values (1)) as one
left join hookonce.claim(:'worker', array[:'route'], interval '60 seconds', 1) c on true
\gset

\if :{?id}
begin;
insert into ledger (event_id, entry, note)
values (:'id', 'booked', :'payload');
-- If another has taken the task over meanwhile, this fails, and the booking is undone.
select from hookonce.finish(:'id', :'route', :'token');
commit;
\echo :route :id
\endif
