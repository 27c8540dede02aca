-- Gives who did what, in order.
select
  at, who, action, details
from hookonce_audit
order by entry
