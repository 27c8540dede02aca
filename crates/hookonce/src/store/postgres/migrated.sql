-- Writes down that the tables are of this version, and from which on programs work with them.
insert into hookonce.migrations (version, at, usable_from)
values ($1, clock_timestamp(), $2)
