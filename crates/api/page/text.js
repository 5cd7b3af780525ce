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

// A word of a command that is copied into a shell: what could be more than a name there is quoted.
export function shell(word) {
  const text = shown(word);
  return /^[A-Za-z0-9._-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// Numbers as people write them.
export function count(number) {
  return number.toLocaleString("en-US");
}

// So many a second: as many digits as say something.
export function rate(number) {
  return number >= 100 ? count(Math.round(number)) : number.toLocaleString("en-US", { maximumSignificantDigits: 3 });
}

// Octets of memory.
export function octets(number) {
  let [value, unit] = [number, 0];
  const units = ["octets", "KiB", "MiB", "GiB", "TiB"];
  while (value >= 1024 && unit < units.length - 1) {
    [value, unit] = [value / 1024, unit + 1];
  }
  return `${unit === 0 ? count(value) : value.toLocaleString("en-US", { maximumSignificantDigits: 3 })} ${units[unit]}`;
}

// Seconds as people say them.
export function span(seconds) {
  const minutes = Math.round(seconds / 60);
  if (minutes < 2) {
    return "a minute";
  }
  return minutes < 120 ? `${minutes} minutes` : minutes < 2880 ? `${Math.round(minutes / 60)} hours` : `${Math.round(minutes / 1440)} days`;
}

// Seconds since 1970 as a date and a time, in UTC.
export function time(seconds) {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString().replace("T", " ").replace(".000Z", "");
}
