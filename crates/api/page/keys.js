// Keys: those of `zonda top`, as far as they mean something here. None acts in a field, nor with Control, Alt or Meta, which are the browser's;
// who has no use for them, as he speaks to the page or strikes keys by chance, turns them off (WCAG 2.2, 2.1.4).

import { button, lead, make, pairs } from "./dom.js";
import { togglePause } from "./pause.js";

// Where it is kept that they are off.
const OFF = "zonda-keys";

const WORDS = [
  ["1 to 8", "the views, in their order"],
  ["/", "to the field of this view; of a view without one, to zones"],
  ["j, k", "down and up the rows that lead somewhere; Enter follows"],
  ["], [", "the next page of a list, and the first"],
  ["p", "pause, and go on"],
  ["r", "ask the server again"],
  ["?", "this list; Esc closes it"],
];

// What they act on: the routes of the views, and what asks again. Nothing while nobody has signed in.
let views = () => [];
let again = () => {};

function areOff() {
  try {
    return localStorage.getItem(OFF) === "off";
  } catch {
    return false;
  }
}

function turn(isOn) {
  try {
    if (isOn) {
      localStorage.removeItem(OFF);
    } else {
      localStorage.setItem(OFF, "off");
    }
  } catch {
    // Then they stay as they are.
  }
}

function toField() {
  const field = document.querySelector("main input:not([type=checkbox])");
  if (field === null && views().includes("/zones")) {
    lead("#/zones");
  }
  field?.focus();
  field?.select();
}

function toRow(step) {
  const rows = [...document.querySelectorAll("main tbody a")];
  const at = rows.indexOf(document.activeElement);
  rows[at === -1 ? 0 : at + step]?.focus();
}

const ACTS = new Map([
  ["/", toField],
  ["j", () => toRow(1)],
  ["k", () => toRow(-1)],
  ["]", () => document.querySelector("main a.next")?.click()],
  ["[", () => document.querySelector("main a.first")?.click()],
  ["p", togglePause],
  ["r", () => again()],
  ["?", showKeys],
]);

function isField(element) {
  return element.nodeName === "INPUT" && element.type !== "checkbox";
}

addEventListener("keydown", (event) => {
  // Signs of some keyboards are had by AltGr, which says that it is Control and Alt.
  const isOfBrowser = (event.ctrlKey || event.altKey || event.metaKey) && !event.getModifierState("AltGraph");
  const isAgain = event.repeat && event.key !== "j" && event.key !== "k";
  if (isOfBrowser || isAgain || event.isComposing) {
    return;
  }
  if (views().length === 0 || isField(event.target) || document.querySelector("dialog") !== null) {
    return;
  }
  // The list is there for who wants them back.
  if (areOff() && event.key !== "?") {
    return;
  }
  const view = /^[1-9]$/.test(event.key) ? views()[Number(event.key) - 1] : undefined;
  const act = view === undefined ? ACTS.get(event.key) : () => lead(`#${view}`);
  if (act !== undefined) {
    event.preventDefault();
    act();
  }
});

// Tells which keys there are, over the view.
export function showKeys() {
  const box = make("input", { id: "keys-on", type: "checkbox" });
  box.checked = !areOff();
  box.addEventListener("change", () => turn(box.checked));
  const dialog = make("dialog", { "aria-label": "Keys" },
    make("h2", {}, "Keys"),
    pairs(WORDS.map(([key, words]) => [make("kbd", {}, key), words])),
    make("div", { class: "box" }, box, make("label", { for: "keys-on" }, "Keys act, but for ?")),
    button("Close", () => dialog.close()));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// Closes that list: what stands under it is another's.
export function closeKeys() {
  const dialog = document.querySelector("dialog");
  dialog?.close();
  dialog?.remove();
}

// Has keys act on these: the routes of the views, and what asks again.
export function beginKeys(routes, ask) {
  [views, again] = [routes, ask];
}
