-- Notes further arrivals of known events; an element that differs is kept up to three times.
insert into hookonce.arrivals (seq, at, n, mismatch, element)
select new.seq, hookonce.clock(), new.n, new.mismatch,
  case
    when (
      select count(*)
      from hookonce.arrivals a
      where a.seq = new.seq
        and a.element is not null
    ) < 3 then new.element
  end
from unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::text[])
  as new (seq, n, mismatch, element)
