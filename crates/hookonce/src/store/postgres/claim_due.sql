-- Gives the oldest due tasks of each route, by priority and source, and holds them for this
-- transaction.
select n, priority, source, due_at, seq
from hookonce.due_tasks($1, $2)
