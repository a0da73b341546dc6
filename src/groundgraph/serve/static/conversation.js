// A conversation: the path through the tree of its turns, and the field in which is asked.

import { announce, el, messageOf, signButton, word } from "./dom.js";
import { closePassage, openPassage } from "./passage.js";
import { waiting } from "./review.js";
import { Refused, ask, told } from "./server.js";
import { answered, failed, progress, turnArticle } from "./turn.js";

/** @typedef {import("./server.js").Kept} Kept */

/** @type {HTMLElement} */ let list;
/** @type {HTMLTextAreaElement} */ let field;
/** @type {HTMLButtonElement} */ let send;
/** @type {AbortController | null} */ let running = null;
let thread = "";
/** @type {Kept[]} */ let turns = [];
/** The turn that the path leads to. */ let leaf = "";
/** @type {(thread: string) => void} */ let changed = () => {};

/** @param {(thread: string) => void} onChange told when a conversation began or went on */
export function conversationPane(onChange) {
  changed = onChange;
  list = el("div", { class: "turns" });
  field = el("textarea", { rows: 1, placeholder: word("ask_here"), "aria-label": word("ask_here"), dir: "auto", maxlength: 100000, disabled: true });
  send = signButton("send", word("ask"), { type: "submit", class: "main" });
  field.addEventListener("input", grow);
  field.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!running) submit(); // whoever types the next question does not mean to stop the answer
  });
  const form = el("form", { class: "composer", submit: (event) => (event.preventDefault(), submit()) }, field, send);
  const title = el("h1", { id: "titled", class: "vh" }, word("title"));
  return el("main", { id: "conversation" }, title, list, form);
}

export function focusField() {
  field.focus();
}

function grow() {
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, innerHeight / 3)}px`;
}

let opened = 0;

/**
 * @param {string} id of the thread; empty for a new one
 * @param {string} [wanted] the turn that must be on the path
 * @param {string} [label] of the citation that is to be opened
 */
export async function openThread(id, wanted = "", label = "") {
  const own = ++opened;
  running?.abort();
  closePassage();
  thread = id;
  list.inert = field.disabled = id !== ""; // until its turns are there it is not known what a question would follow
  const found = id ? (await ask("GET", `/api/threads/${id}`)).turns : [];
  // The reader has gone elsewhere meanwhile.
  if (own !== opened) return;
  list.inert = false;
  turns = found;
  leaf = latestBelow(turns.some((one) => one.id === wanted) ? wanted : "");
  await show();
  if (own !== opened) return;
  field.disabled = false;
  const at = wanted && document.getElementById(`turn-${wanted}`);
  if (at) at.scrollIntoView();
  else list.lastElementChild?.scrollIntoView({ block: "end" });
  if (at && label) await openPassage(thread, wanted, Number(label), at);
}

/** @param {string} message why the conversation is not there @param {HTMLElement} button what can be done */
export function notOpened(message, button) {
  list.replaceChildren(el("p", { class: "failed", role: "alert" }, message, " ", button));
  document.body.classList.remove("empty");
  list.inert = false;
  button.focus();
}

/** The newest turn that is reached from `id` by the newest at each step. @param {string} id @returns {string} */
function latestBelow(id) {
  const next = turns.filter((one) => one.parent === id).at(-1);
  return next ? latestBelow(next.id) : id;
}

/** The turns from the first one to the leaf. */
function path() {
  const found = [];
  for (let at = turns.find((one) => one.id === leaf); at; at = turns.find((one) => one.id === at.parent)) found.unshift(at);
  return found;
}

async function show() {
  const shown = path();
  list.replaceChildren(...(shown.length ? shown.map((kept) => turnArticle(about(kept))) : [welcome()]));
  document.body.classList.toggle("empty", !shown.length);
  await Promise.all(shown.map(load));
}

function welcome() {
  return el("div", { class: "welcome" }, el("span", { class: "mark-of-page", "aria-hidden": "true" }), el("h1", {}, word("welcome")), el("p", {}, word("welcome_more")));
}

/** @param {Kept} kept @returns {import("./turn.js").Shown} */
function about(kept) {
  return {
    thread,
    kept,
    siblings: turns.filter((one) => one.parent === kept.parent),
    cite: (label, from) => openPassage(thread, kept.id, label, from),
    again: (question) => take(question, kept.parent),
    next: (question) => take(question, kept.id),
    decide: (decision) => decide(kept, decision),
    walk: async (id) => {
      closePassage();
      leaf = latestBelow(id);
      await show();
      document.getElementById(`turn-${id}`)?.focus();
    },
  };
}

/** @param {Kept} kept */
async function load(kept) {
  const article = document.getElementById(`turn-${kept.id}`);
  if (!article) return;
  if (kept.running) return void underWay(article, kept);
  if (kept.asked) return waiting(article, kept.asked, about(kept));
  if (!kept.outcome) return failed(article, kept.refused ?? word("interrupted"), () => anew(kept));
  try {
    answered(article, await ask("GET", `/api/threads/${thread}/turns/${kept.id}`), about(kept));
  } catch (error) {
    const gone = error instanceof Refused && error.status === 404; // as pruned ones are
    failed(article, messageOf(error), gone ? null : () => load(kept));
  }
}

/** The last turn of the path that a question can follow: one that was cut has no answer. */
function behind() {
  const found = path().filter((one) => one.outcome || one.asked || one.running);
  return found.at(-1)?.id ?? "";
}

/** A turn that is taken for another window, or still is for this one before it was loaded anew. @param {HTMLElement} article @param {Kept} kept */
async function underWay(article, kept) {
  const here = thread;
  article.querySelector(".body")?.replaceChildren(el("p", { class: "under-way", role: "status" }, word("under_way")));
  try {
    while (kept.running) {
      await new Promise((later) => setTimeout(later, 1000));
      if (!article.isConnected) return;
      await reread(kept, here);
    }
    await load(kept);
  } catch (error) {
    failed(article, messageOf(error), () => underWay(article, kept));
  }
}

/** What became of a turn, perhaps in another window. @param {Kept} kept @param {string} here its thread */
async function reread(kept, here) {
  /** @type {Kept[]} */
  const found = (await ask("GET", `/api/threads/${here}`)).turns;
  Object.assign(kept, found.find((one) => one.id === kept.id));
}

function submit() {
  if (running) return running.abort();
  const question = field.value.trim();
  if (!question) return;
  field.value = "";
  grow();
  take(question, behind());
}

/** @param {boolean} busy */
function look(busy) {
  const other = busy ? signButton("stop", word("stop"), { type: "submit", class: "main" }) : signButton("send", word("ask"), { type: "submit", class: "main" });
  send.replaceWith(other);
  send = other;
}

let begun = 0;

/** Ask `question` behind the turn `parent`. @param {string} question @param {string} parent */
async function take(question, parent) {
  running?.abort();
  closePassage();
  const mine = (running = new AbortController());
  let here = thread;
  let fresh = "";
  /** @type {Kept} */
  const kept = { id: `new-${(begun += 1)}`, parent, question, outcome: null, mark: {}, asked: null, running: true };
  turns.push(kept);
  leaf = kept.id;
  document.body.classList.remove("empty");
  redrawPath(kept);
  const article = /** @type {HTMLElement} */ (list.lastElementChild);
  article.scrollIntoView({ block: "start" });
  look(true);
  try {
    if (!here) {
      fresh = (await ask("POST", "/api/threads", { title: question })).id;
      mine.signal.throwIfAborted();
      thread = here = fresh;
    }
    await follow(told("POST", `/api/threads/${here}/turns`, { question, parent }, mine.signal), kept, article, mine);
  } catch (error) {
    const message = mine.signal.aborted ? word("stopped") : messageOf(error);
    // Its words are not lost when another is asked: it stays as a wording of it.
    if (kept.id.startsWith("new-")) {
      kept.refused = message;
      if (fresh && (await takenBack(fresh))) here = "";
    }
    if (thread === here) failed(article, message, () => anew(kept));
  }
  kept.running = false;
  ended(mine);
  if (here && thread === here) changed(here); // whoever has left meanwhile stays where they went
}

/** Forgets a conversation in which nothing was asked; where that fails too it is listed, and gone on with. @param {string} fresh */
async function takenBack(fresh) {
  try {
    await ask("DELETE", `/api/threads/${fresh}`);
  } catch {
    return false;
  }
  if (thread === fresh) thread = "";
  return true;
}

/** Asks a question once more that has no answer. @param {Kept} kept */
function anew(kept) {
  if (kept.refused) turns = turns.filter((one) => one !== kept);
  take(kept.question, kept.parent);
}

/** @param {AbortController} mine */
function ended(mine) {
  if (running !== mine) return;
  running = null;
  look(false);
}

/** Goes on with a turn that waits. @param {Kept} kept @param {Record<string, string>} decision */
async function decide(kept, decision) {
  const article = document.getElementById(`turn-${kept.id}`);
  if (!article || running) return;
  const here = thread;
  const mine = (running = new AbortController());
  look(true);
  try {
    await follow(told("POST", `/api/threads/${here}/turns/${kept.id}/decision`, decision, mine.signal), kept, article, mine);
  } catch (error) {
    failed(article, mine.signal.aborted ? word("stopped") : messageOf(error), () => undecided(article, kept, here));
  }
  ended(mine);
}

/** A turn about which the decision here was not taken: another window may have decided. @param {HTMLElement} article @param {Kept} kept @param {string} here */
async function undecided(article, kept, here) {
  try {
    await reread(kept, here);
    await load(kept);
  } catch (error) {
    failed(article, messageOf(error), () => undecided(article, kept, here));
  }
}

/** Keeps what is there of the path to `kept`, and puts it behind. @param {Kept} kept */
function redrawPath(kept) {
  const before = new Set(path().map((one) => `turn-${one.id}`));
  for (const old of [...list.children]) if (!before.has(old.id)) old.remove(); // a branch that was left, or a failure
  list.append(turnArticle(about(kept)));
}

/** @param {AsyncIterable<any>} events @param {Kept} kept @param {HTMLElement} article @param {AbortController} mine */
async function follow(events, kept, article, mine) {
  const steps = progress(article);
  let over = false;
  for await (const event of events) {
    if (event.begun) {
      kept.id = leaf = event.begun;
      article.id = `turn-${kept.id}`;
      changed(thread);
    }
    if (event.stage) steps.stage(event.stage);
    if (event.text) steps.text(event.text);
    if (event.error) throw new Error(event.error);
    if (event.waits || event.ended) {
      over = true;
      ended(mine); // the stream may end later: what the reader sees at its end can be gone on with
    }
    if (event.waits) {
      kept.asked = event.asked;
      waiting(article, event.asked, about(kept));
      announce(word("waits"));
    }
    if (event.ended) {
      kept.asked = null;
      kept.outcome = event.outcome.name;
      article.replaceWith((article = turnArticle(about(kept))));
      answered(article, event, about(kept));
      announce(`${event.outcome.called}. ${article.querySelector(".prose")?.textContent ?? ""}`);
    }
  }
  if (!over) throw new Error(word("broken_off")); // a proxy ended it: what is there was never checked
}
