-- Begins to drain: what another transaction has committed has to be seen once a lane is locked.
begin isolation level read committed
