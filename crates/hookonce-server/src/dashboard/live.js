// Shows a page anew when the server says that something has changed, unless somebody is at work in it.
"use strict";

const main = () => document.querySelector("main");

const isAtWork = () =>
  main().contains(document.activeElement) && document.activeElement !== main()
  || !getSelection().isCollapsed
  || document.hidden;

let isBehind = false;

const renew = async () => {
  if (isAtWork()) {
    isBehind = true;
    return;
  }
  isBehind = false;
  const response = await fetch(location.href);
  if (!response.ok || response.redirected) return location.reload();
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const open = [...main().querySelectorAll("details[open]")].map(({ id }) => id);
  main().innerHTML = page.querySelector("main").innerHTML;
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
};

if ("live" in document.body.dataset) {
  new EventSource("/live").onmessage = () => renew().catch(() => {});
  document.addEventListener("visibilitychange", () => { if (isBehind) renew().catch(() => {}); });
}
