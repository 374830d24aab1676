// The live parts of the console. Every page works without this script.
"use strict";

const base = document.body.dataset.path;
const page = document.body.dataset.watch ?? location.pathname.slice(base.length) + location.search;

// Elements with data-live are replaced by what the page shows now, by their ids. The focus stays
// where it is; a part in which the user is typing is left as it is.
async function refresh() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
  if (response.status === 401) {
    location.reload();
    return;
  }
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  document.title = fresh.title;
  for (const part of document.querySelectorAll("[data-live]")) {
    const next = fresh.getElementById(part.id);
    if (next === null || next.outerHTML === part.rendered) continue;
    const active = part.contains(document.activeElement) ? document.activeElement : null;
    if (active !== null && active.matches("input, textarea, select")) continue;
    const open = new Set([...part.querySelectorAll("details[open][id]")].map((d) => d.id));
    const scroll = new Map([...part.querySelectorAll("[id]")].filter((e) => e.scrollTop > 0).map((e) => [e.id, e.scrollTop]));
    next.rendered = next.outerHTML;
    for (const field of part.querySelectorAll("input[id], select[id], textarea[id]")) {
      const twin = next.querySelector("#" + CSS.escape(field.id));
      if (twin !== null) [twin.value, twin.checked] = [field.value, field.checked];
    }
    part.replaceWith(document.adoptNode(next));
    for (const details of next.querySelectorAll("details[id]")) details.open = details.open || open.has(details.id);
    for (const [id, top] of scroll) if (document.getElementById(id)) document.getElementById(id).scrollTop = top;
    if (active !== null && active.id !== "") document.getElementById(active.id)?.focus();
    prepare(next);
  }
  for (const input of document.querySelectorAll("input[data-filter]")) filter(input);
}

// One refresh at a time; a change meanwhile causes one more.
let refreshing = false;
let again = false;
async function changed() {
  again = true;
  if (refreshing || document.hidden) return;
  refreshing = true;
  while (again) {
    again = false;
    try {
      await refresh();
    } catch {
      break; // the stream says that the host is gone
    }
  }
  refreshing = false;
}

function connect() {
  const stream = new EventSource(base + "live?page=" + encodeURIComponent(page));
  const lost = document.getElementById("connection");
  stream.addEventListener("change", changed);
  stream.onopen = () => {
    changed(); // the page may have changed before the stream was open
    lost.hidden = true;
  };
  stream.onerror = () => {
    lost.hidden = false;
    if (stream.readyState === EventSource.CLOSED) setTimeout(connect, 5000);
  };
  addEventListener("pagehide", () => stream.close(), { once: true });
}

// An input with data-filter shows the rows of a list that have all of its words.
function filter(input) {
  const list = document.getElementById(input.dataset.filter);
  const count = document.querySelector(`[data-count="${input.dataset.filter}"]`);
  if (list === null) return;
  const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const rows = list.querySelectorAll("[data-row]");
  let shown = 0;
  for (const row of rows) {
    row.words ??= `${row.dataset.words ?? ""} ${row.textContent}`.toLowerCase();
    row.hidden = !words.every((word) => row.words.includes(word));
    if (!row.hidden) shown++;
  }
  for (const branch of list.querySelectorAll("details")) {
    const found = branch.querySelector("[data-row]:not([hidden])") !== null;
    branch.parentElement.hidden = !found;
    if (words.length > 0) branch.open = found;
  }
  if (count === null) return;
  count.hidden = words.length === 0;
  count.textContent = `${shown} of ${rows.length}`;
}

// A field with data-suggest has the suggestions of the server while the user types: the page is asked for them as its
// button asks, and the answer has them in the element beside the field.
let typing;
document.addEventListener("input", (event) => {
  clearTimeout(typing);
  if (event.target.matches("[data-suggest]")) typing = setTimeout(suggest, 200, event.target);
});

async function suggest(field) {
  const body = new URLSearchParams(new FormData(field.form));
  const asked = field.value;
  body.set("suggest", field.name);
  try {
    const response = await fetch(location.pathname + location.search, { method: "POST", body });
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("s" + field.name);
    if (fresh !== null && field.value === asked) document.getElementById(fresh.id).replaceWith(document.adoptNode(fresh));
  } catch {
    // the button says what is wrong
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[name=take]");
  if (button === null) return;
  event.preventDefault();
  const [name, value] = JSON.parse(button.value);
  const field = button.form.elements.namedItem(name);
  field.value = value;
  field.focus();
});

// What an element needs that was added to the page.
function prepare(root) {
  for (const code of root.querySelectorAll("[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy " + code.textContent);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    code.after(button);
  }
}

for (const part of document.querySelectorAll("[data-live]")) part.rendered = part.outerHTML;
prepare(document);
for (const input of document.querySelectorAll("input[data-filter]")) {
  input.addEventListener("input", () => filter(input));
  filter(input); // the browser may have kept its text
}
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload(); // its stream has ended
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && again) changed();
});
connect();
