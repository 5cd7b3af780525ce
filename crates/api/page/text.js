// Texts of strangers: names, contents, words of others. What nobody sees, or what turns a line around, is made visible.

const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;
// Cells show so much of a text.
const CELL = 1024;

export function shown(text) {
  return String(text).replace(UNSEEN, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);
}

// The beginning of a text, as much as a cell has room for.
export function cell(text) {
  const all = shown(text);
  return all.length <= CELL ? all : `${all.slice(0, CELL)} … (${all.length} characters)`;
}

// Numbers as people write them.
export function count(number) {
  return number.toLocaleString("en-US");
}

// Seconds since 1970 as a date and a time, in UTC.
export function time(seconds) {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString().replace("T", " ").replace(".000Z", "");
}
