-- Gives the version of the tables that are there, and the oldest whose programs still work with them;
-- nothing where there are none.
select version, usable_from
from hookonce.migrations
order by version desc
limit 1
