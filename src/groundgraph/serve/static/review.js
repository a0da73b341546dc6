// An answer that waits for a person: what it rests on, and the decision.

import { el, word } from "./dom.js";
import { findings } from "./turn.js";

/** @typedef {import("./server.js").Review} Review */

/** @param {HTMLElement} article @param {Review} asked @param {import("./turn.js").Shown} shown */
export function waiting(article, asked, shown) {
  article.dataset.outcome = "waits";
  article.querySelector(".body")?.replaceChildren(
    el("p", { class: "outcome waits" }, el("strong", {}, word("waits")), el("span", {}, word("waits_why", shares(asked)))),
    el("div", { class: "prose held", dir: "auto" }, asked.answer),
    ...findings(asked.findings, true),
    evidence(asked),
    decision(asked, shown),
  );
}

/** @param {Review} asked */
function shares(asked) {
  const percent = (/** @type {number} */ share) => Math.round(share * 100);
  return { support: percent(asked.support), below: percent(asked.support_below) };
}

/** @param {Review} asked */
function evidence(asked) {
  const items = asked.evidence.map((piece) =>
    el("li", {}, el("span", { class: "label" }, piece.label), el("div", {}, el("small", {}, piece.source_name), el("p", { dir: "auto" }, piece.text))),
  );
  return el("details", { class: "held-evidence", open: true }, el("summary", {}, word("evidence")), el("ol", {}, items));
}

/** @param {Review} asked @param {import("./turn.js").Shown} shown */
function decision(asked, shown) {
  const text = el("textarea", { rows: 4, "aria-label": word("replace_with"), dir: "auto", maxlength: 32000, hidden: true });
  text.value = asked.answer;
  const comment = el("input", { class: "comment", "aria-label": word("review_comment"), placeholder: word("review_comment"), maxlength: 4000 });
  const decide = (/** @type {string} */ named) => {
    if (named === "replace" && text.hidden) return (text.hidden = false), text.focus();
    shown.decide({ decision: named, text: named === "replace" ? text.value : "", comment: comment.value });
  };
  const button = (/** @type {string} */ named, /** @type {string} */ looks) =>
    el("button", { type: "button", class: looks, click: () => decide(named) }, word(`decide_${named}`));
  const problem = asked.problem && el("p", { class: "failed", role: "alert" }, asked.problem);
  const buttons = [button("approve", "main"), button("replace", ""), button("refuse", "danger")];
  return el("div", { class: "decision", role: "group", "aria-label": word("waits") }, problem, text, comment, el("p", {}, buttons));
}
