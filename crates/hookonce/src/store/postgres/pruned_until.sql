-- Gives the sender's time up to which keys were removed.
select value
from hookonce.meta
where name = 'keys_pruned_until'
