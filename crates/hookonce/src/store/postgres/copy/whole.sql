-- Notes that all is copied, and lets new events be numbered behind those that are.
update hookonce.copy
set is_whole = true
where setval(
  'hookonce.seq',
  greatest((select max(seq) from hookonce.events), (select max(seq) from hookonce.tasks), 1)
) > 0
