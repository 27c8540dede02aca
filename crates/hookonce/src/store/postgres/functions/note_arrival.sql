-- Notes a further arrival of a known event; an element that differs is kept up to three times.
create function hookonce.note_arrival(event hookonce.events, seq bigint, differs boolean) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  insert into hookonce.arrivals (seq, at, n, mismatch, element)
  select note_arrival.seq, hookonce.clock(), 1, note_arrival.differs,
    case
      when note_arrival.differs and (
        select count(*)
        from hookonce.arrivals a
        where a.seq = note_arrival.seq
          and a.element is not null
      ) < 3 then note_arrival.event.payload
    end;
  insert into hookonce.minutes (minute, source, what, n)
  values (
    date_trunc('minute', hookonce.clock()), note_arrival.event.source,
    case when note_arrival.differs then 'mismatch' else 'duplicate' end, 1
  );
end
$$;

comment on function hookonce.note_arrival(hookonce.events, bigint, boolean) is
  'Notes and counts that an event came again. Inner.';
