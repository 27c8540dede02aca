-- Says whether a copy into the store is not finished.
select exists (select from hookonce.copy)
