-- Notes that a copy has begun, of the store that was made then.
insert into hookonce.copy (made_at, began_at, seq, is_whole)
values (
  timestamptz 'epoch' + $1::bigint * interval '1 ms',
  date_trunc('milliseconds', hookonce.clock()),
  0,
  false
)
