-- Finds out whether scripts are run here at all, where nothing is stored yet to probe.
return 'done'
