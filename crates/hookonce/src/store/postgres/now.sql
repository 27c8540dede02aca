-- Tells the time.
select hookonce.clock()
