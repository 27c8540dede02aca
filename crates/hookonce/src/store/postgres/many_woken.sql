-- Says whether more lanes are woken than one claim or two look at.
select count(*) = $1
from (select 1 from hookonce.wakes limit $1) w
