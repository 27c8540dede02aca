-- Keeps a source of the configuration.
insert into hookonce_sources (name, scope)
values (:name, :scope)
on conflict (name) do update set scope = excluded.scope
