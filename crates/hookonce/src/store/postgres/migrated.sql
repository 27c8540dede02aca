-- Writes down that the tables are of this version.
insert into hookonce.migrations (version, at)
values ($1, clock_timestamp())
