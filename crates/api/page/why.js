// Why a question is answered as it is: the way through the zones of this server step by step, and the response that is sent.

import { get } from "./api.js";
import { lead, link, make } from "./dom.js";
import { cell, count, shell, shown } from "./text.js";

const WHY = "/api/zonda/v1/why";

const ABOUT = {
  question: "Question", zone: "Zone", walk: "Names", alias: "Alias", end: "End", proof: "Proof", signature: "Signature", room: "Room", resolver: "Resolver", scope: "Keys", fault: "Fault",
};

function field(id, label, value, maxlength) {
  const input = make("input", { id, name: id, type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: "false", maxlength });
  input.value = value;
  return [make("div", {}, make("label", { for: id }, label), input), input];
}

function box(id, label, isOn) {
  const input = make("input", { id, name: id, type: "checkbox" });
  input.checked = isOn;
  return [make("div", { class: "box" }, input, make("label", { for: id }, label)), input];
}

// The form; all of it is in the address, so that a link asks the same again.
function form(asked) {
  const [nameField, name] = field("why-name", "Name", asked.name, "1004");
  const [typeField, type] = field("why-type", "Type", asked.type, "20");
  const [tcpBox, tcp] = box("why-tcp", "over TCP", asked.tcp);
  const [dnssecBox, dnssec] = box("why-dnssec", "with DNSSEC (DO)", asked.dnssec);
  const all = make("form", { class: "line" }, nameField, typeField, tcpBox, dnssecBox, make("button", { type: "submit" }, "Why?"));
  all.addEventListener("submit", (event) => {
    event.preventDefault();
    const query = new URLSearchParams({ name: name.value.trim(), type: type.value.trim() || "A" });
    if (tcp.checked) {
      query.set("tcp", "true");
    }
    if (dnssec.checked) {
      query.set("dnssec", "true");
    }
    lead(`#/why?${query}`);
  });
  return all;
}

function lines(name, list) {
  return list.length === 0 ? [] : [make("h3", {}, name), make("pre", { tabindex: "0", role: "region", "aria-label": name }, list.map(cell).join("\n"))];
}

function told(told, asked, maySeeResolver) {
  const steps = told.steps.map((step) => make("li", step.about === "fault" ? { class: "wrong" } : {},
    make("span", { class: "quiet" }, `${Object.hasOwn(ABOUT, step.about) ? ABOUT[step.about] : shown(step.about)}: `), cell(step.words)));
  const dig = ["dig", asked.tcp ? "+tcp" : "+notcp", ...(asked.dnssec ? ["+dnssec"] : []), "-q", shell(asked.name), "-t", shell(asked.type)].join(" ");
  const response = told.response === undefined ? [] : [
    make("h2", {}, "The response"),
    make("p", {}, `${shown(told.response.status)}, ${count(told.response.octets)} octets${told.response.flags === "" ? "" : `, flags ${shown(told.response.flags)}`}.`),
    ...lines("Answer", told.response.answer), ...lines("Authority", told.response.authority), ...lines("Additional", told.response.additional),
  ];
  return [make("h2", {}, "The way"), make("ol", { class: "steps" }, ...steps), ...response,
    make("p", { class: "quiet" }, "At a terminal: ", make("code", {}, dig), " with ", make("code", {}, "@"), " and this server's address."),
    ...(maySeeResolver && told.steps.some((step) => step.about === "resolver") ? [make("p", {}, link("What the resolver knows of it", `#/resolver?name=${encodeURIComponent(asked.name)}`))] : [])];
}

// The view. `maySeeResolver`: whether it may lead there.
export async function why(query, maySeeResolver) {
  const asked = { name: query.get("name") ?? "", type: (query.get("type") ?? "A").toUpperCase(), tcp: query.get("tcp") === "true", dnssec: query.get("dnssec") === "true" };
  if (asked.name === "") {
    return ["Why this answer", form(asked), make("p", { class: "quiet" }, "Asks the zones of this server as a client would, and says what is found on the way.")];
  }
  try {
    const parameters = new URLSearchParams({ name: asked.name, type: asked.type, tcp: String(asked.tcp), dnssec: String(asked.dnssec) });
    return ["Why this answer", form(asked), ...told((await get(`${WHY}?${parameters}`)).told, asked, maySeeResolver)];
  } catch (refused) {
    if (refused.status === 401) {
      throw refused;
    }
    return ["Why this answer", form(asked), make("p", { class: "wrong" }, refused.message)];
  }
}
