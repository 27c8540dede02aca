-- Deletes what is kept of an event in the table of its name.
delete from hookonce_events
where seq = :seq
