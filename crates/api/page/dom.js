// The one place where elements are made. What is text stays text: children are elements and text nodes, and of elements and
// attributes there are those of these lists.

const ELEMENTS = new Set([
  "a", "button", "caption", "code", "dd", "dialog", "div", "dl", "dt", "form", "h1", "h2", "h3", "input", "kbd", "label", "li", "nav", "ol", "p", "pre", "span", "table", "tbody", "td", "th", "thead", "tr", "ul",
]);
const ATTRIBUTES = new Set([
  "aria-current", "aria-label", "autocapitalize", "autocomplete", "class", "disabled", "for", "href", "id", "maxlength", "name", "required", "role", "scope", "spellcheck", "tabindex", "type",
]);
// The same of pictures.
const DRAWN = new Set(["path", "svg"]);
const DRAWN_ATTRIBUTES = new Set(["aria-hidden", "aria-label", "class", "d", "preserveAspectRatio", "role", "viewBox"]);
const SVG = "http://www.w3.org/2000/svg";
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

// Makes an element of a picture.
export function drawn(name, attributes = {}, ...children) {
  if (!DRAWN.has(name)) {
    throw new TypeError(`no element ${name} of a picture`);
  }
  const element = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (!DRAWN_ATTRIBUTES.has(attribute)) {
      throw new TypeError(`no attribute ${attribute} of a picture`);
    }
    element.setAttribute(attribute, value);
  }
  element.append(...children);
  return element;
}

// Has an element have these children: those that are alike stay and take what is new, so that the focus stays where it is. What acts
// is not to be among them: it would do what it did before.
export function refresh(element, ...children) {
  children.forEach((child, at) => {
    const [old, next] = [element.childNodes[at], typeof child === "string" ? document.createTextNode(child) : child];
    if (old === undefined) {
      element.append(next);
    } else if (!isTaken(old, next)) {
      old.replaceWith(next);
    }
  });
  while (element.childNodes.length > children.length) {
    element.lastChild.remove();
  }
}

// Whether a node became as another one is.
function isTaken(old, next) {
  if (old.nodeName !== next.nodeName) {
    return false;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) {
      old.data = next.data;
    }
    return true;
  }
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name)) {
      old.removeAttribute(name);
    }
  }
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) {
      old.setAttribute(name, value);
    }
  }
  refresh(old, ...next.childNodes);
  return true;
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

// Leads to a view; to the one that is there, it is shown anew.
export function lead(route) {
  const before = location.hash;
  location.hash = route;
  if (location.hash === before) {
    dispatchEvent(new Event("hashchange"));
  }
}

// A table; each row has a cell a column, the first of which names it. `kind`: `numbers` where all others are numbers.
export function table(caption, columns, rows, kind = "") {
  const head = make("tr", {}, ...columns.map((column) => make("th", { scope: "col" }, column)));
  const line = ([first, ...others]) => make("tr", {}, make("th", { scope: "row" }, first), ...others.map((one) => make("td", {}, one)));
  return make("div", { class: `table ${kind}`.trim(), role: "region", tabindex: "0", "aria-label": caption },
    make("table", {}, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...rows.map(line))));
}

// Parts beside each other, as many as have room.
export function columns(...parts) {
  return make("div", { class: "columns" }, ...parts);
}

// Names and what they are, a line each.
export function pairs(rows) {
  return make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

// A form of one field; `act` is told what stands in it.
export function ask(id, label, value, submit, act) {
  const input = make("input", { id, name: id, type: "search", autocomplete: "off", autocapitalize: "none", spellcheck: "false", maxlength: "1004" });
  input.value = value;
  const form = make("form", { class: "line" }, make("label", { for: id }, label), input, make("button", { type: "submit" }, submit));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    act(input.value.trim());
  });
  return form;
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
