// Pause: a view that is brought up to date by itself stays as it is, so that it can be read and copied from.

import { button, make, part } from "./dom.js";

let isPaused = false;

export function paused() {
  return isPaused;
}

function name() {
  return isPaused ? "Go on" : "Pause";
}

function words() {
  return isPaused ? "Paused: what stands here stays." : "";
}

// Pauses the view, or has it go on; nothing where it has no such button.
export function togglePause() {
  const [act, said] = [part("pause"), part("paused")];
  if (act !== null) {
    isPaused = !isPaused;
    act.textContent = name();
    said.textContent = words();
  }
}

// The button of a view, and what is said beside it.
export function pauseButton() {
  return make("div", { class: "live" }, button(name(), togglePause, { id: "pause" }), make("span", { id: "paused", class: "quiet", role: "status" }, words()));
}

// For who comes next it goes on.
export function endPause() {
  isPaused = false;
}
