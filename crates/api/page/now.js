// The server now: what is wrong first, then rates, what was lost, the last hour, workers, zones, memory and what the log said lately. Drawn anew with
// each answer, so that nothing of it acts but links.

import { get } from "./api.js";
import { chart } from "./chart.js";
import { columns, make, pairs, part, refresh, table } from "./dom.js";
import { pauseButton, paused } from "./pause.js";
import { cell, count, octets, rate, shown, span, time } from "./text.js";

const HOUR = "/api/zonda/v1/hour";
// How often the last hour is asked for; fewer spans are drawn as if there were so many, so that the first ones are seen.
const HOUR_PAUSE = 60_000;
const SPANS_MIN = 36;
// Types that are shown: there are up to 72.
const TYPES = 12;
// Counts of what was lost or refused, in the order in which they are worth looking at.
const LOST = [
  "udp-receive-overflows", "udp-send-overflows", "udp-send-failures", "udp-truncated", "queries-lost", "service-panics", "tcp-limit-all", "tcp-limit-prefix",
  "tcp-memory-closed", "tcp-exhausted", "later-refused", "later-overflowed", "later-expired", "streams-refused", "streams-too-slow",
];

// The last hour, and when it was asked for.
let hour = null;
let hourAt = -Infinity;

async function askForHour() {
  if (performance.now() - hourAt < HOUR_PAUSE) {
    return;
  }
  hourAt = performance.now();
  try {
    hour = (await get(HOUR)).told;
  } catch {
    // What is wrong is said of the other ask. It is tried again in a minute.
  }
}

// What is shown of nobody's.
export function forgetHour() {
  hour = null;
  hourAt = -Infinity;
}

function counted(list, name) {
  return list.find((one) => one.name === name)?.count ?? 0;
}

// How much more each count of a list is than before, a second; `null`: not known yet.
function rates(latest, listOf) {
  const { now, before } = latest;
  const seconds = before === null ? 0 : now.counts.clock_seconds - before.counts.clock_seconds;
  return listOf(now.counts).map((one) => ({
    ...one,
    rate: seconds > 0 ? Math.max(0, one.count - counted(listOf(before.counts), one.name)) / seconds : null,
  }));
}

function perSecond(value) {
  return value === null ? "…" : rate(value);
}

function ofRates(caption, what, list) {
  return table(caption, [what, "a second", "since the start"], list.map((one) => [shown(one.name), perSecond(one.rate), count(one.count)]), "numbers");
}

function wrong(now) {
  if (now.wrong.length === 0) {
    return make("div", {}, make("p", {}, "Nothing is wrong that the server knows of."));
  }
  const line = (one) => make("li", {}, make("span", { class: "wrong" }, cell(one.words)), make("span", { class: "quiet" }, ` since ${time(one.since)}`));
  return make("div", {}, make("h2", {}, "What is wrong"), make("ul", {}, ...now.wrong.map(line)));
}

function facts({ status, now }) {
  const rows = [
    ["Server", `version ${shown(status.version)}, process ${status.pid}, up ${span(status.uptime_seconds)}`],
    ["Its clock (UTC)", time(now)],
    ["Listens on", status.listen.map(shown).join(", ")],
  ];
  if (typeof status.settings === "string") {
    rows.push(["Settings", cell(status.settings)]);
  }
  if (status.reload !== undefined) {
    rows.push(["Last reload", `${time(status.reload.at)}: ${status.reload.refused ? "refused, what was before is in force" : cell(status.reload.summary)}`]);
  }
  return pairs(rows);
}

function lost(latest) {
  const all = rates(latest, (counts) => [...counts.transport.filter((one) => LOST.includes(one.name)), ...counts.limited]);
  const some = all.filter((one) => one.count > 0);
  const place = (one) => (LOST.includes(one.name) ? LOST.indexOf(one.name) : LOST.length);
  some.sort((one, other) => place(one) - place(other));
  return some.length === 0 ? make("p", {}, "Nothing was, since the start.") : ofRates("Dropped, refused and limited", "what", some);
}

function hourName() {
  const minutes = hour === null ? 60 : Math.round((hour.series[0].values.length * hour.every) / 60);
  return minutes >= 60 ? "The last hour" : minutes < 2 ? "The first minute" : `The last ${minutes} minutes`;
}

function charts() {
  if (hour === null || hour.series[0].values.length === 0) {
    return [make("p", { class: "quiet" }, "Nothing is known of it yet: the first ten seconds are not over.")];
  }
  const line = (name, words) => {
    const series = hour.series.find((one) => one.name === name);
    const each = (value) => (value === null || !series.counts ? value : value / hour.every);
    return { name: words, values: (series?.values ?? []).map(each) };
  };
  const spans = hour.series[0].values.length;
  const draw = (name, lines, write) => chart(name, lines, write, Math.max(spans, SPANS_MIN));
  return [columns(
    draw("Queries a second", [line("udp-queries", "over UDP"), line("tcp-queries", "over TCP")], rate),
    draw("Responses a second", [line("noerror", "NOERROR"), line("nxdomain", "NXDOMAIN"), line("servfail", "SERVFAIL"), line("other-responses", "others")], rate),
    draw("Datagrams dropped a second", [line("dropped", "as a buffer was full")], rate),
    draw("Memory", [line("resident-octets", "resident")], octets),
  )];
}

function workers(latest) {
  const { now, before } = latest;
  const seconds = before === null ? 0 : now.counts.clock_seconds - before.counts.clock_seconds;
  const row = (worker, number) => {
    const old = before?.counts.workers[number];
    const came = (name) => (seconds > 0 && old !== undefined ? Math.max(0, worker[name] - old[name]) : null);
    const [queries, datagrams, batches] = [came("queries"), came("udp_queries"), came("udp_batches")];
    return [
      String(number + 1),
      queries === null ? "…" : rate(queries / seconds),
      batches === null ? "…" : batches === 0 ? "-" : (datagrams / batches).toFixed(1),
      count(worker.udp_receive_overflows),
      count(worker.tcp_open),
    ];
  };
  return table("Workers; who is behind takes 64 datagrams a call", ["worker", "queries a second", "datagrams a call", "dropped", "TCP open"], now.counts.workers.map(row), "numbers");
}

function zones({ status, counts }) {
  const rows = counts.zones.map((one) => [shown(one.name), count(one.count)]);
  rows.push(["records", count(status.records)], ["packs", `${count(status.packs)}, ${octets(status.pack_octets)}`]);
  for (const [name, value] of [["with errors", status.zones_with_errors], ["with warnings", status.zones_with_warnings], ["with expired signatures", status.zones_expired]]) {
    if (value > 0) {
      rows.push([name, count(value)]);
    }
  }
  if (status.next_expiry !== undefined) {
    rows.push(["signatures expire next", `${cell(status.next_expiry.zone)}, ${time(status.next_expiry.expires)}`]);
  }
  return pairs(rows);
}

function memory({ counts }) {
  const known = counts.memory.reduce((sum, one) => sum + one.count, 0);
  const rows = counts.memory.map((one) => [shown(one.name), octets(one.count)]);
  if (counts.resident_octets !== undefined) {
    rows.push(["packs in memory, the program, and the rest", octets(Math.max(0, counts.resident_octets - known))], ["resident", octets(counts.resident_octets)]);
  }
  return pairs(rows);
}

function lines(latest) {
  const { log } = latest.now.status;
  const all = `${count(log.errors)} errors and ${count(log.warnings)} warnings since the start`;
  if (latest.lines.length === 0) {
    return make("p", {}, `${all}.`);
  }
  const row = (line) => [time(line.last_at), shown(line.level), count(line.count), cell(line.message)];
  return table(`${all}; of those that are kept the last first`, ["when (UTC)", "level", "times", "message"], latest.lines.toReversed().map(row));
}

function contents(latest) {
  const { now } = latest;
  const types = rates(latest, (counts) => counts.types).sort((one, other) => other.count - one.count).slice(0, TYPES);
  const responses = rates(latest, (counts) => counts.rcodes);
  const titled = (name, ...children) => make("div", {}, make("h2", {}, name), ...children);
  return [
    wrong(now),
    make("h2", {}, hourName()), make("div", {}, ...charts()),
    make("h2", {}, "Queries and responses"),
    columns(
      ofRates("Queries by how they come", "how", rates(latest, (counts) => counts.queries)),
      ofRates("Responses by code", "code", responses),
      ofRates("Queries by type, those that are asked for most", "type", types),
    ),
    columns(titled("What was lost", lost(latest)), titled("Workers", workers(latest))),
    columns(titled("Zones", zones(now)), titled("Memory", memory(now)), titled("The server", facts(now))),
    make("h2", {}, "The log"), lines(latest),
  ];
}

// The view, as far as something is known once it is shown.
export async function now(latestOf) {
  await askForHour();
  const latest = latestOf();
  return ["Now", pauseButton(), make("div", { id: "now" }, ...(latest === null ? [make("p", { class: "quiet" }, "Asking the server …")] : contents(latest)))];
}

// Brings the view up to date, if it is there.
export async function showNow(latest) {
  await askForHour();
  const view = part("now");
  // What was never there is not paused.
  if (view !== null && !(paused() && view.querySelector("h2") !== null)) {
    refresh(view, ...contents(latest));
  }
}
