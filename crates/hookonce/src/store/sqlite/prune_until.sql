-- Remembers up to which sender's time keys were removed; it never goes back.
insert into hookonce_meta (name, value)
values ('keys_pruned_until', :until)
on conflict (name) do update set value = max(value, excluded.value)
