-- Gives the stored event of an id, to tell a mismatch from a duplicate.
select seq, digest
from hookonce_events
where id = :id
