-- Forgets the sources and routes of whoever opened the store before.
with sources as (
  delete from hookonce.sources
)
delete from hookonce.routes
