-- Keeps the configuration's sources.
insert into hookonce.sources (name, scope)
select *
from unnest($1::text[], $2::text[])
on conflict (name) do update set scope = excluded.scope
