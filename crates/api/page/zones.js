// Zones: a page of them, those that a word is part of, and one with its versions and the records of a name. Views are given as
// heading and elements, and shown by who knows whether they are still wanted.

import { get } from "./api.js";
import { ask, lead, link, make, pairs, table } from "./dom.js";
import { cell, count, shown, time } from "./text.js";

const LISTS = "/api/zonda/v1/zones";
const SERVER = "/api/v1/servers/localhost";
// Rows of a page, and of what was found: a screen is forty.
const ROWS = 100;
// Versions that are shown: more are asked for by scripts.
const VERSIONS = 50;

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
    rows = word === "" ? await page(query.get("after")) : await found(word);
  } catch (refused) {
    if (refused.status === 401) {
      throw refused;
    }
    rows = refused.status === 410
      ? [make("p", {}, "The server was started since: this list begins anew."), link("Begin", "#/zones")]
      : [words(refused)];
  }
  return ["Zones", search(word), ...rows];
}

async function page(after) {
  const cursor = after === null ? "" : `&after=${encodeURIComponent(after)}`;
  const { told } = await get(`${LISTS}?limit=${ROWS}${cursor}`);
  const rows = told.zones.map((zone) => [
    link(cell(zone.name), place(zone.id)),
    String(zone.serial),
    KINDS[zone.kind] ?? shown(zone.kind),
    zone.dnssec ? "signed" : "",
  ]);
  const next = told.next === null ? [] : [make("p", {}, link("Next page", `#/zones?after=${encodeURIComponent(told.next)}`))];
  const first = after === null ? [] : [make("p", {}, link("First page", "#/zones"))];
  if (rows.length === 0) {
    return [make("p", {}, next.length === 0 ? "No zones that you may see." : "None on this page."), ...next, ...first];
  }
  return [table("Zones, in no order of their names", ["name", "serial", "data", "DNSSEC"], rows), ...next, ...first];
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
  const owner = query.get("name") ?? told.name;
  const facts = [
    ["Serial", String(told.serial)],
    ["Data", KINDS[told.kind] ?? shown(told.kind)],
    ["DNSSEC", told.dnssec ? "signed" : "not signed"],
    ...(told.account === "" ? [] : [["Account", cell(told.account)]]),
  ];
  const form = ask("owner", "Records of", owner, "Show", (text) => {
    lead(text === "" ? place(id) : `${place(id)}?name=${encodeURIComponent(text)}`);
  });
  const [records, versions, standing] = await Promise.all([recordsOf(path, owner), versionsOf(id), standingOf(id)]);
  return [cell(told.name),
    pairs(facts), ...standing,
    make("h2", {}, "Records"), form, records,
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

async function recordsOf(path, owner) {
  try {
    const { told } = await get(`${path}?rrset_name=${encodeURIComponent(owner)}`);
    const rows = told.rrsets.flatMap((set) => set.records.map((record) => [cell(set.name), shown(set.type), String(set.ttl), cell(record.content)]));
    return rows.length === 0 ? make("p", {}, "No records are at this name.") : table(`Records of ${cell(owner)}`, ["name", "type", "TTL", "content"], rows);
  } catch (refused) {
    if (refused.status === 401) {
      throw refused;
    }
    return words(refused);
  }
}

async function versionsOf(id) {
  try {
    const { told } = await get(`${LISTS}/${encodeURIComponent(id)}/history`);
    if (told.length === 0) {
      return make("p", {}, "None is kept but the one that is served.");
    }
    const rows = told.slice(0, VERSIONS).map((version) => [
      String(version["new-serial"]), String(version["old-serial"]), time(version.time), count(version.octets),
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
