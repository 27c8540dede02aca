-- Deletes the minutes that were added to their day.
delete from hookonce_minutes
where minute < :before
  and minute % 1440 <> 0
