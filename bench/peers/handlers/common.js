// What both handlers share: the database, the signature, and a server that says where it listens. Ends
// with its standard input.

import { createHmac, timingSafeEqual } from "node:crypto";
import express from "express";
import pg from "pg";

export const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
// A connection that breaks while it is idle ends nobody.
pool.on("error", () => {});

const secret = process.env.APP_SECRET;

const isSigned = (body, header = "") => {
  const expected = Buffer.from("sha256=" + createHmac("sha256", secret).update(body).digest("hex"));
  const given = Buffer.from(header);
  return given.length === expected.length && timingSafeEqual(given, expected);
};

// Serves `handle`, which is given the parsed body and the response.
export const serve = (handle) => {
  const app = express();
  app.post("/webhook", express.raw({ type: "*/*", limit: "4mb" }), async (request, response) => {
    if (!isSigned(request.body, request.get("x-hub-signature-256"))) return response.sendStatus(401);
    await handle(JSON.parse(request.body), response);
  });
  app.use((error, request, response, next) => {
    if (response.headersSent) return next(error);
    response.sendStatus(500);
  });
  const server = app.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
    console.log(`127.0.0.1:${server.address().port}`);
  });
  process.stdin.resume().on("end", () => process.exit());
};
