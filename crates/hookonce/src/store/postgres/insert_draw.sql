-- Draws numbers for new events, in the order of their requests.
select nextval('hookonce.seq')
from generate_series(1, $1::bigint)
