-- Adds to the counts of this minute.
insert into hookonce.minutes (minute, source, what, n)
select date_trunc('minute', hookonce.clock()), source, what, n
from unnest($1::text[], $2::text[], $3::bigint[]) as new (source, what, n)
