-- Beside the events and tasks, what belongs to them.
insert into hookonce.steps (seq, route, run, name, state)
select seq, route, run, 'first', 'done'
from hookonce.tasks;

insert into hookonce.arrivals (seq, at, n, mismatch)
select seq, now(), 1, false
from hookonce.tasks;

insert into hookonce.minutes (minute, source, what, n)
select now() - seq * interval '1 minute', 'whatsapp', 'new', 1
from hookonce.tasks;
