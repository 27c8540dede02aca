// A receiver of WhatsApp webhooks as people write it by hand with Express and pg: the signature is
// checked, each message is inserted in a statement of its own, and a unique violation says that it was
// seen before. Stands beside hookonce in its benchmark. Ends with its standard input.

import { createHmac, timingSafeEqual } from "node:crypto";
import express from "express";
import pg from "pg";

const secret = process.env.APP_SECRET;
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
await pool.query(
  `create table if not exists messages (
     id text primary key, sender text not null, body jsonb not null,
     received_at timestamptz not null default now()
   )`,
);

const isSigned = (body, header = "") => {
  const expected = Buffer.from("sha256=" + createHmac("sha256", secret).update(body).digest("hex"));
  const given = Buffer.from(header);
  return given.length === expected.length && timingSafeEqual(given, expected);
};

const insert = async (message) => {
  try {
    await pool.query("insert into messages (id, sender, body) values ($1, $2, $3)", [
      message.id, message.from, message,
    ]);
    return true;
  } catch (error) {
    if (error.code === "23505") return false;
    throw error;
  }
};

const app = express();
app.post("/webhooks/meta", express.raw({ type: "*/*", limit: "4mb" }), async (request, response) => {
  if (!isSigned(request.body, request.get("x-hub-signature-256"))) return response.sendStatus(401);
  let stored = 0, duplicates = 0;
  for (const entry of JSON.parse(request.body).entry)
    for (const change of entry.changes)
      for (const message of change.value.messages ?? [])
        (await insert(message)) ? stored++ : duplicates++;
  response.json({ new: stored, duplicates });
});

const server = app.listen(0, "127.0.0.1", () => {
  console.log(`127.0.0.1:${server.address().port}`);
});
process.stdin.resume().on("end", () => process.exit());
