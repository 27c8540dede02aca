-- Handles one event of a route in two steps that take long: the first is remembered, so that an attempt
-- that breaks off in the second doesn't do it again.

select c.id, c.token, c.payload, c.steps ? 'book' as is_booked
from (values (1)) as one
left join hookonce.claim(:'worker', array[:'route'], interval '60 seconds', 1) c on true
\gset

\if :{?id}
\if :is_booked
\else
begin;
insert into ledger (event_id, entry, note)
values (:'id', 'booked', :'payload');
select from hookonce.record_step(:'id', :'route', :'token', 'book', '{"by": "psql"}');
commit;
\endif

-- Before whatever takes long, and again every 20 seconds while it does: not in the transaction of an
-- effect. It fails where the claim is lost, and nothing more is done.
select from hookonce.extend(:'id', :'route', :'token', interval '60 seconds');

begin;
insert into ledger (event_id, entry, note)
values (:'id', 'confirmed', '');
select from hookonce.finish(:'id', :'route', :'token');
commit;
\echo :route :id
\endif
