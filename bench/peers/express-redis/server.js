// A receiver of WhatsApp webhooks as people write it by hand with Express, ioredis and BullMQ: the
// signature is checked, each message's id is set as a key unless it is there, and what is new becomes a
// job. Stands beside hookonce in its benchmark. Ends with its standard input.

import { createHmac, timingSafeEqual } from "node:crypto";
import { Queue } from "bullmq";
import express from "express";
import { Redis } from "ioredis";

const secret = process.env.APP_SECRET;
const keptFor = 30 * 24 * 3600;
const redis = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: null });
const queue = new Queue("messages", { connection: redis });
await queue.waitUntilReady();

const isSigned = (body, header = "") => {
  const expected = Buffer.from("sha256=" + createHmac("sha256", secret).update(body).digest("hex"));
  const given = Buffer.from(header);
  return given.length === expected.length && timingSafeEqual(given, expected);
};

const isNew = async (message) => {
  if ((await redis.set(`seen:${message.id}`, "1", "EX", keptFor, "NX")) === null) return false;
  await queue.add("message", message);
  return true;
};

const app = express();
app.post("/webhooks/meta", express.raw({ type: "*/*", limit: "4mb" }), async (request, response) => {
  if (!isSigned(request.body, request.get("x-hub-signature-256"))) return response.sendStatus(401);
  let stored = 0, duplicates = 0;
  for (const entry of JSON.parse(request.body).entry)
    for (const change of entry.changes)
      for (const message of change.value.messages ?? [])
        (await isNew(message)) ? stored++ : duplicates++;
  response.json({ new: stored, duplicates });
});

const server = app.listen(0, "127.0.0.1", () => {
  console.log(`127.0.0.1:${server.address().port}`);
});
process.stdin.resume().on("end", () => process.exit());
