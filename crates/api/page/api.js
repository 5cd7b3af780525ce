// What is asked of the server. A session is two halves: the cookie, which scripts do not see, and one that is kept here, as cookies
// are every service's of the host and storage is of this port alone.

const HALF = "zonda-half";
const SESSION = "/api/zonda/v1/session";

// By what the files of this page are known: the address of this one has it.
const OWN = new URL(import.meta.url).pathname.split("/")[2];

// How long an answer may take, in milliseconds: the server says by itself when it cannot, after 30 s at the most.
const PATIENCE = 35_000;

// Why something was not answered. `status` 0: nothing came.
export class Refused extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

// Whether a person did something since it was asked last: a session that nobody uses ends.
let isPerson = false;
for (const type of ["keydown", "pointerdown"]) {
  addEventListener(type, () => { isPerson = true; }, { capture: true, passive: true });
}

// Whether the server has other files than this page.
let isOlder = false;
export function isOld() {
  return isOlder;
}

function kept() {
  try {
    return localStorage.getItem(HALF);
  } catch {
    return null;
  }
}

// Has the half of a session that is none any more kept no longer, here and in other tabs.
export function forget() {
  try {
    localStorage.removeItem(HALF);
  } catch {
    // Then it was not kept.
  }
}

// Calls `act` when another tab has signed in or out.
export function whenOthersSign(act) {
  addEventListener("storage", (event) => {
    if (event.key === HALF || event.key === null) {
      act();
    }
  });
}

// Asks for what is at a path of the API; also why it is not all, where the server says so.
async function ask(method, path, headers) {
  const all = new Headers(headers);
  const half = kept();
  if (half !== null) {
    all.set("X-Zonda-Half", half);
  }
  if (isPerson) {
    all.set("X-Zonda-Person", "1");
  }
  isPerson = false;
  let response;
  try {
    // In its usual mode: in others a page that tells nobody where it was has no origin.
    response = await fetch(path, { method, headers: all, cache: "no-store", redirect: "error", signal: AbortSignal.timeout(PATIENCE) });
  } catch {
    throw new Refused(0, "The server does not answer.");
  }
  const page = response.headers.get("X-Zonda-Page");
  isOlder = page !== null && page !== OWN;
  const told = await response.json().catch(() => null);
  if (!response.ok) {
    throw new Refused(response.status, told?.error ?? `The server says ${response.status}.`);
  }
  return { told, cut: response.headers.get("X-Zonda-Cut") };
}

// What is at a path of the API, for a view.
export function get(path) {
  return ask("GET", path, {});
}

// What the session is. Without a half there is none, which need not be asked.
export async function session() {
  if (kept() === null) {
    throw new Refused(401, "Nobody has signed in.");
  }
  return (await ask("GET", SESSION, {})).told;
}

// Begins a session with `X-API-Key` or `X-Zonda-Code`; one that there was ends with that.
export async function signIn(header, secret) {
  let headers;
  try {
    headers = new Headers([[header, secret]]);
  } catch {
    throw new Refused(401, "That is no key: there are characters in it that no key has.");
  }
  const { told: { half, ...told } } = await ask("POST", SESSION, headers);
  try {
    localStorage.setItem(HALF, half);
  } catch {
    throw new Refused(0, "This browser keeps nothing for this page: allow it to store data and cookies.");
  }
  return told;
}

// Ends the session. Whatever comes of it, it is none here any more.
export async function signOut() {
  try {
    await ask("DELETE", SESSION, {});
  } finally {
    forget();
  }
}
