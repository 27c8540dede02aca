-- Gives all entries of the audit, as the store has them that was copied.
select
  (extract(epoch from at) * 1000)::bigint, who, action, details
from hookonce.audit
