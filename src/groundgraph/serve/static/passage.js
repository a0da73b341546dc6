// The document beside the answer, opened at the passage that a citation leads to.

import { announce, el, messageOf, signButton, svg, word } from "./dom.js";
import { address, ask } from "./server.js";

/** @type {HTMLElement} */
let pane;
/** @type {HTMLElement | null} */
let opener = null;
let shown = "";

export function passagePane() {
  pane = el("aside", { class: "passage", hidden: true, tabindex: "-1", "aria-label": word("passage") });
  return pane;
}

export function closePassage() {
  if (pane.hidden) return;
  pane.hidden = true;
  shown = "";
  document.body.classList.remove("reading");
  mark(null);
  if (opener?.isConnected) opener.focus();
}

/**
 * @param {string} thread @param {string} turn @param {number} label
 * @param {HTMLElement | null} from what was clicked, where the focus goes back to
 */
export async function openPassage(thread, turn, label, from) {
  const path = `/api/threads/${thread}/turns/${turn}/citations/${label}`;
  shown = path;
  opener = from;
  mark(turn, label);
  /** @type {import("./server.js").Passage} */
  const found = await ask("GET", path).catch((error) => ({ title: "", shown: "", html: "", failed: messageOf(error) }));
  // Another one was clicked meanwhile.
  if (shown !== path) return;
  pane.replaceChildren(head(found, label), body(found));
  pane.hidden = false;
  document.body.classList.add("reading");
  pane.focus({ preventScroll: true });
  announce(`${word("passage")}: ${found.title}, ${found.shown}`);
  requestAnimationFrame(scrollToCitation);
}

function scrollToCitation() {
  pane.querySelector(".lit, mark, .boxes rect")?.scrollIntoView({ block: "center" });
}

/** The chip of the passage that is open looks so. @param {string | null} turn @param {number} [label] */
function mark(turn, label) {
  for (const old of document.querySelectorAll("#conversation [aria-current]")) old.removeAttribute("aria-current");
  if (turn === null) return;
  for (const chip of document.querySelectorAll(`#turn-${turn} [data-label="${label}"]`)) {
    chip.setAttribute("aria-current", "true");
  }
}

/** @param {import("./server.js").Passage} found @param {number} label */
function head(found, label) {
  const link = found.url && el("a", { href: found.url, target: "_blank", rel: "noreferrer noopener" }, word("original"));
  return el(
    "header",
    {},
    el("span", { class: "label" }, label),
    el("h2", {}, el("bdi", {}, found.title), el("span", { class: "place" }, el("bdi", {}, found.shown), " ", link)),
    signButton("close", word("close"), { click: closePassage }),
  );
}

/** @param {import("./server.js").Passage} found */
function body(found) {
  if (found.failed) return el("p", { class: "failed", role: "alert" }, found.failed);
  const place = el("div", { class: "document", tabindex: 0, role: "region", "aria-label": word("passage") });
  if (!found.picture) return withText(place, found);
  const failed = () => {
    withText(place, found);
    scrollToCitation();
  };
  place.append(picture(found, failed), el("p", { class: "cut" }, word("one_page")));
  return place;
}

/** @param {HTMLElement} place @param {import("./server.js").Passage} found */
function withText(place, found) {
  place.innerHTML = found.html; // made by the server of text alone: no tags of the document's own
  if (found.cut) place.append(el("p", { class: "cut" }, word("cut")));
  return place;
}

/**
 * A page of a PDF, with the words of the citation marked on it.
 * @param {import("./server.js").Passage} found @param {() => void} failed what is done when it cannot be drawn
 */
function picture(found, failed) {
  const rects = found.boxes.map(([x, y, width, height]) => svg("rect", { x, y, width, height }));
  const boxes = svg("svg", { class: "boxes", viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" }, ...rects);
  const image = el("img", { src: address(found.picture), alt: word("page_of", { page: found.page, title: found.title }) });
  image.addEventListener("load", () => boxes.querySelector("rect")?.scrollIntoView({ block: "center" }));
  image.addEventListener("error", failed);
  return el("div", { class: "sheet" }, image, boxes);
}
