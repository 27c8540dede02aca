-- Says whether the role of workers is there and may call what is theirs.
select count(r.oid) > 0 and coalesce(
  bool_and(has_schema_privilege(r.oid, n.oid, 'usage') and has_function_privilege(r.oid, p.oid, 'execute')),
  false
)
from pg_catalog.pg_namespace n
join pg_catalog.pg_proc p on p.pronamespace = n.oid and p.prosecdef
left join pg_catalog.pg_roles r on r.rolname = 'hookonce_worker'
where n.nspname = 'hookonce'
