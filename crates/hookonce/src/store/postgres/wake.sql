-- Notes lanes that may have no head.
insert into hookonce.wakes (lane_id)
select distinct lane_id
from unnest($1::uuid[]) as woken (lane_id)
