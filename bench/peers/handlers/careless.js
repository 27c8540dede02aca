// A handler that is wrong in the three usual ways: it looks whether a message is known and inserts it then,
// so that copies that come together are both unknown; it answers before it has done its work, so that what
// fails or is cut off then never comes again; and it takes the first message of a request and no other.

import { pool, serve } from "./common.js";

await pool.query("create table if not exists ledger (n bigserial primary key, id text not null)");

serve(async ({ entry }, response) => {
  response.sendStatus(200);
  const { id } = entry[0].changes[0].value.messages[0];
  const { rowCount } = await pool.query("select from ledger where id = $1", [id]);
  if (rowCount > 0) return;
  await pool.query("insert into ledger (id) values ($1)", [id]);
});
