// Uses the dashboard as people do, in a real Chromium. The first argument is JSON: where the dashboard and
// the webhooks are, a token, a file whose presence mends the sink, and where pictures go.

const { chromium } = require("playwright-core");
const { strict: assert } = require("node:assert");
const { writeFileSync, rmSync } = require("node:fs");
const { join } = require("node:path");

const { admin, webhooks, token, mended, pictures } = JSON.parse(process.argv[2]);

const ARGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

let n = 0;
const say = async (text, from = "15550001111") => {
  const messages = [{ from, id: `wamid.b${n++}`, timestamp: "1760000000", type: "text", text: { body: text } }];
  const value = { messaging_product: "whatsapp", metadata: { phone_number_id: "2" }, messages };
  const entry = [{ id: "1", changes: [{ field: "messages", value }] }];
  const body = JSON.stringify({ object: "whatsapp_business_account", entry });
  const answer = await fetch(webhooks, { method: "POST", body });
  assert.equal(answer.status, 200);
};

const signIn = async (page) => {
  await page.goto(`${admin}/`);
  await page.fill("#token", "wrong");
  await page.click("text=Sign in");
  await page.waitForSelector("[role=alert]");
  await page.fill("#token", token);
  await page.click("button");
  await page.waitForSelector("h1:has-text('Overview')");
};

// A page that fails the test for whatever the browser complains of.
const open = async (browser, options) => {
  const page = await (await browser.newContext(options)).newPage();
  page.setDefaultTimeout(15000);
  page.on("pageerror", (error) => { throw error; });
  page.on("dialog", (dialog) => { throw new Error(`a script ran: ${dialog.message()}`); });
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("401")) throw new Error(message.text());
  });
  return page;
};

// The newest dead event of a page of events.
const toDead = async (page) => {
  await page.goto(`${admin}/events?state=dead`);
  await page.click("tbody a");
  await page.waitForSelector(".facts");
};

const use = async (browser) => {
  const page = await open(browser, {});
  await signIn(page);

  // An arrival is seen without loading the page again.
  await page.evaluate(() => { window.isSamePage = true; });
  await say("first");
  await page.waitForSelector("text=1 event has arrived");
  assert.equal(await page.evaluate(() => window.isSamePage), true);

  // It is dead, replayed, and seen to complete.
  await toDead(page);
  writeFileSync(mended, "");
  await page.click("text=Replay");
  await page.waitForSelector("h1 .state:has-text('completed')");
  rmSync(mended);

  // Many are counted first, and replayed then.
  for (const text of ["a", "b", "c"]) await say(text, `1555000222${text.charCodeAt(0)}`);
  await page.goto(`${admin}/dead`);
  await page.waitForSelector("h2:has-text('shop') small:has-text('3')");
  await page.click("text=Count what a replay would move");
  await page.waitForSelector("[role=status]:has-text('3 tasks of shop would be replayed')");
  writeFileSync(mended, "");
  await page.click("text=Replay them");
  await page.waitForSelector("[role=status]:has-text('3 tasks of shop are due again')");
  await page.waitForSelector("text=Nothing waits for a person.");
  rmSync(mended);

  // A conversation that waits for a dead message is let pass.
  await say("holds", "15550003333");
  await page.goto(`${admin}/`);
  await page.waitForSelector("tbody tr:has-text('shop') td:nth-of-type(3):has-text('1')");
  await say("waits", "15550003333");
  await toDead(page);
  await page.waitForSelector("text=its conversation waits for it");
  writeFileSync(mended, "");
  await page.click("text=Let the conversation pass");
  await page.goto(`${admin}/events?lane=2%3A15550003333&state=completed`);
  await page.waitForSelector("tbody tr");
  rmSync(mended);

  // What a sender wrote is text.
  writeFileSync(mended, "");
  await say("<script>alert(1)</script>");
  await page.fill("[type=search]", `message:2:wamid.b${n - 1}`);
  await page.press("[type=search]", "Enter");
  await page.waitForSelector("mark:has-text('<script>alert(1)</script>')");
  rmSync(mended);
};

// The same paths without a script.
const useWithoutScript = async (browser) => {
  const page = await open(browser, { javaScriptEnabled: false });
  await signIn(page);
  await say("plain", "15550004444");
  for (let left = 100; !(await page.locator("text=plain").count()); left--) {
    assert(left > 0, "it is not dead");
    await toDead(page);
  }
  writeFileSync(mended, "");
  await page.click("text=Replay");
  const isCompleted = async () => {
    await page.reload();
    return page.locator("h1 .state:has-text('completed')").count();
  };
  for (let left = 100; !(await isCompleted()); left--) assert(left > 0, "it is not completed");
  await page.click("text=Sign out");
  await page.waitForSelector("#token");
  await page.goto(`${admin}/events`);
  await page.waitForSelector("#token");
  rmSync(mended);
};

const take = async (browser) => {
  const wide = { width: 1280, height: 900 };
  const looks = {
    desktop: { viewport: wide },
    dark: { viewport: wide, colorScheme: "dark" },
    phone: { viewport: { width: 390, height: 844 } },
  };
  for (const [look, options] of Object.entries(looks)) {
    const page = await open(browser, options);
    await signIn(page);
    for (const [name, path] of Object.entries({ overview: "/", events: "/events", dead: "/dead" })) {
      await page.goto(admin + path);
      await page.screenshot({ path: join(pictures, `${look}-${name}.png`), fullPage: true });
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      assert(!isWide, `${name} is wider than a ${look}`);
    }
    await toDead(page);
    await page.screenshot({ path: join(pictures, `${look}-event.png`), fullPage: true });
  }
};

(async () => {
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ARGS });
  try {
    await use(browser);
    await useWithoutScript(browser);
    await take(browser);
  } finally {
    await browser.close();
  }
})().catch((error) => { console.error(error); process.exit(1); });
