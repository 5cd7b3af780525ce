// Which view is shown, and to whom: who is signed in, for how long, and the ways into that and out of it.

import { forget, isOld, session, signOut, whenOthersSign } from "./api.js";
import { button, link, make, pairs, part, refresh, say, show } from "./dom.js";
import { asked } from "./asked.js";
import { beginKeys, closeKeys, showKeys } from "./keys.js";
import { journals, locks, resolver } from "./inside.js";
import { forgetHour, now, showNow } from "./now.js";
import { endPause } from "./pause.js";
import { beginPolls, endPolls, look as lookAtNow } from "./poll.js";
import { askForCode, showForm, takeCode } from "./signin.js";
import { count, shown, span } from "./text.js";
import { why } from "./why.js";
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
  warn(told);
  if (!isOther) {
    part("left")?.replaceChildren(span(told.left));
    return;
  }
  document.title = `${shown(told.server)} - Zonda`;
  part("name").textContent = shown(told.server);
  showWrong([]);
  endPolls();
  if (maySeeServer()) {
    beginPolls(hearOfServer);
  }
  part("who").replaceChildren(make("span", {}, who(told)), button("Sign out", leave));
  part("foot").replaceChildren(button("Keys", showKeys));
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
  return [shown(told.server), pairs(rows)];
}

function maySeeServer() {
  return current.verbs.includes("server");
}

// The view that is first.
function landing() {
  return maySeeServer() ? "/now" : "/session";
}

// What the address says: a path, and what stands behind `?`.
function place() {
  const [path, query] = location.hash.slice(1).split(/\?(.*)/s);
  return [path === "" || path === "/" ? landing() : path, new URLSearchParams(query ?? "")];
}

// The views that this session may have, and where they are.
function views() {
  return [
    ["/now", "Now", "server"],
    ["/asked", "Asked", "observe"],
    ["/zones", "Zones", "read"],
    ["/why", "Why", "read"],
    ["/resolver", "Resolver", "observe"],
    ["/journals", "Journals", "server"],
    ["/locks", "Locks", "server"],
    ["/session", "Session", null],
  ].filter(([, , verb]) => verb === null || current.verbs.includes(verb));
}

function showNav() {
  const [path] = place();
  part("nav").replaceChildren(...views().map(([route, name]) =>
    link(name, `#${route}`, path === route || path.startsWith(`${route}/`) ? { "aria-current": "page" } : {})));
}

// Says above each view that something is wrong, or that nobody knows: once as long as it is the same.
function showWrong(words) {
  refresh(part("wrong"), ...words);
}

// Takes how the server is. `fault`: why that is not known now; `isLate`: it is what was said before.
function hearOfServer(latest, fault, isLate) {
  if (current === null) {
    return;
  }
  if (fault?.status === 401) {
    look();
    return;
  }
  part("main").classList.toggle("old", isLate);
  const number = latest?.now.wrong.length ?? 0;
  document.title = `${number === 0 ? "" : `(${number}) `}${shown(current.server)} - Zonda`;
  if (isLate) {
    const words = fault === null || fault.status === 0 ? "The server does not answer." : shown(fault.message);
    showWrong([`${words} What stands here is what it said last.`]);
  } else {
    showWrong(number === 0 ? [] : [link(number === 1 ? "Something is wrong" : `${count(number)} things are wrong`, "#/now", { class: "wrong" })]);
  }
  if (latest !== null && !isLate) {
    showNow(latest);
  }
}

// What the address says: a heading, and what stands below it. What is for others is the session's.
async function view() {
  const [path, query] = place();
  const known = views().map(([route]) => route);
  const route = known.find((one) => path === one || path.startsWith(`${one}/`));
  lookAtNow(route === "/now");
  switch (route) {
    case "/now": return now(() => lookAtNow(true));
    case "/asked": return asked();
    case "/zones": return ofZones(path, query);
    case "/why": return why(query, current.verbs.includes("observe"));
    case "/resolver": return resolver(query);
    case "/journals": return journals();
    case "/locks": return locks();
    default: return ofSession();
  }
}

async function ofZones(path, query) {
  const one = /^\/zones\/([^/]+)$/.exec(path);
  try {
    return path === "/zones" ? await zones(query) : one === null ? ofSession() : await zone(decodeURIComponent(one[1]), query);
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
    if (fault.status === undefined) {
      throw fault;
    }
    if (fault.status === 401) {
      await look();
    } else if (own === turn) {
      show("Not now", make("p", { class: "wrong" }, fault.message), button("Try again", go));
    }
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
  part("foot").replaceChildren();
  closeKeys();
  part("main").classList.remove("old");
  endPolls();
  endPause();
  forgetHour();
  showWrong([]);
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
beginKeys(() => (current === null ? [] : views().map(([route]) => route)), go);
begin();
