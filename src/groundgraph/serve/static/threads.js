// The conversations beside the page: listed, searched, forgotten.

import { askReader, el, messageOf, signButton, word } from "./dom.js";
import { Refused, address, ask, chosenLanguage, windows } from "./server.js";

/** @type {HTMLElement} */ let list;
/** @type {HTMLInputElement} */ let search;
/** @type {HTMLElement} Why one was not forgotten, or nobody signed out. */ let told;
/** @typedef {import("./server.js").Thread} Thread */
/** @type {Thread[]} */ let threads = [];
/** @type {Map<string, HTMLElement>} By what they say. */ let rows = new Map();
let open = "";
/** @type {(thread: string) => void} */ let chosen = () => {};

/** @param {import("./server.js").Page} page what the server says of it @param {(thread: string) => void} onChoice told of the id; empty for a new one */
export function threadsPane(page, onChoice) {
  chosen = onChoice;
  list = el("ul", {});
  search = el("input", { type: "search", placeholder: word("search"), "aria-label": word("search"), input: draw });
  const begin = el("button", { type: "button", class: "begin", click: () => chosen("") }, word("new"));
  const brand = el("p", { class: "brand" }, el("span", { class: "mark-of-page", "aria-hidden": "true" }), "groundgraph");
  told = el("p", { class: "failed", role: "alert" });
  return el("nav", { id: "threads", "aria-label": word("threads") }, brand, begin, search, told, list, foot(page));
}

/** @param {import("./server.js").Page} page */
function foot(page) {
  const languages = page.words.languages.map((name) => el("option", { value: name, selected: name === page.words.language }, word(`language_${name}`) || name));
  const change = (/** @type {any} */ event) => (localStorage.setItem("language", event.target.value), location.reload());
  const select = el("select", { "aria-label": word("language_label"), change }, languages);
  const leave = page.signIn && el("button", { type: "button", click: signOut }, word("sign_out"));
  return el("footer", {}, page.user && el("bdi", {}, page.user), select, leave);
}

async function signOut() {
  try {
    await ask("POST", "/sign-out", {});
  } catch (error) {
    // Another window may have done it before.
    if (!(error instanceof Refused && error.status === 401)) return void (told.textContent = messageOf(error));
  }
  windows.postMessage({ signed: true });
  location.assign("./");
}

let asked = 0;

export async function loadThreads() {
  const own = ++asked;
  const found = (await ask("GET", "/api/threads")).threads;
  // What was asked for earlier and comes later knows less.
  if (own !== asked) return;
  threads = found;
  draw();
}

/** @param {string} id */
export function openedThread(id) {
  open = id;
  draw();
  document.title = threads.find((one) => one.id === id)?.title ?? word("title");
  const heading = document.getElementById("titled");
  if (heading) heading.textContent = document.title;
}

function draw() {
  const wanted = search.value.trim().toLocaleLowerCase();
  const found = threads.filter((one) => one.title.toLocaleLowerCase().includes(wanted));
  // One for all: with a thousand of its own each, a key in the search was seen after a quarter of a second.
  const dates = new Intl.DateTimeFormat(chosenLanguage() || undefined, { dateStyle: "medium" });
  const before = rows;
  rows = new Map();
  for (const one of found) {
    const date = dates.format(one.at * 1000);
    const says = `${one.id} ${date} ${one.title}`;
    rows.set(says, before.get(says) ?? row(one, date));
  }
  const shown = rows.size ? [...rows.values()] : [el("li", { class: "none" }, word(wanted ? "none_found" : "none_yet"))];
  place(shown);
  for (const link of list.querySelectorAll("a")) {
    if (link.hash === `#t/${open}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** What stays is not taken out: a click that has begun on it would be lost, and the focus. @param {HTMLElement[]} shown */
function place(shown) {
  const stay = new Set(shown);
  for (const old of [...list.children]) if (!stay.has(/** @type {HTMLElement} */ (old))) old.remove();
  /** @type {Element | null} */
  let next = list.firstElementChild;
  for (const one of shown) {
    if (one === next) next = next.nextElementSibling;
    else list.insertBefore(one, next);
  }
}

/** @param {Thread} thread @param {string} date */
function row(thread, date) {
  const link = el("a", { href: `#t/${thread.id}`, title: thread.title }, el("bdi", {}, thread.title), el("small", {}, date));
  const taken = signButton("take", word("export", { title: thread.title }), { class: "quiet", click: () => take(thread) });
  const forgotten = signButton("bin", word("forget", { title: thread.title }), { class: "quiet", click: () => forget(thread) });
  return el("li", {}, link, el("span", { class: "of-row" }, taken, forgotten));
}

/** @param {Thread} thread */
function forget(thread) {
  askReader(
    word("forget_sure"),
    el("p", {}, word("forget_sure")),
    el("p", {}, el("bdi", {}, thread.title)),
    el(
      "form",
      { method: "dialog" },
      el("button", { value: "no" }, word("cancel")),
      el("button", { value: "yes", class: "danger", click: () => gone(thread) }, word("forget_yes")),
    ),
  );
}

/** A conversation to take along. @param {Thread} thread */
function take(thread) {
  const link = (/** @type {string} */ kind, /** @type {string} */ label) =>
    el("a", { class: "button", href: address(`/api/threads/${thread.id}/export.${kind}`), download: "" }, label);
  askReader(
    word("export_as"),
    el("p", {}, word("export_as")),
    el("p", {}, el("bdi", {}, thread.title)),
    el("form", { method: "dialog" }, el("button", {}, word("close")), link("md", "Markdown"), link("json", "JSON")),
  );
}

/** @param {Thread} thread */
async function gone(thread) {
  // First, since the server forgets nothing while it answers there, and nobody reads that answer any more.
  if (thread.id === open) chosen("");
  told.textContent = "";
  try {
    await ask("DELETE", `/api/threads/${thread.id}`);
    windows.postMessage({ forgotten: thread.id });
  } catch (error) {
    // Another window may have forgotten it before.
    if (!(error instanceof Refused && error.status === 404)) told.textContent = messageOf(error);
  }
  await loadThreads();
}
