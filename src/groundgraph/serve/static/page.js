// Puts the page together, and follows its address: `#t/THREAD/TURN/LABEL`.

import { conversationPane, focusField, notOpened, openThread } from "./conversation.js";
import { el, messageOf, signButton, useWords, word } from "./dom.js";
import { closePassage, passagePane } from "./passage.js";
import { Refused, ask, windows } from "./server.js";
import { loadThreads, openedThread, threadsPane } from "./threads.js";
import { uploading } from "./uploads.js";

async function start() {
  windows.addEventListener("message", ({ data }) => data.signed && location.reload());
  /** @type {import("./server.js").Page} */
  const page = await ask("GET", "/api/page");
  useWords(page.words);
  document.title = word("title");
  if (!page.known) return document.body.replaceChildren(signIn());
  const menu = signButton("menu", word("threads"), { class: "menu", "aria-controls": "threads", "aria-expanded": "false", click: () => drawer(true) });
  const shade = el("div", { class: "shade", click: () => drawer(false) });
  const told = el("p", { id: "announced", class: "vh", role: "status", "aria-live": "polite" });
  const skip = el("a", { class: "skip", href: "#conversation", click: (event) => (event.preventDefault(), focusField()) }, word("skip"));
  const threads = threadsPane(page, choose);
  // The one that is open already is no other address to follow.
  threads.addEventListener("click", (event) => event.target instanceof Element && event.target.closest("li a") && drawer(false));
  document.body.replaceChildren(skip, threads, shade, menu, conversationPane(went), passagePane(), told);
  if (page.uploads) uploading(page.uploads);
  document.addEventListener("keydown", keys);
  matchMedia("(max-width: 56rem)").addEventListener("change", () => drawer(false)); // beside the page it is no drawer
  addEventListener("hashchange", follow);
  windows.addEventListener("message", ({ data }) => data.forgotten && forgotten(data.forgotten));
  await loadThreads();
  await follow();
}

/** @param {boolean} open */
function drawer(open) {
  const menu = /** @type {HTMLElement} */ (document.querySelector(".menu"));
  const leaves = document.activeElement?.closest("#threads");
  document.body.classList.toggle("drawer", open);
  for (const one of document.body.children) if (!one.matches("#threads, .shade, #announced")) /** @type {HTMLElement} */ (one).inert = open;
  menu.setAttribute("aria-expanded", String(open));
  if (open) /** @type {HTMLElement | null} */ (document.querySelector("#threads .begin"))?.focus();
  else if (leaves) menu.focus(); // where there is no drawer it is not shown, and takes no focus
}

/** What is open now, so that an address which this page wrote itself is not followed. */
let at = "";

async function follow() {
  const [kind, thread = "", turn = "", label = ""] = location.hash.slice(1).split("/");
  const id = kind === "t" ? thread : "";
  drawer(false);
  if (id && location.hash === at) return;
  const here = (at = location.hash);
  try {
    await openThread(id, turn, label);
  } catch (error) {
    if (!id) throw error;
    if (at === here) lacking(id, error);
    return;
  }
  if (at !== here) return; // the reader has gone elsewhere meanwhile
  openedThread(id);
  if (!label) focusField();
}

/** Says why a conversation is not shown: a new one in its place would hide that. @param {string} id @param {unknown} error */
async function lacking(id, error) {
  const gone = error instanceof Refused && error.status === 404;
  const click = gone ? () => choose("") : () => ((at = ""), follow());
  const button = el("button", { type: "button", click }, word(gone ? "new" : "try_again"));
  notOpened(messageOf(error), button);
  openedThread(id);
  // Another window may have forgotten it.
  if (gone) await loadThreads();
}

/** What another window forgot is not read on, or written to, here. @param {string} thread */
async function forgotten(thread) {
  if (at.split("/")[1] !== thread) return loadThreads();
  at = "";
  await follow();
}

/** @param {string} thread */
function choose(thread) {
  // The address without a thread is followed at once: told of it later, the page would end a question asked meanwhile.
  if (thread) location.hash = `t/${thread}`;
  else history.pushState(null, "", location.pathname), follow();
}

/** A conversation began or went on. @param {string} thread */
async function went(thread) {
  const here = `#t/${thread}`;
  // Another address that is not followed yet is where the reader has just gone.
  if (location.hash === at) history.replaceState(null, "", (at = here));
  await loadThreads();
  if (at === here) openedThread(thread);
}

/** @param {KeyboardEvent} event */
function keys(event) {
  const writing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
  if (event.key === "Escape" && !event.defaultPrevented) closePassage(), drawer(false);
  if (event.key === "/" && !writing) event.preventDefault(), focusField();
}

function signIn() {
  const field = el("input", { type: "password", autocomplete: "current-password", required: true, "aria-label": word("token"), placeholder: word("token") });
  const told = el("p", { class: "failed", role: "alert" });
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await ask("POST", "/sign-in", { token: field.value });
      windows.postMessage({ signed: true });
      location.reload();
    } catch (error) {
      told.textContent = error instanceof Refused && error.status === 401 ? word("token_unknown") : messageOf(error);
    }
  };
  return el(
    "main",
    { class: "sign-in" },
    el("span", { class: "mark-of-page", "aria-hidden": "true" }),
    el("h1", {}, word("sign_in")),
    el("form", { submit }, field, el("button", { type: "submit", class: "main" }, word("sign_in"))),
    told,
  );
}

start().catch((error) => document.body.replaceChildren(el("p", { class: "failed", role: "alert" }, messageOf(error))));
