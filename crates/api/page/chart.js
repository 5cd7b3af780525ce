// Lines over the last hour: a picture, a sentence for who hears it, and the numbers that count as a table below, which tells which line is which.

import { drawn, make } from "./dom.js";

const WIDTH = 360;
const HEIGHT = 60;

// Where a line goes; nothing is drawn of what nobody saw. The last value is at the right.
function path(values, most, spans) {
  let [d, isOpen] = ["", false];
  values.forEach((value, at) => {
    if (value === null) {
      isOpen = false;
      return;
    }
    const x = WIDTH - ((values.length - 1 - at) * WIDTH) / (spans - 1);
    const y = HEIGHT - 1 - ((HEIGHT - 2) * value) / most;
    // A value between two that are unknown is seen as well.
    d += `${isOpen ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}${isOpen ? "" : "h.1"}`;
    isOpen = true;
  });
  return d;
}

function swatch(number) {
  return drawn("svg", { class: "swatch", viewBox: "0 0 24 4", "aria-hidden": "true" }, drawn("path", { class: `line-${number}`, d: "M0 2H24" }));
}

// `lines`: name and values each, the oldest value first and `null` where nothing is known; `write`: a value as text; `spans`: how many there are at most.
export function chart(name, lines, write, spans) {
  const told = lines.map((line) => {
    const known = line.values.filter((value) => value !== null);
    const last = line.values.at(-1) ?? null;
    const words = known.length === 0 ? ["-", "-", "-"] : [write(Math.min(...known)), write(Math.max(...known)), last === null ? "-" : write(last)];
    return { ...line, known, words };
  });
  const most = Math.max(1e-9, ...told.flatMap((line) => line.known));
  const sentence = told.map((line) => `${line.name} ${line.words[0]} to ${line.words[1]}, now ${line.words[2]}`).join("; ");
  const picture = drawn("svg", { class: "drawn", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${name}: ${sentence}` },
    ...told.map((line, number) => drawn("path", { class: `line-${number}`, d: path(line.values, most, spans) })));
  const head = make("tr", {}, ...["", "least", "most", "now"].map((column) => make("th", { scope: "col" }, column)));
  const rows = told.map((line, number) => make("tr", {}, make("th", { scope: "row" }, swatch(number), ` ${line.name}`), ...line.words.map((one) => make("td", {}, one))));
  return make("table", { class: "chart" }, make("caption", {}, name, picture), make("thead", {}, head), make("tbody", {}, ...rows));
}
