-- Adds to a minute's count of a source.
insert into hookonce_minutes (minute, source, what, n)
values (:minute, :source, :what, :n)
on conflict (minute, source, what) do update set n = n + excluded.n
