-- An event is stored, twice, and handled by a node; others are received and handled by a worker.
insert into hookonce.sources (name, scope) values ('story', 'story');
insert into hookonce.routes (
  name, sources, kinds, max_attempts, retry_min, retry_max, on_dead, "order", worker
)
values ('story', '{story}', null, 3, '5 s', '1 h', 'pass', 'lane', 'external');

select hookonce.insert_events(
  array[md5('story')::uuid], array['story'], array['k'], array['message.text'], array['l'],
  array[0::smallint], array['application/json'], array[''], array[sha256('k')], array[false],
  array[now()], array[now()], array['{}'], array[md5('story')::uuid], array['node'],
  array[md5('lane')::uuid], array[3], array[null::text], 'too old'
);
select hookonce.insert_events(
  array[md5('story')::uuid], array['story'], array['k'], array['message.text'], array['l'],
  array[0::smallint], array['application/json'], array[''], array[sha256('k')], array[false],
  array[now()], array[now()], array['{}'], array[md5('story')::uuid], array['node'],
  array[md5('lane')::uuid], array[3], array[null::text], 'too old'
);
select hookonce.insert_arrivals(
  array[md5('story')::uuid], array[1::bigint], array[true], array['{"other":1}'], array['story'],
  array['mismatch'], array[1::bigint]
);
select hookonce.drain_wakes(10, 0);
select hookonce.trim_wakes(0);
begin;
select * from hookonce.due_tasks(array['node'], array[10::bigint]);
select * from hookonce.due_tasks_since(
  array['node'], array[10::bigint], array[1.0::double precision],
  array['node'], array[0::smallint], array['whatsapp'], array['-infinity'::timestamptz]
);
select * from hookonce.finish_tasks(
  array[0::bigint], array['node'], array[md5('token')::uuid], array['completed'], array[null::text],
  array[0::float8], array[false], array[false]
);
commit;

select hookonce.receive('story', 'one', 'message.text', 'a', '{}');
select hookonce.receive('story', 'one', 'message.text', 'a', '{"other":1}');
select hookonce.receive('story', 'two', 'message.text', 'a', '{}');
select hookonce.receive('story', 'three', 'message.text', 'b', '{}');
create temporary table mine as
select * from hookonce.claim('worker', array['story'], '1 min', 10);
select hookonce.extend(id, route, token, '1 min') from mine;
select hookonce.record_step(id, route, token, 'first', '{}') from mine;
select hookonce.retry(id, route, token, 'not yet', '0 s') from mine where key = 'one';
select hookonce.finish(id, route, token) from mine where key = 'three';
delete from mine;
insert into mine select * from hookonce.claim('worker', array['story'], '1 min', 10);
select hookonce.release(id, route, token, '0 s') from mine;
delete from mine;
insert into mine select * from hookonce.claim('worker', array['story'], '1 min', 10);
select hookonce.bury(id, route, token, 'no') from mine;
select * from hookonce.claim('worker', array['story'], '1 min', 10);
select * from hookonce.claim('worker', array['story'], '1 min', 10);
