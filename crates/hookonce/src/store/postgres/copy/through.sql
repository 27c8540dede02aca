-- Notes up to which event all is copied.
update hookonce.copy
set seq = $1
