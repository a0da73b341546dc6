// One turn on the page: the question, what happens while it is looked up, the answer with its citations.

import { announce, el, has, messageOf, signButton, word } from "./dom.js";
import { address, ask } from "./server.js";

/** @typedef {import("./server.js").Kept} Kept */
/** @typedef {import("./server.js").Answer} Answer */
/** @typedef {import("./server.js").Citation} Citation */

/**
 * @typedef {object} Shown
 * @property {string} thread
 * @property {Kept} kept the turn in the tree of its conversation
 * @property {Kept[]} siblings its question in all wordings, itself among them
 * @property {(label: number, from: HTMLElement) => void} cite
 * @property {(question: string) => void} again asks another question in its place
 * @property {(question: string) => void} next asks behind it
 * @property {(decision: Record<string, string>) => void} decide goes on with it when it waits
 * @property {(id: string) => void} walk to another branch
 */

/** @param {Shown} shown */
export function turnArticle(shown) {
  const article = el("article", { class: "turn", id: `turn-${shown.kept.id}`, tabindex: "-1" });
  article.append(question(article, shown), el("div", { class: "body" }));
  return article;
}

/** @param {HTMLElement} article @param {Shown} shown */
function question(article, shown) {
  const { kept, siblings } = shown;
  const edit = signButton("edit", word("edit"), { class: "quiet", click: () => editing(article, shown) });
  return el("header", {}, el("h2", { class: "asked", dir: "auto" }, kept.question), branches(shown, siblings), edit);
}

/** @param {Shown} shown @param {Kept[]} siblings */
function branches(shown, siblings) {
  if (siblings.length < 2) return null;
  const at = siblings.findIndex((one) => one.id === shown.kept.id);
  const step = (/** @type {"back" | "on"} */ sign, /** @type {string} */ label, /** @type {number} */ to) =>
    signButton(sign, label, { class: "quiet", disabled: !siblings[to], click: () => shown.walk(siblings[to].id) });
  return el(
    "span",
    { class: "branches", role: "group", "aria-label": word("branches") },
    step("back", word("branch_before"), at - 1),
    el("span", { class: "number" }, `${at + 1}/${siblings.length}`),
    step("on", word("branch_behind"), at + 1),
  );
}

/** The question as a field; what is asked anew begins a branch. @param {HTMLElement} article @param {Shown} shown */
function editing(article, shown) {
  const field = el("textarea", { rows: 2, "aria-label": word("edit"), dir: "auto" });
  field.value = shown.kept.question;
  const back = () => article.querySelector("header")?.replaceWith(question(article, shown));
  const done = () => field.value.trim() && shown.again(field.value.trim());
  field.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") event.preventDefault(), back(), article.focus();
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) event.preventDefault(), done();
  });
  const buttons = [
    el("button", { type: "submit", class: "main" }, word("ask_anew")),
    el("button", { type: "button", click: back }, word("cancel")),
  ];
  const form = el("form", { class: "editing", submit: (/** @type {Event} */ event) => (event.preventDefault(), done()) }, field, el("p", {}, buttons));
  article.querySelector("header")?.replaceChildren(form);
  field.focus();
}

/** A turn that is being taken. @param {HTMLElement} article */
export function progress(article) {
  const steps = el("ol", { class: "steps", "aria-label": word("progress") });
  const writing = el("div", { class: "prose writing", dir: "auto" });
  const body = /** @type {HTMLElement} */ (article.querySelector(".body"));
  body.replaceChildren(steps, writing);
  let before = 0;
  return {
    /** @param {any} stage */
    stage(stage) {
      const failed = stage.status && stage.status !== "ok" ? (stage.status === "timed_out" ? "_late" : "_failed") : "";
      if (stage.stage === "merge_results") before = stage.results;
      const left = stage.stage === "judge_evidence" && stage.results < before ? "_left" : "";
      const name = `stage_${stage.stage}${failed}${left}`;
      if (!has(name)) return;
      const told = word(name, { ...stage, before, count: stage.kept ?? stage.results });
      const queries = stage.text_queries?.join(" · ");
      steps.append(el("li", { class: failed && "late" }, told, queries && el("bdi", {}, queries)));
    },
    /** @param {string} text */
    text(text) {
      writing.append(text);
    },
  };
}

/** @param {HTMLElement} article @param {string} message @param {(() => void) | null} again null where that would help nobody */
export function failed(article, message, again) {
  const told = el("p", { class: "failed", role: "alert" }, message, " ");
  if (again) told.append(el("button", { type: "button", click: again }, word("try_again")));
  article.querySelector(".body")?.replaceChildren(told);
}

/** The answer, and all that its reader must know. @param {HTMLElement} article @param {Answer} answer @param {Shown} shown */
export function answered(article, answer, shown) {
  const { outcome } = answer;
  article.dataset.outcome = outcome.name;
  const prose = el("div", { class: "prose", dir: "auto", lang: answer.language || null });
  prose.innerHTML = answer.html; // made by the server of text alone: no tags of the answer's own
  for (const named of prose.querySelectorAll("[id]")) named.removeAttribute("id");
  chips(prose, answer, shown);
  article.querySelector(".body")?.replaceChildren(
    el("p", { class: `outcome ${outcome.name}` }, el("strong", {}, outcome.called), el("span", {}, outcome.means)),
    ...notes(answer),
    prose,
    ...choices(answer, shown),
    ...findings(answer.findings, false),
    ...sources(answer, shown),
    tools(answer, shown),
  );
}

/** @param {Answer} answer */
function notes(answer) {
  if (!answer.notes.length) return [];
  const items = answer.notes.map((note) => el("li", { dir: "auto" }, note));
  return [el("section", { class: `notes ${answer.alert ? "alert" : ""}` }, el("h3", {}, word("notes")), el("ul", {}, items))];
}

/** What a turn that asks back may be answered with. @param {Answer} answer @param {Shown} shown */
function choices(answer, shown) {
  if (!answer.choices?.length) return [];
  const buttons = answer.choices.map((choice) =>
    el("li", {}, el("button", { type: "button", dir: "auto", click: () => shown.next(choice.label) }, choice.label)),
  );
  return [el("ul", { class: "choices", "aria-label": word("choices") }, buttons)];
}

/** @param {import("./server.js").Finding[]} found @param {boolean} open */
export function findings(found, open) {
  if (!found.length) return [];
  const items = found.map((one) =>
    el("li", { tabindex: "-1" }, el("strong", {}, one.kind), " ", one.detail, el("q", { dir: "auto" }, one.sentence)),
  );
  const told = word("findings", { count: items.length });
  return [el("details", { class: "findings", open }, el("summary", {}, told), el("ol", {}, items))];
}

/** Makes the labels in an answer chips. @param {HTMLElement} prose @param {Answer} answer @param {Shown} shown */
function chips(prose, answer, shown) {
  for (const chip of /** @type {NodeListOf<HTMLElement>} */ (prose.querySelectorAll("a[data-label]"))) {
    const label = Number(chip.getAttribute("data-label"));
    const cited = answer.citations.find((one) => one.label === label);
    if (!cited) continue;
    chip.setAttribute("href", `#t/${shown.thread}/${shown.kept.id}/${label}`);
    chip.setAttribute("aria-label", word("citation", { label, place: cited.shown }));
    chip.addEventListener("click", (event) => (event.preventDefault(), shown.cite(label, chip)));
    hinted(chip, cited);
  }
  for (const sign of /** @type {NodeListOf<HTMLElement>} */ (prose.querySelectorAll("a.sign.warn"))) {
    sign.removeAttribute("href");
    sign.setAttribute("role", "button");
    sign.setAttribute("tabindex", "0");
    const open = () => toFinding(prose, Number(/\d+/.exec(sign.textContent ?? "")?.[0]));
    sign.addEventListener("click", open);
    sign.addEventListener("keydown", (event) => event.key === "Enter" && open());
  }
}

/** @param {HTMLElement} prose @param {number} number */
function toFinding(prose, number) {
  const list = prose.parentElement?.querySelector(".findings");
  if (!(list instanceof HTMLDetailsElement)) return;
  list.open = true;
  /** @type {HTMLElement | null} */ (list.querySelector(`li:nth-child(${number})`))?.focus();
}

/** Behind a long line its end is the file's, not the text's. @param {string} text */
const flowing = (text) => text.replace(/(?<=[^\n]{50})\n(?=\S)/g, " ");

/** Shows the quote while the pointer or the focus is on a chip. @param {HTMLElement} chip @param {Citation} cited */
function hinted(chip, cited) {
  const show = () => {
    const hint = document.getElementById("hint") ?? document.body.appendChild(el("div", { id: "hint", role: "tooltip" }));
    hint.replaceChildren(el("p", { dir: "auto" }, flowing(cited.quote)), el("small", {}, cited.title, " · ", cited.shown));
    hint.hidden = false;
    const at = chip.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left - 24), innerWidth - hint.offsetWidth - 8);
    const above = at.top - hint.offsetHeight - 8;
    hint.style.left = `${left}px`;
    hint.style.top = `${above > 8 ? above : at.bottom + 8}px`;
    chip.setAttribute("aria-describedby", "hint");
  };
  const hide = () => {
    const hint = document.getElementById("hint");
    if (hint) hint.hidden = true;
    chip.removeAttribute("aria-describedby");
  };
  for (const name of ["mouseenter", "focus"]) chip.addEventListener(name, show);
  for (const name of ["mouseleave", "blur", "click"]) chip.addEventListener(name, hide);
}

/** The list of what is cited. @param {Answer} answer @param {Shown} shown */
function sources(answer, shown) {
  if (!answer.citations.length) return [];
  const items = answer.citations.map((cited) => {
    const open = el(
      "button",
      { type: "button", class: "source", "data-label": cited.label, click: () => shown.cite(cited.label, open) },
      el("span", { class: "label" }, cited.label),
      el("bdi", {}, cited.title || cited.source),
      el("span", { class: "place" }, el("bdi", {}, cited.shown)),
    );
    return el("li", {}, open);
  });
  return [el("ol", { class: "sources", "aria-label": word("sources") }, items)];
}

/** @param {Answer} answer @param {Shown} shown */
function tools(answer, shown) {
  const { thread, kept } = shown;
  const path = `/api/threads/${thread}/turns/${kept.id}`;
  const report = signButton("report", word("report"), { class: "quiet", click: () => window.open(address(`${path}/report`), "_blank", "noopener") });
  const copy = signButton("copy", word("copy"), {
    class: "quiet",
    click: async () => {
      await navigator.clipboard.writeText(answer.markdown);
      announce(word("copied"));
    },
  });
  return el("footer", {}, ...marks(path, kept), copy, report);
}

/** What the reader says of the answer. @param {string} path @param {Kept} kept */
function marks(path, kept) {
  const comment = el("input", { class: "comment", "aria-label": word("comment"), placeholder: word("comment"), maxlength: 4000 });
  comment.value = kept.mark.comment ?? "";
  const buttons = /** @type {const} */ (["good", "bad"]).map((mark) =>
    signButton(mark, word(`mark_${mark}`), { class: "quiet", click: () => keep(kept.mark.mark === mark ? "" : mark) }),
  );
  const look = () => {
    ["good", "bad"].forEach((mark, at) => buttons[at].setAttribute("aria-pressed", String(kept.mark.mark === mark)));
    comment.hidden = !kept.mark.mark;
  };
  const lost = el("p", { class: "failed", role: "alert" });
  const keep = async (/** @type {string} */ mark) => {
    try {
      kept.mark = (await ask("PUT", `${path}/mark`, { mark, comment: mark ? comment.value : "" })).mark;
    } catch (error) {
      return void (lost.textContent = messageOf(error));
    }
    lost.textContent = "";
    look();
    announce(word("kept"));
  };
  comment.addEventListener("change", () => keep(kept.mark.mark ?? ""));
  look();
  return [...buttons, comment, lost];
}
