-- Begins to store a request alone whose key somebody's open transaction is storing: waits for it a while.
begin isolation level read committed;
set local lock_timeout = '500ms'
