-- Notes further arrivals of known events, and counts them; an element that differs is kept up to three
-- times.
create or replace function hookonce.insert_arrivals(
  ids uuid[], counts bigint[], mismatches boolean[], elements text[],
  count_sources text[], count_words text[], count_numbers bigint[]
) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  insert into hookonce.arrivals (seq, at, n, mismatch, element)
  select g.seq, hookonce.clock(), g.n, g.mismatch,
    case
      when g.element is not null and (
        select count(*)
        from hookonce.arrivals a
        where a.seq = g.seq
          and a.element is not null
      ) < 3 then g.element
    end
  from (
    select (select e.seq from hookonce.events e where e.id = a.id) as seq, a.n, a.mismatch, a.element
    from unnest(ids, counts, mismatches, elements) as a (id, n, mismatch, element)
  ) g;

  insert into hookonce.minutes (minute, source, what, n)
  select date_trunc('minute', hookonce.clock()), g.source, g.what, g.n
  from unnest(count_sources, count_words, count_numbers) as g (source, what, n);
end
$$;

comment on function hookonce.insert_arrivals is
  'Notes further arrivals of known events; used by the server.';
