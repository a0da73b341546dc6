// Elements, words and small signs: what every other module builds with.

/** @type {Record<string, string>} */
let words = {};

/** @param {Record<string, string>} loaded from the server, in the reader's language */
export function useWords(loaded) {
  words = loaded;
  document.documentElement.lang = loaded.language;
}

/**
 * The words for `name`, with `{…}` filled in; empty for a name that has none.
 * @param {string} name
 * @param {Record<string, any>} [values]
 */
export function word(name, values = {}) {
  const plural = "count" in values && values.count !== 1 ? words[`${name}_many`] : undefined;
  return (plural ?? words[name] ?? "").replace(/\{(\w+)\}/g, (_, key) => String(values[key] ?? ""));
}

/** @param {string} name */
export function has(name) {
  return name in words;
}

/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Attributes */

/**
 * An element. Attributes that are false or null are left out; functions listen to the event of their name.
 * Children are text or elements, never markup.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {...any} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Record<string, any>} attributes
 * @param {...Element} children
 */
export function svg(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

const SIGNS = {
  new: "M8 3v10M3 8h10",
  edit: "M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3zM9.2 4.5l2.3 2.3",
  close: "M4 4l8 8M12 4l-8 8",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  good: "M3 13V7.5h2V13zM5 7.5L8 2.5c1.2 0 1.7.9 1.4 2L8.9 6.5h3.3c.8 0 1.3.7 1.1 1.5l-1 4c-.2.6-.7 1-1.3 1H5",
  bad: "M3 3v5.5h2V3zM5 8.500l3 5c1.200 0 1.700-.9 1.400-2l-.5-2h3.300c.8 0 1.300-.7 1.100-1.500l-1-4c-.2-.6-.7-1-1.300-1H5",
  copy: "M6 6h7v7H6zM10 6V3H3v7h3",
  report: "M3 13V9M6.500 13V4M10 13V7M13.500 13V2.500",
  send: "M8 13V3.500M3.500 8L8 3.500 12.500 8",
  stop: "M5 5h6v6H5z",
  back: "M10 3.500L5.500 8l4.500 4.500",
  on: "M6 3.500L10.500 8 6 12.500",
  take: "M8 2.500v7.500M5 7.200L8 10.200l3-3M3 13h10",
  bin: "M3 4.500h10M6.500 4.500V3h3v1.500M4.500 4.500l.6 8.500h5.800l.6-8.500",
};

/**
 * A button that shows a sign, and says its words to whoever cannot see it.
 * @param {keyof typeof SIGNS} sign
 * @param {string} label
 * @param {Attributes} attributes
 */
export function signButton(sign, label, attributes) {
  const path = svg("path", { d: SIGNS[sign] });
  const drawn = svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, path);
  return el("button", { type: "button", "aria-label": label, title: label, ...attributes, class: `sign-button ${attributes.class ?? ""}` }, drawn);
}

/** @param {unknown} error */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** A question to the reader, which is gone when it is answered. @param {string} label @param {...any} children */
export function askReader(label, ...children) {
  const dialog = el("dialog", { "aria-label": label, close: () => dialog.remove() }, ...children);
  document.body.append(dialog);
  dialog.showModal();
}

/** @param {string} text told to screen readers */
export function announce(text) {
  const place = document.getElementById("announced");
  if (place) place.textContent = text;
}
