// What is inside: the resolver with its cache, journals with stores and catalogs, and locks. Each as it was when it was asked for.

import { get } from "./api.js";
import { ask, lead, make, pairs, table } from "./dom.js";
import { cell, count, octets, rate, shown, time } from "./text.js";

const ROOT = "/api/zonda/v1";
// Lines that took a lock, of each.
const LOCKERS = 3;

// What is told by its names, as far as it is told.
function facts(told, names) {
  return pairs(names.filter(([name]) => told[name] !== undefined && told[name] !== null && told[name] !== "").map(([name, words, write = shown]) => [words, write(told[name])]));
}

function problems(list) {
  return list === undefined || list.length === 0 ? [] : [make("ul", {}, ...list.map((words) => make("li", { class: "wrong" }, cell(words))))];
}

// The resolver: its cache, or what it knows of a name.
export async function resolver(query) {
  const name = query.get("name") ?? "";
  const form = ask("name-of", "What is known of a name", name, "Show", (text) => {
    lead(text === "" ? "#/resolver" : `#/resolver?name=${encodeURIComponent(text)}`);
  });
  try {
    return ["Resolver", form, ...(name === "" ? await cache() : await known(name))];
  } catch (refused) {
    if (refused.status === 401) {
      throw refused;
    }
    return ["Resolver", ...(refused.status === 404 ? [] : [form]), make("p", { class: refused.status === 404 ? "quiet" : "wrong" }, refused.message)];
  }
}

// How long clients waited for what had to be found out: within which time half, nine in ten and 99 in a hundred had it.
function waits(held) {
  const all = held.waited.reduce((sum, range) => sum + range.answers, 0);
  const within = (percent) => {
    let counted = 0;
    const found = held.waited.find((range) => (counted += range.answers) >= (all * percent) / 100 && range.answers > 0);
    return `${percent} % ${found === undefined || found.ms === undefined ? "in more than 2 s" : `within ${count(found.ms)} ms`}`;
  };
  return all === 0 ? [] : [["waited for", `${count(all)} answers, ${rate(held.waited_ms / all)} ms each: ${[50, 90, 99].map(within).join(", ")}`]];
}

async function cache() {
  const { told: { status, cache: held } } = await get(`${ROOT}/resolver`);
  const all = held.hits + held.misses;
  const rows = [
    ["clients", status.clients.length === 0 ? "nobody may recurse" : status.clients.map(shown).join(", ")],
    ["validates", status.validates ? "yes" : "no"],
    ["network", status.is_network_out ? "no name server answers" : "name servers answer"],
    ["asked elsewhere", status.asks_elsewhere.length === 0 ? "nothing" : status.asks_elsewhere.map(shown).join(", ")],
    ["from the cache", all === 0 ? "nothing was asked" : `${((100 * held.hits) / all).toFixed(1)} % of ${count(all)}`],
    ...waits(held),
    ["entries", `${count(held.entries)}, ${octets(held.entry_octets)} of ${octets(held.octets)}`],
    ["left for room", `${count(held.evicted_unread)} that nobody asked for again, ${count(held.evicted)} others`],
  ];
  return [make("h2", {}, "Now"), pairs(rows)];
}

async function known(name) {
  const { told } = await get(`${ROOT}/resolver?name=${encodeURIComponent(name)}`);
  const left = (ttl) => (ttl === null ? "expired" : `${count(ttl)} s`);
  const entry = (one) => [shown(one.subject), shown(one.kind), shown(one.security), left(one.ttl), cell([...(one.extended_error === undefined ? [] : [one.extended_error]), ...one.records].join("; "))];
  const server = (one) => [cell(one.name === "" ? one.address : one.name), shown(one.address), cell(one.zone), one.rtt_us === 0 ? "-" : `${rate(one.rtt_us / 1000)} ms`, count(one.timeouts), one.marks.map(shown).join(", ")];
  return [
    make("h2", {}, "In the cache"),
    told.entries.length === 0 ? make("p", {}, "Nothing is kept of this name.") : table(`What is kept of ${cell(told.name)}`, ["what", "says", "security", "left", "records"], told.entries.map(entry)),
    make("h2", {}, "Who would be asked"),
    told.servers.length === 0 ? make("p", {}, "Nobody that is known.") : table("Servers of the deepest zone that is known", ["server", "address", "zone", "round trip", "time-outs", "marks"], told.servers.map(server)),
  ];
}

function store(one) {
  return [make("h2", {}, `Store ${cell(one.store)}`), ...problems(one.problems), facts(one, [
    ["state", "state"], ["url", "where", cell], ["schema", "tables"], ["zones", "zones", count], ["refused", "refused", count], ["waits", "waits", cell], ["last", "served last", cell], ["last_at", "at (UTC)", time], ["notify", "notified", cell],
  ])];
}

function catalog(one) {
  return [make("h2", {}, `Catalog ${cell(one.catalog)}`), ...problems(one.problems), facts(one, [
    ["state", "state"], ["serial", "serial"], ["members", "members", count], ["served", "served because of it", count], ["waits", "waits", cell], ["done", "done last", cell], ["done_at", "at (UTC)", time],
  ]), ...problems(one.clashes)];
}

// The log of changes: whether it takes them, and how long a disk takes for that.
function log(one) {
  const micros = (value) => `${rate(value / 1000)} ms`;
  const known = one.groups > 0 ? [["groups", "writes", count], ["records", "records", count], ["octets", "octets", octets], ["write_us", "a write takes", micros], ["write_us_max", "the longest took", micros]] : [];
  const files = one.segments_max > 0 ? [["files", `${count(one.segments)} of ${count(one.segments_max)}`]] : [];
  const waits = one.writing_seconds > 0 ? [["waits for the disk", `${count(one.writing_seconds)} s`]] : [];
  return [make("h2", {}, "Log of changes"), ...problems(one.problem === undefined ? [] : [one.problem]),
    pairs([["state", shown(one.state)], ["changes that wait", count(one.waiting)], ...waits, ...files]), ...(known.length === 0 ? [] : [facts(one, known)])];
}

function audit(one) {
  return [make("h2", {}, "Audit of the API"), ...(one === null ? [make("p", { class: "quiet" }, "There is none: [api] audit of the settings names no file.")] : [facts(one, [
    ["output", "where", cell], ["written", "lines written", count], ["lost", "lines lost", count], ["waiting_octets", "waits to be written", octets], ["failed", "could not be written", (times) => `${count(times)} times`],
  ])])];
}

// Logs, stores and catalogs, and what becomes of what is told of queries.
export async function journals() {
  const { told } = await get(`${ROOT}/journals`);
  const size = (one) => (one.name.endsWith("-octets") ? octets(one.count) : count(one.count));
  const counts = (list) => list.map((one) => [shown(one.name), size(one), shown(one.help)]);
  const columns = ["name", "count", "what it is"];
  return ["Journals", ...log(told.log), ...audit(told.audit), ...told.stores.flatMap(store), ...told.catalogs.flatMap(catalog),
    make("h2", {}, "Counts"), table("Of transfers, history and changes", columns, counts(told.counts)),
    ...(told.observed.length === 0 ? [make("p", { class: "quiet" }, "Neither dnstap nor a query log was told anything.")] : [table("Of dnstap and the query log", columns, counts(told.observed))])];
}

// What threads wait for.
export async function locks() {
  const { told } = await get(`${ROOT}/locks`);
  if (!told.on && told.all.locks.length === 0) {
    return ["Locks", make("p", {}, "The profiler is off, as it costs each lock some time. It is turned on at the server by ", make("code", {}, "zonda ctl locks --on"), ".")];
  }
  const seconds = (value) => (value === 0 ? "0" : value < 0.001 ? `${rate(value * 1e6)} µs` : value < 1 ? `${rate(value * 1000)} ms` : `${rate(value)} s`);
  const takers = (lock) => lock.lockers.slice(0, LOCKERS).map((one) => `${shown(one.file)}:${one.line}`).join(", ");
  const rows = told.all.locks.map((lock) => [cell(lock.name), count(lock.count), seconds(lock.waited_s), seconds(lock.held_s), takers(lock)]);
  return ["Locks", make("p", {}, `${told.on ? "Counted now" : "Counted until it was turned off"}, for ${rate(told.seconds)} s; ${count(told.threads)} workers waited ${seconds(told.workers.waited_s)} of them.`),
    rows.length === 0 ? make("p", {}, "No lock was taken.") : table("Those that were waited for longest first", ["lock", "taken", "waited", "held", "taken most at"], rows)];
}
