// A handler that is right: every message of the request, each once by a unique key, with its effect in the
// same transaction, and the answer after that.

import { pool, serve } from "./common.js";

await pool.query("create table if not exists seen (id text primary key)");
await pool.query("create table if not exists ledger (n bigserial primary key, id text not null)");

serve(async ({ entry }, response) => {
  const messages = entry.flatMap(({ changes }) => changes.flatMap(({ value }) => value.messages ?? []));
  // In one order everywhere, so that no two requests wait for each other.
  const ids = messages.map((message) => message.id).sort();
  const client = await pool.connect();
  let broken;
  try {
    await client.query("begin");
    for (const id of ids) {
      const { rowCount } = await client.query(
        "insert into seen (id) values ($1) on conflict do nothing", [id],
      );
      if (rowCount === 1) await client.query("insert into ledger (id) values ($1)", [id]);
    }
    await client.query("commit");
  } catch (error) {
    broken = error;
    throw error;
  } finally {
    // What is left of a transaction goes with its connection.
    client.release(broken);
  }
  response.sendStatus(200);
});
