-- Notes one more arrival of an event; a differing element is kept up to three times.
insert into hookonce_arrivals (seq, at, n, mismatch, element)
values (
  :seq, :now, 1, :element is not null,
  case
    when :element is null then null
    when (
      select count(*)
      from hookonce_arrivals
      where seq = :seq
        and element is not null
    ) < 3 then :element
  end
)
