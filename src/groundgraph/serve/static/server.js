// What the server is asked for.

export class Refused extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The language that the reader chose on this page; empty for that of the browser. */
export function chosenLanguage() {
  return localStorage.getItem("language") ?? "";
}

/** Where the server has `path`: below the page, wherever that stands. @param {string} path */
export function address(path) {
  const chosen = chosenLanguage();
  return chosen ? `.${path}?language=${encodeURIComponent(chosen)}` : `.${path}`;
}

/** @param {string} method @param {string} path @param {any} [body] @param {AbortSignal} [signal] */
async function sent(method, path, body, signal) {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const text = body === undefined ? undefined : JSON.stringify(body);
  const answer = await fetch(address(path), { method, headers, body: text, signal });
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, told.error ?? answer.statusText);
}

/** @param {string} method @param {string} path @param {any} [body] */
export async function ask(method, path, body) {
  const answer = await sent(method, path, body);
  return answer.status === 204 ? null : answer.json();
}

/**
 * Everything that happens while a turn is taken, one thing after the other.
 * @param {string} thread @param {string} question @param {string} parent @param {AbortSignal} signal
 */
export async function* turn(thread, question, parent, signal) {
  const answer = await sent("POST", `/api/threads/${thread}/turns`, { question, parent }, signal);
  const reader = /** @type {ReadableStream} */ (answer.body).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}
