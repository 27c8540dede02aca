-- Gives the scopes that a key may be known under.
select distinct scope
from hookonce.sources
