// Signs requests by the senders' own libraries: reads a JSON array of requests from standard input,
// prints the headers of each as a JSON array.
//
// A request is `{ by, secret, body, url, form, id, at }`: which library, the secret, the body as text,
// the address that is signed where one is, the form as an object where the body is one, and the id
// and the time (in seconds) of signing.

import { text } from "node:stream/consumers";

import { sign as signGithub } from "@octokit/webhooks-methods";
import jsonwebtoken from "jsonwebtoken";
import * as standardwebhooks from "standardwebhooks";
import Stripe from "stripe";
import * as svix from "svix";
import twilio from "twilio";

const signers = {
  github: async ({ secret, body }) => ({ "x-hub-signature-256": await signGithub(secret, body) }),

  stripe: ({ secret, body, at }) => ({
    "stripe-signature": new Stripe("sk_test_none").webhooks.generateTestHeaderString({
      payload: body,
      secret,
      timestamp: at,
    }),
  }),

  standardwebhooks: ({ secret, ...request }) =>
    standardHeaders(new standardwebhooks.Webhook(secret), request),

  svix: ({ secret, ...request }) => standardHeaders(new svix.Webhook(secret), request),

  twilio: ({ secret, url, form }) => ({
    "content-type": "application/x-www-form-urlencoded",
    "x-twilio-signature": twilio.getExpectedTwilioSignature(secret, url, form),
  }),

  "twilio-sha256": ({ secret, url, form }) => ({
    "content-type": "application/x-www-form-urlencoded",
    "x-twilio-signature": twilio.getExpectedTwilioSignature(secret, url, form, "HMAC_SHA256"),
    "x-twilio-webhooks-signature-settings": "key=webhooks_sharedkey_1,algorithm=HMAC_SHA256",
  }),

  // The address has `bodySHA256` in it, and no parameter is signed.
  "twilio-json": ({ secret, url, body }) => {
    const signed = `${url}?bodySHA256=${twilio.getExpectedBodyHash(body)}`;
    return {
      query: new URL(signed).search,
      "x-twilio-signature": twilio.getExpectedTwilioSignature(secret, signed, {}),
    };
  },

  jwt: ({ secret, at }) => ({
    authorization: `Bearer ${jsonwebtoken.sign({ iat: at, exp: at + 600 }, secret, { algorithm: "HS256" })}`,
  }),
};

function standardHeaders(webhook, { body, id, at }) {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(at),
    "webhook-signature": webhook.sign(id, new Date(at * 1000), body),
  };
}

const requests = JSON.parse(await text(process.stdin));
const headers = await Promise.all(requests.map((request) => signers[request.by](request)));
console.log(JSON.stringify(headers));
