-- What each column is, for who looks at the tables with a client.
comment on sequence hookonce.seq is 'Numbers of events, drawn in the order of their requests.';

comment on table hookonce.migrations is 'Which versions of the tables were made, and when.';
comment on column hookonce.migrations.version is 'The version; the largest is that of the tables.';
comment on column hookonce.migrations.at is 'When they were brought to it.';
comment on column hookonce.migrations.usable_from is
  'The oldest version whose programs still work with it; null where only its own do.';

comment on column hookonce.events.seq is 'Number of arrival in this store.';
comment on column hookonce.events.id is
  'UUIDv8 of scope and key: the same on every node and in every store.';
comment on column hookonce.events.source is 'The name of the source it came in by.';
comment on column hookonce.events.key is
  'What makes it the same event when it is sent again; a SHA-256 where it is long or not printable.';
comment on column hookonce.events.kind is 'What sort of event it is, such as `message.text`.';
comment on column hookonce.events.lane is
  'The conversation it belongs to, whose events are handled one after another; null: none.';
comment on column hookonce.events.priority is
  '0 messages and calls, 1 everything else, 2 history; the smaller number goes first.';
comment on column hookonce.events.content_type is
  'The media type of the payload; `;base64` behind it where its bytes are no text.';
comment on column hookonce.events.element is
  'JSON pointer to the event within the payload; empty: all of it.';
comment on column hookonce.events.digest is
  'SHA-256 of the element''s bytes; tells a mismatch from a duplicate.';
comment on column hookonce.events.weak_key is 'The key is a hash, for want of an id.';
comment on column hookonce.events.sent_at is 'The sender''s own time, where it gives one.';
comment on column hookonce.events.received_at is 'When it was received.';
comment on column hookonce.events.payload is 'The text as received; null once it was pruned.';

comment on column hookonce.arrivals.arrival is 'Number of this row.';
comment on column hookonce.arrivals.seq is 'The event that came again.';
comment on column hookonce.arrivals.at is 'When; of folded rows, when it came last.';
comment on column hookonce.arrivals.n is 'How often.';
comment on column hookonce.arrivals.mismatch is 'Its element differed from the stored one.';
comment on column hookonce.arrivals.element is
  'The element that differed; kept of the first three that did.';

comment on column hookonce.tasks.seq is 'The event that is handled.';
comment on column hookonce.tasks.route is 'The route that handles it.';
comment on column hookonce.tasks.event_id is 'The event''s id.';
comment on column hookonce.tasks.source is 'The event''s source.';
comment on column hookonce.tasks.lane_id is
  'Hash of source, route and lane; null where the task waits for no other.';
comment on column hookonce.tasks.priority is 'The event''s priority.';
comment on column hookonce.tasks.state is 'pending, claimed, completed or dead.';
comment on column hookonce.tasks.attempt is 'Attempts so far in this run, the present one included.';
comment on column hookonce.tasks.max_attempts is 'After how many attempts it is dead.';
comment on column hookonce.tasks.run is 'Raised when a completed task is deliberately run again.';
comment on column hookonce.tasks.epoch is 'Number of claims it ever had; never goes back.';
comment on column hookonce.tasks.token is
  'Proves the claim: nothing is written about a claimed task without it.';
comment on column hookonce.tasks.due_at is
  'From when it may be claimed; null: it waits for its lane. Of a dead task: it holds its lane.';
comment on column hookonce.tasks.lease_until is 'When the claim ends unless it is extended.';
comment on column hookonce.tasks.worker is 'Who has claimed it.';
comment on column hookonce.tasks.error is 'Why its last attempt failed.';
comment on column hookonce.tasks.claimed_at is 'When it was claimed.';
comment on column hookonce.tasks.finished_at is 'When it was completed or died.';
comment on column hookonce.tasks.first_route is
  'The route it was first made for, where it was moved to another; its idempotency key keeps it.';
comment on column hookonce.tasks.replayed_at is
  'When a person last had it run anew: its age counts from there.';

comment on column hookonce.attempts.seq is 'The event that was handled.';
comment on column hookonce.attempts.route is 'The route that handled it.';
comment on column hookonce.attempts.epoch is 'Number of the claim; names the attempt.';
comment on column hookonce.attempts.run is 'The run it belongs to.';
comment on column hookonce.attempts.attempt is 'Its number, from 1, as the retry policy counts.';
comment on column hookonce.attempts.worker is 'Who made it.';
comment on column hookonce.attempts.started_at is 'When it was claimed.';
comment on column hookonce.attempts.ended_at is 'When it ended.';
comment on column hookonce.attempts.outcome is 'completed, retry, dead, released or lapsed.';
comment on column hookonce.attempts.error is 'Why it failed.';

comment on column hookonce.steps.seq is 'The event that is handled.';
comment on column hookonce.steps.route is 'The route that handles it.';
comment on column hookonce.steps.run is 'The run it belongs to.';
comment on column hookonce.steps.name is 'The step''s name.';
comment on column hookonce.steps.state is 'begun, so that its outcome may be unknown, or done.';
comment on column hookonce.steps.result is 'What it gave, if anything.';

comment on column hookonce.wakes.lane_id is 'The lane.';

comment on column hookonce.sources.name is 'Its name.';
comment on column hookonce.sources.scope is
  'What its events'' ids are computed from, beside the key.';

comment on column hookonce.routes.name is 'Its name; tasks are known by it.';
comment on column hookonce.routes.sources is 'The sources it takes; null: all.';
comment on column hookonce.routes.kinds is 'Globs of the kinds it takes; null: all.';
comment on column hookonce.routes.max_attempts is 'After how many attempts its tasks are dead.';
comment on column hookonce.routes.retry_min is 'The delay after the first attempt; it doubles.';
comment on column hookonce.routes.retry_max is 'The longest delay.';
comment on column hookonce.routes.on_dead is
  'pass: a dead task lets its lane go on; hold: the lane waits for a person.';
comment on column hookonce.routes."order" is
  'lane: tasks of one lane run one after another; none: any number at a time.';
comment on column hookonce.routes.worker is
  'server: `hookonce serve` handles its tasks; external: workers outside do, who claim for themselves.';

comment on column hookonce.audit.entry is 'Number of this entry.';
comment on column hookonce.audit.at is 'When.';
comment on column hookonce.audit.who is 'The name of a token, or `cli:` and a user.';
comment on column hookonce.audit.action is 'What was done: replay, bury, ...';
comment on column hookonce.audit.details is 'To what and how, as JSON.';

comment on column hookonce.minutes.minute is 'The minute, or the day of those that were folded.';
comment on column hookonce.minutes.source is 'The source of what is counted.';
comment on column hookonce.minutes.what is
  'new, unrouted, duplicate or mismatch: events; completed or dead: tasks.';
comment on column hookonce.minutes.n is 'How many; negative where something is no longer so.';

comment on column hookonce.meta.name is 'What the value is.';
comment on column hookonce.meta.value is 'The value.';

comment on column hookonce.copy.made_at is 'When the store was made that is copied.';
comment on column hookonce.copy.began_at is 'When the copy began.';
comment on column hookonce.copy.seq is 'Up to which event all is copied.';
comment on column hookonce.copy.is_whole is 'All is copied, and not yet compared.';
