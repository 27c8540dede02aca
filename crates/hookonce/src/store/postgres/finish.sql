-- claimed → completed, pending or dead, while the tokens hold: gives the tasks whose tokens held, and
-- whether it was done.
select seq, route, is_done
from hookonce.finish_tasks($1, $2, $3, $4, $5, $6, $7, $8)
