-- Every table of the design, so that later versions only add to them.
--
-- Times are the server's, but for sent_at and received_at, which the sender and the receiver say.
-- The other tables name an event by its seq, not by its id: a row then lands beside the row before
-- it, where a random id would touch a page of its own.

create function hookonce.clock() returns timestamptz
language sql volatile parallel restricted
as 'select clock_timestamp()';

comment on function hookonce.clock() is
  'What time it is, by which leases and due times are measured: the server''s clock, not a node''s.';

-- Drawn in order of the requests, before rows are written in order of id.
create sequence hookonce.seq;

create table hookonce.events (
  seq bigint primary key,
  id uuid not null,
  source text not null,
  key text not null,
  kind text not null check (length(kind) between 1 and 64),
  lane text,
  priority smallint not null check (priority between 0 and 2),
  content_type text not null,
  element text not null,
  digest bytea not null,
  weak_key boolean not null,
  sent_at timestamptz,
  received_at timestamptz not null,
  payload text
);

comment on table hookonce.events is
  'What was seen: one row an event. Insert-only, but for the pruning of payloads and old events.';

-- The one constraint that makes an event unique: whoever inserts second learns it here.
create unique index events_id on hookonce.events (id);

-- What prune walks for payloads.
create index events_payload on hookonce.events (seq) where payload is not null;

create table hookonce.arrivals (
  arrival bigint generated always as identity primary key,
  seq bigint not null,
  at timestamptz not null,
  n bigint not null check (n > 0),
  mismatch boolean not null,
  element text
);

comment on table hookonce.arrivals is
  'Arrivals of an event after its first: one row for each duplicate in a batch, folded later.';

create index arrivals_seq on hookonce.arrivals (seq, at);
create index arrivals_element on hookonce.arrivals (seq) where element is not null;

create table hookonce.tasks (
  seq bigint not null,
  route text not null,
  event_id uuid not null,
  source text not null,
  lane_id uuid,
  priority smallint not null,
  state text not null,
  attempt integer not null default 0,
  max_attempts integer not null,
  run integer not null default 1,
  epoch integer not null default 0,
  token uuid,
  due_at timestamptz,
  lease_until timestamptz,
  worker text,
  error text,
  claimed_at timestamptz,
  finished_at timestamptz,
  -- The route it was first made for, where it was moved to another.
  first_route text,
  -- When a person last had it run anew: its age counts from there.
  replayed_at timestamptz,
  primary key (seq, route),
  -- What a task of each state has. One check, as each costs every batch that writes a task anew.
  constraint tasks_state check (
    case state
      -- Only a lane can make it wait without a time.
      when 'pending' then (due_at is not null or lane_id is not null)
        and token is null and lease_until is null and claimed_at is null and finished_at is null
      -- A claim is proven by its token and ends.
      when 'claimed' then due_at is null
        and token is not null and lease_until is not null and claimed_at is not null
        and finished_at is null
      when 'completed' then due_at is null
        and token is null and lease_until is null and claimed_at is null and finished_at is not null
      -- Only in a lane does it hold one.
      when 'dead' then (due_at is null or lane_id is not null)
        and token is null and lease_until is null and claimed_at is null and finished_at is not null
      else false
    end
  )
);

comment on table hookonce.tasks is
  'What is to be done: one route''s handling of one event. due_at is set on a pending task that may '
  'be claimed, and on a dead one that holds its lane; the head of a lane is claimed or has a due_at.';

-- Rows change state a few times and then rest: vacuum them soon, so that the live ones stay together.
alter table hookonce.tasks set (
  fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1
);

-- Two heads of one lane are impossible.
create unique index tasks_head on hookonce.tasks (lane_id)
  where lane_id is not null and (state = 'claimed' or due_at is not null);

-- Who comes after the head.
create index tasks_waiting on hookonce.tasks (lane_id, seq)
  where state = 'pending' and due_at is null;

-- What may be claimed, in the order in which it is.
create index tasks_due on hookonce.tasks (route, priority, source, due_at, seq)
  where state = 'pending' and due_at is not null;

create index tasks_lease on hookonce.tasks (lease_until) where state = 'claimed';

-- What a claim is read back by whose answer was lost.
create index tasks_token on hookonce.tasks (token) where token is not null;

create index tasks_dead on hookonce.tasks (seq, route) where state = 'dead';

create table hookonce.attempts (
  seq bigint not null,
  route text not null,
  epoch integer not null,
  run integer not null,
  attempt integer not null,
  worker text not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  outcome text not null
    check (outcome in ('completed', 'retry', 'dead', 'released', 'lapsed')),
  error text,
  primary key (seq, route, epoch)
);

comment on table hookonce.attempts is 'One row for each attempt that ran something.';

create table hookonce.steps (
  seq bigint not null,
  route text not null,
  run integer not null,
  name text not null,
  state text not null check (state in ('begun', 'done')),
  result text,
  primary key (seq, route, run, name)
);

comment on table hookonce.steps is 'The steps of a task that are done, and those only begun.';

-- Without an index: it is appended to by everybody, and emptied by whoever claims.
create table hookonce.wakes (
  lane_id uuid not null
);

comment on table hookonce.wakes is
  'Lanes that may have no head: whoever claims gives each its next one.';

alter table hookonce.wakes set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create table hookonce.sources (
  name text primary key,
  scope text not null
);

comment on table hookonce.sources is 'The configuration''s sources, as of the last start.';

create table hookonce.routes (
  name text primary key,
  sources text[],
  kinds text[],
  max_attempts integer not null,
  retry_min interval not null,
  retry_max interval not null,
  on_dead text not null check (on_dead in ('pass', 'hold')),
  "order" text not null check ("order" in ('lane', 'none')),
  worker text not null check (worker in ('server', 'external'))
);

comment on table hookonce.routes is 'The configuration''s routes, as of the last start.';

create table hookonce.audit (
  entry bigint generated always as identity primary key,
  at timestamptz not null,
  who text not null,
  action text not null,
  details text
);

comment on table hookonce.audit is 'Who did what by API or command line.';

-- Appended to, a row a batch and count, so that batches don't wait for each other; folded later.
create table hookonce.minutes (
  minute timestamptz not null,
  source text not null,
  what text not null
    check (what in ('new', 'unrouted', 'duplicate', 'mismatch', 'completed', 'dead')),
  n bigint not null
);

comment on table hookonce.minutes is
  'Counts by minute and source; a total is the sum of all rows. Old minutes fold into one row a day.';

create index minutes_minute on hookonce.minutes (minute);

create table hookonce.meta (
  name text primary key,
  value timestamptz not null
);

comment on table hookonce.meta is 'Single values; `keys_pruned_until` is the one there is.';

-- One row while another store is copied into this one, so that it can go on and nobody opens it.
create table hookonce.copy (
  made_at timestamptz not null,
  began_at timestamptz not null,
  seq bigint not null,
  is_whole boolean not null
);

comment on table hookonce.copy is
  'The copy of another store into this one that is not finished: until it is, nobody opens this one.';

create unique index copy_one on hookonce.copy ((true));
