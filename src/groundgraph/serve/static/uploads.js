// Documents that are dropped on the page, or chosen: sent one after the other, each with its progress and its end.

import { announce, el, messageOf, signButton, word } from "./dom.js";
import { told } from "./server.js";

/** @typedef {{types: string[], bytes: number}} Takes */

/** @param {Takes} takes what the server takes */
export function uploading(takes) {
  const field = el("input", { type: "file", multiple: true, accept: takes.types.join(), hidden: true });
  const list = el("ul", {});
  const close = signButton("close", word("close"), { class: "quiet", click: () => (panel.hidden = true) });
  const panel = el("section", { id: "uploads", hidden: true, "aria-label": word("upload") }, el("header", {}, el("h2", {}, word("upload")), close), list);
  const over = el("div", { class: "dropping", hidden: true, "aria-hidden": "true" }, el("p", {}, word("upload_drop")));
  const send = async (/** @type {File[]} */ files) => {
    panel.hidden = !files.length;
    const rows = files.map((file) => row(list, file));
    for (const [at, file] of files.entries()) await one(file, takes, rows[at]);
  };
  field.addEventListener("change", () => (send([...(field.files ?? [])]), (field.value = "")));
  const begin = el("button", { type: "button", class: "begin", click: () => field.click() }, word("upload"));
  document.querySelector("#threads .begin")?.after(begin, field);
  document.body.append(panel, over);
  dropping(over, send);
}

/** @param {HTMLElement} over shown while files hang over the page @param {(files: File[]) => void} send */
function dropping(over, send) {
  const held = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => held(event) && (event.preventDefault(), (over.hidden = false)));
  addEventListener("dragleave", (event) => !event.relatedTarget && (over.hidden = true));
  addEventListener("drop", (event) => {
    over.hidden = true;
    if (held(event)) event.preventDefault(), send([...(event.dataTransfer?.files ?? [])]);
  });
}

/** @param {HTMLElement} list @param {File} file */
function row(list, file) {
  const state = el("span", { class: "state" }, word("upload_waits"));
  const made = el("li", {}, el("bdi", {}, file.name), el("progress", { "aria-label": file.name }), state);
  list.prepend(made);
  return { made, state };
}

/** @param {File} file @param {Takes} takes @param {{made: HTMLElement, state: HTMLElement}} row */
async function one(file, takes, { made, state }) {
  let over = false;
  const end = (/** @type {string} */ looks, /** @type {string} */ message) => {
    over = true;
    made.className = looks;
    state.textContent = message;
    made.querySelector("progress")?.remove();
    announce(`${file.name}: ${message}`);
  };
  const type = /\.[^.]*$/.exec(file.name)?.[0].toLowerCase() ?? "";
  if (!takes.types.includes(type)) return end("refused", word("upload_type", { types: takes.types.join(" ") }));
  if (file.size > takes.bytes) return end("refused", word("upload_large", { most: Math.floor(takes.bytes / 1e6) }));
  state.textContent = word("upload_sent");
  try {
    for await (const event of told("PUT", `/api/documents/${encodeURIComponent(file.name)}`, file)) {
      if (event.stage) state.textContent = word(`upload_${event.stage}`) || state.textContent;
      if (event.error || event.failed) end("refused", event.error ?? event.failed);
      if ("taken" in event) end("taken", [word("upload_taken", { count: event.taken }), ...event.warnings].join(" "));
    }
    if (!over) end("refused", word("broken_off"));
  } catch (error) {
    end("refused", messageOf(error));
  }
}
