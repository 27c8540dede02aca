-- Begins to claim: what is claimed is durable before it is run.
begin isolation level read committed;
select set_config('synchronous_commit', 'on', true)
where current_setting('synchronous_commit') in ('off', 'local')
