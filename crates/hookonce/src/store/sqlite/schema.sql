-- What the migrations make; written by the tests (UPDATE=1).

CREATE TABLE hookonce_arrivals (
  arrival integer primary key,
  seq integer not null,
  at integer not null,
  n integer not null check (n > 0),
  mismatch integer not null,
  element text
);

CREATE INDEX hookonce_arrivals_element on hookonce_arrivals (seq) where element is not null;

CREATE INDEX hookonce_arrivals_seq on hookonce_arrivals (seq, at);

CREATE TABLE hookonce_attempts (
  seq integer not null,
  route text not null,
  epoch integer not null,
  run integer not null,
  attempt integer not null,
  worker text not null,
  started_at integer not null,
  ended_at integer not null,
  outcome text not null
    check (
      outcome = 'completed' or outcome = 'retry' or outcome = 'dead' or outcome = 'released'
      or outcome = 'lapsed'
    ),
  error text,
  primary key (seq, route, epoch)
) without rowid;

CREATE TABLE hookonce_audit (
  entry integer primary key,
  at integer not null,
  who text not null,
  action text not null,
  details text
);

CREATE TABLE hookonce_events (
  seq integer primary key,
  id blob not null check (length(id) = 16),
  source text not null,
  key text not null,
  kind text not null check (length(kind) between 1 and 64),
  lane text,
  priority integer not null check (priority between 0 and 2),
  content_type text not null,
  element text not null,
  digest blob not null,
  weak_key integer not null,
  sent_at integer,
  received_at integer not null,
  payload text
);

CREATE UNIQUE INDEX hookonce_events_id on hookonce_events (id);

CREATE INDEX hookonce_events_payload on hookonce_events (seq) where payload is not null;

CREATE TABLE hookonce_meta (
  name text primary key,
  value integer not null
) without rowid;

CREATE TABLE hookonce_migrations (version integer primary key, at integer);

CREATE TABLE hookonce_minutes (
  minute integer not null,
  source text not null,
  what text not null
    check (
      what = 'new' or what = 'unrouted' or what = 'duplicate' or what = 'mismatch'
      or what = 'completed' or what = 'dead'
    ),
  n integer not null,
  primary key (minute, source, what)
) without rowid;

CREATE TABLE hookonce_routes (
  name text primary key,
  sources text,
  kinds text,
  max_attempts integer not null,
  retry_min integer not null,
  retry_max integer not null,
  on_dead text not null check (on_dead in ('pass', 'hold')),
  "order" text not null check ("order" in ('lane', 'none')),
  worker text not null check (worker in ('server', 'external'))
) without rowid;

CREATE TABLE hookonce_sources (
  name text primary key,
  scope text not null
) without rowid;

CREATE TABLE hookonce_steps (
  seq integer not null,
  route text not null,
  run integer not null,
  name text not null,
  state text not null check (state in ('begun', 'done')),
  result text,
  primary key (seq, route, run, name)
) without rowid;

CREATE TABLE hookonce_tasks (
  seq integer not null,
  route text not null,
  event_id blob not null,
  source text not null,
  lane_id blob,
  priority integer not null,
  state text not null
    check (state = 'pending' or state = 'claimed' or state = 'completed' or state = 'dead'),
  attempt integer not null default 0,
  max_attempts integer not null,
  run integer not null default 1,
  epoch integer not null default 0,
  token blob,
  due_at integer,
  lease_until integer,
  worker text,
  error text,
  claimed_at integer,
  finished_at integer,
  -- The route it was first made for, where it was moved to another.
  first_route text,
  -- When a person last had it run anew: its age counts from there.
  replayed_at integer,
  primary key (seq, route),
  -- A claim is proven by its token and ends: there is no claim without both, and neither without it.
  check ((state = 'claimed') = (token is not null)),
  check ((state = 'claimed') = (lease_until is not null)),
  check ((state = 'claimed') = (claimed_at is not null)),
  check ((state in ('completed', 'dead')) = (finished_at is not null)),
  check (due_at is null or state = 'pending' or (state = 'dead' and lane_id is not null)),
  -- Only a lane can make a pending task wait without a time.
  check (state <> 'pending' or due_at is not null or lane_id is not null)
) without rowid;

CREATE INDEX hookonce_tasks_dead on hookonce_tasks (seq) where state = 'dead';

CREATE INDEX hookonce_tasks_due on hookonce_tasks (route, priority, source, due_at, seq)
  where state = 'pending' and due_at is not null;

CREATE UNIQUE INDEX hookonce_tasks_head on hookonce_tasks (lane_id)
  where lane_id is not null and (state = 'claimed' or due_at is not null);

CREATE INDEX hookonce_tasks_lease on hookonce_tasks (lease_until) where state = 'claimed';

CREATE INDEX hookonce_tasks_waiting on hookonce_tasks (lane_id, seq)
  where state = 'pending' and due_at is null;
