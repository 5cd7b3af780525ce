// The one place where elements are made. What is text stays text: children are elements and text nodes, and of elements and
// attributes there are those of these lists.

const ELEMENTS = new Set([
  "a", "button", "caption", "code", "dd", "div", "dl", "dt", "form", "h1", "h2", "input", "label", "nav", "p", "span", "table", "tbody", "td", "th", "thead", "tr",
]);
const ATTRIBUTES = new Set([
  "aria-current", "aria-label", "autocapitalize", "autocomplete", "class", "disabled", "for", "href", "id", "maxlength", "name", "required", "role", "scope", "spellcheck", "tabindex", "type",
]);
// What leads somewhere leads to another view of this page.
const ROUTE = /^#\//;

// Makes an element. `children`: elements, and texts.
export function make(name, attributes = {}, ...children) {
  if (!ELEMENTS.has(name)) {
    throw new TypeError(`no element ${name}`);
  }
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (!ATTRIBUTES.has(attribute)) {
      throw new TypeError(`no attribute ${attribute}`);
    }
    if (attribute === "href" && !ROUTE.test(value)) {
      throw new TypeError("no view of this page");
    }
    element.setAttribute(attribute, value);
  }
  element.append(...children);
  return element;
}

// A button that acts.
export function button(words, act, attributes = {}) {
  const element = make("button", { type: "button", ...attributes }, words);
  element.addEventListener("click", act);
  return element;
}

// What leads to another view.
export function link(words, route, attributes = {}) {
  return make("a", { href: route, ...attributes }, words);
}

// A table; each row has a cell a column, the first of which names it.
export function table(caption, columns, rows) {
  const head = make("tr", {}, ...columns.map((column) => make("th", { scope: "col" }, column)));
  const line = ([first, ...others]) => make("tr", {}, make("th", { scope: "row" }, first), ...others.map((one) => make("td", {}, one)));
  return make("div", { class: "table", role: "region", tabindex: "0", "aria-label": caption },
    make("table", {}, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...rows.map(line))));
}

// The part of the page with this id.
export function part(id) {
  return document.getElementById(id);
}

// Shows a view: its heading gets the focus, so that who hears the page hears what it is.
export function show(heading, ...children) {
  const title = make("h1", { tabindex: "-1" }, heading);
  part("main").replaceChildren(title, ...children);
  title.focus();
}

// Says something to all, also to who hears the page; nothing: what was said is over. The same is not said again.
export function say(...children) {
  const words = children.map((child) => (typeof child === "string" ? child : child.textContent)).join("");
  const status = part("status");
  if (status.textContent !== words) {
    status.replaceChildren(...children);
  }
}
