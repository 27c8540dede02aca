-- Gives the version of the tables that are there; 0 where there are none.
select coalesce(max(version), 0)
from hookonce.migrations
