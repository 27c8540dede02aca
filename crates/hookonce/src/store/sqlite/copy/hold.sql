-- Takes the whole file, so that nobody has it open beside us, and keeps it until we close it.
begin exclusive;
commit
