-- Notes further arrivals of known events, and counts them.
select hookonce.insert_arrivals($1, $2, $3, $4, $5, $6, $7)
