-- Every table of the design, so that later versions only add to them.
--
-- A check names its words by `or`: for `in` with more than two, SQLite opens a temporary table at
-- each write.
--
-- Times are milliseconds since 1970 on the store's clock, but for sent_at and received_at, which
-- the sender and the receiver say. Ids, tokens and digests are their bytes.
--
-- The other tables name an event by its seq, not by its id: a row then lands beside the row before
-- it, where a random id would touch a page of its own.

-- What was seen. Insert-only, but for prune. Without autoincrement a seq may be given again once the
-- newest event of all was pruned; a stale claim then meets another event's task, but not its token.
create table hookonce_events (
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

-- The one constraint that makes an event unique: whoever inserts second learns it here.
create unique index hookonce_events_id on hookonce_events (id);

-- What prune walks for payloads.
create index hookonce_events_payload on hookonce_events (seq) where payload is not null;

-- One row for each duplicate in a batch; folded by the janitor.
create table hookonce_arrivals (
  arrival integer primary key,
  seq integer not null,
  at integer not null,
  n integer not null check (n > 0),
  mismatch integer not null,
  element text
);

create index hookonce_arrivals_seq on hookonce_arrivals (seq, at);

-- The few elements that differed and are kept, so that a copy costs the same however many came.
create index hookonce_arrivals_element on hookonce_arrivals (seq) where element is not null;

-- What is to be done. due_at is set on a pending task that may be claimed, and on a dead one that
-- holds its lane; so the head of a lane is: claimed, or due_at is not null.
create table hookonce_tasks (
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

-- Two heads of one lane are impossible.
create unique index hookonce_tasks_head on hookonce_tasks (lane_id)
  where lane_id is not null and (state = 'claimed' or due_at is not null);

-- Who comes after the head.
create index hookonce_tasks_waiting on hookonce_tasks (lane_id, seq)
  where state = 'pending' and due_at is null;

-- What may be claimed, in the order in which it is.
create index hookonce_tasks_due on hookonce_tasks (route, priority, source, due_at, seq)
  where state = 'pending' and due_at is not null;

create index hookonce_tasks_lease on hookonce_tasks (lease_until) where state = 'claimed';

create index hookonce_tasks_dead on hookonce_tasks (seq) where state = 'dead';

-- One row for each attempt that ran something.
create table hookonce_attempts (
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

create table hookonce_steps (
  seq integer not null,
  route text not null,
  run integer not null,
  name text not null,
  state text not null check (state in ('begun', 'done')),
  result text,
  primary key (seq, route, run, name)
) without rowid;

-- The configuration's sources and routes, as of the last start.
create table hookonce_sources (
  name text primary key,
  scope text not null
) without rowid;

create table hookonce_routes (
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

-- Who did what by API or command line.
create table hookonce_audit (
  entry integer primary key,
  at integer not null,
  who text not null,
  action text not null,
  details text
);

-- Counts by minute and source; a total is the sum of all rows. Old minutes fold into one row a day.
create table hookonce_minutes (
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

-- Single values; `keys_pruned_until` is the one there is.
create table hookonce_meta (
  name text primary key,
  value integer not null
) without rowid;
