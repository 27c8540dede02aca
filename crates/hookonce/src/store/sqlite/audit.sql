-- Writes down who did what.
insert into hookonce_audit (at, who, action, details)
values (:now, :who, :action, :details)
