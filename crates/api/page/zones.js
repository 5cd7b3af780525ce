// Zones: a page of them, those that a word is part of, and one with its versions and its records, by pages or of a name. Views are given as
// heading and elements, and shown by who knows whether they are still wanted.

import { get } from "./api.js";
import { ask, lead, link, make, pairs, table } from "./dom.js";
import { cell, count, shown, time } from "./text.js";

const LISTS = "/api/zonda/v1/zones";
const SERVER = "/api/v1/servers/localhost";
// Rows of a page, and of what was found: a screen is forty.
const ROWS = 100;
// Versions that are shown, and RRsets of a page, also of those that have changed since a version.
const VERSIONS = 50;
const SETS = 200;
// From one zone that is asked for in a list to the next, in milliseconds: half of what a session may ask is left for who looks.
const PACE = 250;

// How zones stand, and what it is called.
const STATES = [["", "all"], ["served", "served"], ["stale", "older than they should be"], ["absent", "without data"]];

const KINDS = { Native: "its own", Master: "its own", Slave: "from a primary" };

// Where a zone is shown.
function place(id) {
  return `#/zones/${encodeURIComponent(id)}`;
}

function words(refused) {
  return make("p", { class: "wrong" }, refused.message);
}

function search(word) {
  return ask("word", "A name, or a part of one", word, "Search", (text) => {
    lead(text === "" ? "#/zones" : `#/zones?q=${encodeURIComponent(text)}`);
  });
}

// Zones: of a word those that it is part of, else a page of all, behind `after`.
export async function zones(query) {
  const word = query.get("q") ?? "";
  let rows;
  try {
    rows = word === "" ? await page(query.get("state") ?? "", query.get("after")) : await found(word);
  } catch (refused) {
    if (refused.status === 401) {
      throw refused;
    }
    rows = refused.status === 410
      ? [make("p", {}, "The server was started since: this list begins anew."), link("Begin", list(query.get("state") ?? ""))]
      : [words(refused)];
  }
  return ["Zones", search(word), ...rows];
}

// Where zones are listed that stand so, behind `after`.
function list(state, after = null) {
  const wanted = new URLSearchParams([["state", state], ["after", after ?? ""]].filter(([, value]) => value !== ""));
  return wanted.size === 0 ? "#/zones" : `#/zones?${wanted}`;
}

// Which of them are listed.
function choice(state) {
  return make("nav", { class: "choice", "aria-label": "Which zones" }, ...STATES.map(([one, words]) => link(words, list(one), one === state ? { "aria-current": "true" } : {})));
}

async function page(state, after) {
  const [wanted, cursor] = [["state", state], ["after", after ?? ""]].map(([name, value]) => (value === "" ? "" : `&${name}=${encodeURIComponent(value)}`));
  const { told } = await get(`${LISTS}?limit=${ROWS}${wanted}${cursor}`);
  const troubled = [];
  const rows = told.zones.map((zone) => {
    const stands = zone.state === "served" ? "served" : make("span", { class: "wrong" }, shown(zone.state));
    if (zone.state !== "served") {
      troubled.push([zone, stands]);
    }
    return [link(cell(zone.name), place(zone.id)), String(zone.serial), KINDS[zone.kind] ?? shown(zone.kind), zone.dnssec ? "signed" : "", stands];
  });
  // Once they are shown.
  setTimeout(() => tellWhy(troubled), 0);
  const next = told.next === null ? [] : [make("p", {}, link("Next page", list(state, told.next), { class: "next" }))];
  const first = after === null ? [] : [make("p", {}, link("First page", list(state), { class: "first" }))];
  if (rows.length === 0) {
    return [choice(state), make("p", {}, next.length > 0 ? "None on this page." : state === "" ? "No zones that you may see." : "No zone that you may see stands so."), ...next, ...first];
  }
  return [choice(state), table("Zones, in no order of their names", ["name", "serial", "data", "DNSSEC", "state"], rows), ...next, ...first];
}

// Says of each zone that is not as it should be why, one after the other as long as the list is shown.
async function tellWhy(troubled) {
  for (const [zone, stands] of troubled) {
    if (!stands.isConnected) {
      return;
    }
    try {
      const { told } = await get(`${LISTS}/${encodeURIComponent(zone.id)}`);
      const why = told.secondary ?? told.fault ?? told.problems?.[0];
      if (why !== undefined) {
        stands.textContent = `${shown(zone.state)}: ${cell(why)}`;
      }
      await new Promise((done) => { setTimeout(done, PACE); });
    } catch (refused) {
      if (refused.status !== 404) {
        return;
      }
    }
  }
}

async function found(word) {
  const pattern = /[*?]/.test(word) ? word : `*${word}*`;
  const asked = `${SERVER}/search-data?q=${encodeURIComponent(pattern)}&max=${ROWS}&object_type=zone`;
  const { told, cut } = await get(asked);
  const rows = told.map((zone) => [link(cell(zone.name), place(zone.zone_id))]);
  const why = cut === "time" ? "Not all names were looked at in time." : cut === "size" || rows.length === ROWS ? `There may be more than these ${rows.length}.` : "";
  if (rows.length === 0) {
    return [make("p", {}, why === "" ? "No name has that in it." : why)];
  }
  return [table("Zones that have it in their names", ["name"], rows), ...(why === "" ? [] : [make("p", { class: "quiet" }, why)])];
}

// One zone.
export async function zone(id, query) {
  const path = `${SERVER}/zones/${encodeURIComponent(id)}`;
  let told;
  try {
    told = (await get(`${path}?rrsets=false`)).told;
  } catch (refused) {
    if (refused.status === 401) {
      throw refused;
    }
    return ["Zone", words(refused), make("p", {}, link("All zones", "#/zones"))];
  }
  const owner = query.get("name") ?? "";
  const facts = [
    ["Serial", String(told.serial)],
    ["Data", KINDS[told.kind] ?? shown(told.kind)],
    ["DNSSEC", told.dnssec ? "signed" : "not signed"],
    ...(told.account === "" ? [] : [["Account", cell(told.account)]]),
  ];
  const form = ask("owner", "Records of", owner, "Show", (text) => {
    lead(text === "" ? place(id) : `${place(id)}?name=${encodeURIComponent(text)}`);
  });
  const [records, versions, standing, since] = await Promise.all([owner === "" ? pageOf(id, query.get("after")) : recordsOf(path, owner), versionsOf(id), standingOf(id), sinceOf(id, query.get("since"))]);
  return [cell(told.name),
    pairs(facts), ...standing,
    ...since,
    make("h2", {}, "Records"), form, ...records,
    make("h2", {}, "Versions"), versions,
    make("p", {}, link("All zones", "#/zones"))];
}

// How it stands, in words: what is not told to this key is left out.
async function standingOf(id) {
  try {
    const { told } = await get(`${LISTS}/${encodeURIComponent(id)}`);
    const rows = [
      ["State", told.state],
      ["Records", `${count(told.records)} of ${count(told.names)} names`],
      ["Signed", told.signed ?? null],
      ["Signatures expire", told.expires === undefined ? null : `${time(told.expires)}${told.expired ? ", which is over" : ""}`],
      ["Transfer", told.secondary ?? null],
      ["Comes from", told.source === "" ? null : told.source],
      ["Store", told.of_store ?? null],
      ["Catalog", told.member_of ?? null],
      ["Made by key", told.made_by ?? null],
      ["Changed since its text", told.changes === undefined ? null : `${count(told.changes.versions)} versions`],
      ["Frozen", told.frozen === true ? "its text is being edited: it takes no updates" : null],
    ];
    const wrong = [...(told.fault === undefined ? [] : [told.fault]), ...(told.problems ?? []), ...(told.store ?? []), ...(told.findings ?? [])];
    const others = (told.notices ?? []).length;
    if (others > 0) {
      rows.push(["Told of it", `${count(others)} others`]);
    }
    return [make("h2", {}, "How it stands"), pairs(rows.filter(([, value]) => value !== null).map(([name, value]) => [name, cell(value)])),
      ...(wrong.length === 0 ? [] : [make("ul", {}, ...wrong.map((line) => make("li", { class: "wrong" }, cell(line))))])];
  } catch (refused) {
    if (refused.status === 401) {
      throw refused;
    }
    return [words(refused)];
  }
}

function records(caption, rrsets) {
  const rows = rrsets.flatMap((set) => set.records.map((record) => [cell(set.name), shown(set.type), String(set.ttl), cell(record.content)]));
  return table(caption, ["name", "type", "TTL", "content"], rows);
}

async function recordsOf(path, owner) {
  try {
    const { told: { rrsets } } = await get(`${path}?rrset_name=${encodeURIComponent(owner)}`);
    return [rrsets.length === 0 ? make("p", {}, "No records are at this name.") : records(`Records of ${cell(owner)}`, rrsets)];
  } catch (refused) {
    if (refused.status === 401) {
      throw refused;
    }
    return [words(refused)];
  }
}

// A page of all records, behind a name.
async function pageOf(id, after) {
  try {
    const from = after === null ? "" : `&after=${encodeURIComponent(after)}`;
    const { told: { rrsets, next } } = await get(`${LISTS}/${encodeURIComponent(id)}/rrsets?limit=${SETS}${from}`);
    const first = after === null ? [] : [make("p", {}, link("First page", place(id), { class: "first" }))];
    const goesOn = next === null ? [] : [make("p", {}, link("Next page", `${place(id)}?after=${encodeURIComponent(next)}`, { class: "next" }))];
    if (rrsets.length === 0) {
      const none = after === null ? "No records." : "No records are behind that name.";
      return [make("p", {}, next === null ? none : `None but signatures and denials up to ${cell(next)}.`), ...goesOn, ...first];
    }
    return [records(after === null ? "All records but signatures and denials, in canonical order" : `Records behind ${cell(after)}`, rrsets), ...goesOn, ...first];
  } catch (refused) {
    if (refused.status === 401) {
      throw refused;
    }
    return [words(refused)];
  }
}

// RRsets that are otherwise than in a version, as they were then.
async function sinceOf(id, serial) {
  if (serial === null) {
    return [];
  }
  const heading = make("h2", {}, `Changed since serial ${shown(serial)}`);
  try {
    const { told: { rrsets } } = await get(`${LISTS}/${encodeURIComponent(id)}/history/${encodeURIComponent(serial)}/undo`);
    if (rrsets.length === 0) {
      return [heading, make("p", {}, "Nothing but the serial, or what signs and denies.")];
    }
    const was = (set) => (set.changetype === "DELETE" ? ["", "not there"] : [String(set.ttl), make("div", {}, ...set.records.map((record) => make("div", {}, cell(record.content))))]);
    const rows = rrsets.slice(0, SETS).map((set) => [
      link(cell(set.name), `${place(id)}?name=${encodeURIComponent(set.name)}`), shown(set.type), ...was(set),
    ]);
    const caption = rrsets.length > SETS ? `The first ${SETS} of ${count(rrsets.length)} RRsets, as they were then` : "RRsets as they were then; each name leads to what is there now";
    return [heading, table(caption, ["name", "type", "TTL then", "content then"], rows)];
  } catch (refused) {
    if (refused.status === 401) {
      throw refused;
    }
    return [heading, words(refused)];
  }
}

async function versionsOf(id) {
  try {
    const { told } = await get(`${LISTS}/${encodeURIComponent(id)}/history`);
    if (told.length === 0) {
      return make("p", {}, "None is kept but the one that is served.");
    }
    const before = (serial) => link(String(serial), `${place(id)}?since=${serial}`, { "aria-label": `${serial}: what has changed since` });
    const rows = told.slice(0, VERSIONS).map((version) => [
      String(version["new-serial"]), before(version["old-serial"]), time(version.time), count(version.octets),
    ]);
    const caption = told.length > VERSIONS ? `The newest ${VERSIONS} of ${count(told.length)}` : "Newest first";
    return table(caption, ["serial", "before", "since (UTC)", "octets"], rows);
  } catch (refused) {
    if (refused.status === 401) {
      throw refused;
    }
    return words(refused);
  }
}
