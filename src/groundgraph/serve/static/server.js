// What the server is asked for, and what it tells.

import { word } from "./dom.js";

/**
 * @typedef {{id: string, title: string, at: number}} Thread `at` in seconds since the epoch
 * @typedef {{mark?: string, comment?: string}} Mark
 * @typedef {{label: number, source_name: string, text: string}} Shown a piece of evidence as a reviewer sees it
 * @typedef {{kind: string, detail: string, sentence: string}} Finding of the citation check
 * @typedef {object} Review what a person is asked by whose decision an answer goes out
 * @property {string} answer
 * @property {number} support
 * @property {number} support_below
 * @property {Finding[]} findings
 * @property {Shown[]} evidence
 * @property {string} problem what was wrong with the decision before
 *
 * @typedef {object} Kept a turn in the tree of its conversation
 * @property {string} id
 * @property {string} parent
 * @property {string} question
 * @property {string | null} outcome
 * @property {Mark} mark
 * @property {Review | null} asked
 * @property {boolean} running whether it is being taken, here or in another window
 * @property {string} [refused] why the server never began it: such a one stands in this window only
 *
 * @typedef {{label: number, title: string, section: string, shown: string, source: string, quote: string}} Citation
 * @typedef {object} Answer
 * @property {string} html
 * @property {string} markdown
 * @property {string} language
 * @property {{name: string, called: string, means: string}} outcome
 * @property {boolean} alert
 * @property {string[]} notes
 * @property {Finding[]} findings
 * @property {Citation[]} citations
 * @property {{label: string}[]} [choices] of a turn that asks back
 *
 * @typedef {object} Passage
 * @property {string} title
 * @property {string} shown
 * @property {string} url
 * @property {string} html
 * @property {number | null} page
 * @property {[number, number, number, number][]} boxes
 * @property {boolean} cut
 * @property {string} picture
 * @property {string} [failed]
 *
 * @typedef {object} Page
 * @property {Record<string, string> & {language: string, languages: string[]}} words
 * @property {boolean} known
 * @property {boolean} signIn
 * @property {string} user
 * @property {{types: string[], bytes: number} | null} uploads
 */

export class Refused extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The other windows of this page, which are told `{signed: true}` or `{forgotten: ID}`: they would go on with what is not so any more. */
export const windows = new BroadcastChannel(`groundgraph ${location.pathname}`);

/** The language that the reader chose on this page; empty for that of the browser. */
export function chosenLanguage() {
  return localStorage.getItem("language") ?? "";
}

/** Where the server has `path`: below the page, wherever that stands. @param {string} path */
export function address(path) {
  const chosen = chosenLanguage();
  return chosen ? `.${path}?language=${encodeURIComponent(chosen)}` : `.${path}`;
}

/** Tells a failure in the words of the page, once it has them: those of the browser are for whoever writes pages. @param {string} name @returns {(error: any) => never} */
function lost(name) {
  return (error) => {
    throw new Error(word(name) || error.message);
  };
}

/** @param {string} method @param {string} path @param {any} [body] @param {AbortSignal} [signal] */
async function sent(method, path, body, signal) {
  /** @type {RequestInit} */
  const given = { method, signal };
  if (body instanceof Blob) given.body = body;
  else if (body !== undefined) Object.assign(given, { headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const answer = await fetch(address(path), given).catch(lost("unreachable"));
  // A page that a proxy shows in place of what was asked for, mostly to sign in there.
  if (answer.ok && answer.headers.get("content-type")?.startsWith("text/html")) throw new Refused(answer.status, word("elsewhere") || answer.url);
  if (answer.ok) return answer;
  if (answer.status === 401 && path !== "/sign-in") throw new Refused(401, word("signed_out"));
  const told = await answer.json().catch(() => ({}));
  // What a proxy says is for whoever runs it, and over HTTP/2 it says nothing beside the number.
  throw new Refused(answer.status, told?.error ?? (word("unexplained", { status: answer.status }) || answer.statusText));
}

/** @param {string} method @param {string} path @param {any} [body] @returns {Promise<any>} */
export async function ask(method, path, body) {
  const answer = await sent(method, path, body);
  return answer.status === 204 ? null : answer.json();
}

/**
 * Everything that happens while the server works, one thing after the other.
 * @param {string} method @param {string} path @param {any} body @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<any>}
 */
export async function* told(method, path, body, signal) {
  const answer = await sent(method, path, body, signal);
  const reader = /** @type {ReadableStream} */ (answer.body).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (true) {
    const { done, value } = await reader.read().catch(lost("broken_off"));
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}
