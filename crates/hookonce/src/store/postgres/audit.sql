-- Writes down who does what.
insert into hookonce.audit (at, who, action, details)
values (hookonce.clock(), $1, $2, $3)
