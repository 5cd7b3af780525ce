// The one place where elements are made. What is text stays text: children are elements and text nodes, and of elements and
// attributes there are those of these lists.

const ELEMENTS = new Set(["button", "code", "dd", "div", "dl", "dt", "form", "h1", "input", "label", "p", "span"]);
const ATTRIBUTES = new Set(["autocapitalize", "autocomplete", "class", "disabled", "for", "id", "maxlength", "name", "required", "role", "spellcheck", "tabindex", "type"]);

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
