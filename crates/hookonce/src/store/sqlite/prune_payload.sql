-- Deletes the payload of an event.
update hookonce_events
set payload = null
where seq = :seq
