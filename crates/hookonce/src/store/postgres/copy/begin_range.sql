-- Begins a range: nobody holds it up for long, and what it commits is durable.
begin;
set local lock_timeout = '500ms';
select set_config('synchronous_commit', 'on', true)
where current_setting('synchronous_commit') in ('off', 'local')
