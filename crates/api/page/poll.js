// How the server is, asked again and again while somebody may see it: each 2 s for the view that shows it, else each 10 s for what
// is wrong. The next is asked for once the last was answered; a server that is gone is tried seldom, and what it said stays.

import { get } from "./api.js";

const NOW = "/api/zonda/v1/now";
const NEAR = 2_000;
const FAR = 10_000;
// So old what was told may be until it is said that it is.
const OLD = 5_000;
// Of a server that is gone the first pause, and the longest; it is twice as long each time.
const GONE = 1_000;
const GONE_MAX = 30_000;
// Lines of the log that are kept: as many as the server keeps.
const LINES = 128;

// Whom to tell; `null`: nobody asks.
let hear = null;
let isNear = false;
let timer;
// When it is said that what was told is old.
let oldTimer;
// Counts asks: what an older one brings is dropped.
let turn = 0;
let pause = GONE;
// What was told last: it, what was told before by the same process, and lines of the log.
let latest = null;

function take(told) {
  const isSame = latest !== null && latest.now.status.pid === told.status.pid;
  const fresh = new Set(told.lines.map((line) => `${line.level} ${line.message}`));
  const kept = isSame ? latest.lines.filter((line) => !fresh.has(`${line.level} ${line.message}`)) : [];
  latest = {
    now: told,
    before: isSame ? latest.now : null,
    lines: [...kept, ...told.lines].slice(-LINES),
  };
  // Of another process there may be more than its number says.
  return isSame || told.said === told.lines.length;
}

async function ask() {
  clearTimeout(timer);
  const own = ++turn;
  if (hear === null || document.visibilityState !== "visible") {
    return;
  }
  const said = latest?.now.said ?? 0;
  clearTimeout(oldTimer);
  oldTimer = setTimeout(() => hear?.(latest, null, true), OLD);
  let [fault, wait] = [null, null];
  try {
    const { told } = await get(said === 0 ? NOW : `${NOW}?said=${said}`);
    if (own !== turn) {
      return;
    }
    pause = GONE;
    clearTimeout(oldTimer);
    if (!take(told) && said !== 0) {
      latest = null;
      return ask();
    }
  } catch (refused) {
    if (own !== turn) {
      return;
    }
    fault = refused;
    if (refused.status === 0) {
      wait = pause;
      pause = Math.min(2 * pause, GONE_MAX);
    }
  }
  clearTimeout(oldTimer);
  timer = setTimeout(ask, wait ?? (isNear ? NEAR : FAR));
  hear(latest, fault, fault !== null);
}

// Begins: `act` is told what came last, why nothing newer did, and whether what came last is old.
export function beginPolls(act) {
  hear = act;
  latest = null;
  pause = GONE;
  ask();
}

export function endPolls() {
  hear = null;
  latest = null;
  turn += 1;
  clearTimeout(timer);
  clearTimeout(oldTimer);
}

// Whether all of it is looked at; what was told last.
export function look(isAll) {
  const isMore = isAll && !isNear;
  isNear = isAll;
  // Before the first answer it is being asked.
  if (isMore && hear !== null && latest !== null) {
    ask();
  }
  return latest;
}

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") {
    ask();
  }
});
