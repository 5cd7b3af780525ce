// Which view is shown, and to whom: who is signed in, for how long, and the ways into that and out of it.

import { forget, isOld, session, signOut, whenOthersSign } from "./api.js";
import { button, link, make, part, say, show } from "./dom.js";
import { askForCode, showForm, takeCode } from "./signin.js";
import { shown } from "./text.js";
import { zone, zones } from "./zones.js";

// How often it is asked whether the session is still there, while somebody may look, in milliseconds.
const PAUSE = 20_000;
// So many seconds before its end that is said.
const WARNING = 60;

// What each verb shows.
const VERBS = {
  read: "zones and their records",
  explain: "why the server answers as it does",
  observe: "what others ask",
  server: "how the server is",
};

// The session that is shown; `null`: there is none.
let current = null;
// Whether the end is being told.
let isWarned = false;
// Counts views: the last one that was asked for is shown.
let turn = 0;

function who(told) {
  return told.operator === true ? "the operator" : `key ${shown(told.key)}`;
}

// Seconds as people say them.
function span(seconds) {
  const minutes = Math.round(seconds / 60);
  if (minutes < 2) {
    return "a minute";
  }
  return minutes < 120 ? `${minutes} minutes` : minutes < 2880 ? `${Math.round(minutes / 60)} hours` : `${Math.round(minutes / 1440)} days`;
}

function stay() {
  return button("Stay", look);
}

// Says what is to be known of the session's time, and of a page that is older than its server.
function warn(told) {
  const left = Math.min(told.idle, told.left);
  if (left <= WARNING) {
    isWarned = true;
    say(...(told.left <= WARNING ? ["The session ends in a minute."] : ["Nobody has done anything for long: the session ends in a minute.", stay()]));
  } else if (isOld()) {
    say("The server is of another version than this page.", button("Load it anew", () => location.reload()));
  } else if (isWarned) {
    isWarned = false;
    say();
  }
}

// Takes what the session is: the view stays as it is where that is the same as before.
function takeSession(told) {
  const isOther = current === null || who(current) !== who(told);
  current = told;
  document.title = `${shown(told.server)} - Zonda`;
  warn(told);
  if (!isOther) {
    part("left")?.replaceChildren(span(told.left));
    return;
  }
  part("name").textContent = shown(told.server);
  part("who").replaceChildren(make("span", {}, who(told)), button("Sign out", leave));
  go();
}

function ofSession() {
  const told = current;
  const rows = [["Signed in as", who(told)], ["For another", make("span", { id: "left" }, span(told.left))]];
  for (const verb of told.verbs) {
    if (Object.hasOwn(VERBS, verb)) {
      rows.push([verb, VERBS[verb]]);
    }
  }
  return [shown(told.server), make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]))];
}

// The views that this session may have, where they are, and which of them an address is of.
function views() {
  const all = [["#/", "Session", /^#?\/?$/]];
  if (current.verbs.includes("read")) {
    all.push(["#/zones", "Zones", /^#\/zones(?:[/?]|$)/]);
  }
  return all;
}

function showNav() {
  part("nav").replaceChildren(...views().map(([route, name, fits]) =>
    link(name, route, fits.test(location.hash) ? { "aria-current": "page" } : {})));
}

// What the address says: a heading, and what stands below it.
async function view() {
  const [path, query] = location.hash.slice(1).split(/\?(.*)/s);
  const asked = new URLSearchParams(query ?? "");
  const one = /^\/zones\/([^/]+)$/.exec(path);
  if (!current.verbs.includes("read")) {
    return ofSession();
  }
  try {
    return path === "/zones" ? await zones(asked) : one === null ? ofSession() : await zone(decodeURIComponent(one[1]), asked);
  } catch (fault) {
    if (fault instanceof URIError) {
      return ofSession();
    }
    throw fault;
  }
}

// Shows that, if nobody went elsewhere or signed out meanwhile.
async function go() {
  showNav();
  const [own, of] = [++turn, current];
  try {
    const [heading, ...children] = await view();
    if (own === turn && current !== null && who(current) === who(of)) {
      show(heading, ...children);
    }
  } catch (fault) {
    if (fault.status !== 401) {
      throw fault;
    }
    await look();
  }
}

// Empties the page of all that a session has shown.
function showNobody(...words) {
  current = null;
  turn += 1;
  isWarned = false;
  document.title = "Zonda";
  part("name").textContent = "Zonda";
  part("who").replaceChildren();
  part("nav").replaceChildren();
  say(...words);
  showForm(begun);
}

function begun(told) {
  say();
  current = null;
  takeSession(told);
}

async function leave() {
  try {
    await signOut();
    showNobody("Signed out.");
  } catch (refused) {
    showNobody(refused.status === 401 ? "Signed out." : "Signed out here; the server did not hear of it, and ends the session when nobody uses it.");
  }
}

// Asks what the session is, and shows that.
async function look() {
  try {
    takeSession(await session());
  } catch (refused) {
    if (refused.status === 401) {
      const was = current;
      forget();
      if (was !== null || part("key") === null) {
        showNobody(...(was === null ? [] : ["The session is over."]));
      }
    } else if (current !== null) {
      say(refused.message);
      isWarned = true;
    } else {
      show("Zonda", make("p", { class: "wrong" }, refused.message), button("Try again", look));
    }
  }
}

async function begin() {
  const code = takeCode();
  if (code === null) {
    return look();
  }
  const told = await session().catch(() => null);
  current = null;
  askForCode(code, told === null ? null : who(told), begun, () => {
    say();
    look();
  });
}

setInterval(() => {
  if (current !== null && document.visibilityState === "visible") {
    look();
  }
}, PAUSE);
document.addEventListener("visibilitychange", () => {
  if (current !== null && document.visibilityState === "visible") {
    look();
  }
});
// What stood there is shown from memory by nobody's going back.
addEventListener("pageshow", (event) => {
  if (event.persisted) {
    look();
  }
});
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#in=")) {
    begin();
  } else if (current !== null) {
    go();
  }
});
whenOthersSign(look);
begin();
