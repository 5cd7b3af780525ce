// Who asks for what, of samples that the server takes while somebody looks at this.

import { get } from "./api.js";
import { columns, make, part, refresh, table } from "./dom.js";
import { pauseButton, paused } from "./pause.js";
import { cell, count, rate } from "./text.js";

const ASKED = "/api/zonda/v1/asked";
// How often it is asked for: what is counted fades by half in ten seconds.
const PAUSE = 2_000;
// Rows of each table: a screen is forty.
const ROWS = 20;

const LISTS = [
  ["names", "Names"],
  ["missing", "Names above those that do not exist"],
  ["failed", "Names that got SERVFAIL"],
  ["clients", "Clients: addresses of IPv4, networks of IPv6"],
  ["zones", "Zones of this server"],
];

function list(told, [name, caption]) {
  const { sum, most } = told[name];
  if (most.length === 0) {
    return make("p", {}, `${caption}: none.`);
  }
  // More of it than is sure, where others had its place before.
  const row = (one) => [cell(one.key), sum > 0 ? `${((100 * one.count) / sum).toFixed(1)} %` : "-", one.error > 0 ? `${rate(one.count - one.error)} to ${rate(one.count)}` : rate(one.count)];
  return table(caption, ["what", "of all", "samples, faded"], most.slice(0, ROWS).map(row), "numbers");
}

function took(told) {
  const time = (one) => (one.microseconds === undefined || one.microseconds === null ? "more than 50 ms" : `${rate(one.microseconds)} µs`);
  if (told.took.answers === 0) {
    return make("p", {}, "No answer was timed yet.");
  }
  return table("In the server, from the taking of a batch to its responses; what a query waited in the socket is not in it", ["of a hundred", "at most"],
    told.took.percentiles.map((one) => [String(one.percent), time(one)]), "numbers");
}

function contents(told) {
  const since = told.samples === 0 ? "Nothing was asked since somebody looks." : `${count(told.samples)} samples in ${rate(told.seconds)} s, one query in ${count(told.one_in)}; what is older than some ten seconds has faded.`;
  return [make("p", { class: "quiet" }, since), columns(...LISTS.map((one) => list(told, one))), make("h2", {}, "How long answers take"), took(told)];
}

// Asks again for this view, as long as it is there.
async function again(view) {
  if (part("asked") !== view) {
    return;
  }
  if (document.visibilityState === "visible" && !paused()) {
    try {
      refresh(view, ...contents((await get(ASKED)).told));
    } catch (refused) {
      if (refused.status === 401) {
        return;
      }
      // What it said last stays; that it is gone is said above.
    }
  }
  setTimeout(() => again(view), PAUSE);
}

// The view; it is brought up to date as long as it is there.
export async function asked() {
  const { told } = await get(ASKED);
  const view = make("div", { id: "asked" }, ...contents(told));
  setTimeout(() => again(view), PAUSE);
  return ["Asked", pauseButton(), view];
}
