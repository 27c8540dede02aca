-- Opens the store: what was copied is as it was.
delete from hookonce.copy
