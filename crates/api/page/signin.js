// Who has no session gets one: with a key, or with a code that stood behind `#in=` and is given once somebody says so.

import { signIn } from "./api.js";
import { button, make, show } from "./dom.js";

const CODE = /^#in=([A-Za-z0-9_-]{43})$/;

// Takes a code out of the address, and out of what the browser remembers; `null`: there is none.
export function takeCode() {
  const code = CODE.exec(location.hash)?.[1] ?? null;
  if (location.hash.startsWith("#in=")) {
    history.replaceState(null, "", location.pathname);
  }
  return code;
}

// Words of a refusal: of what is unknown the server says no more than that.
function why(refused) {
  switch (refused.status) {
    case 401: return "That is not known here, or not any more.";
    case 429: return "Too often in a minute: try again in one.";
    default: return refused.message;
  }
}

// Has `act` try, once at a time, and says what was wrong.
function trying(wrong, buttons, act) {
  return async (event) => {
    event.preventDefault();
    wrong.textContent = "";
    buttons.forEach((one) => { one.disabled = true; });
    try {
      await act();
    } catch (refused) {
      wrong.textContent = why(refused);
    } finally {
      buttons.forEach((one) => { one.disabled = false; });
    }
  };
}

// Shows the form for a key. `begun` is told what the session is.
export function showForm(begun) {
  const input = make("input", {
    id: "key", name: "key", type: "password", autocomplete: "current-password", autocapitalize: "none", spellcheck: "false", maxlength: "255", required: "",
  });
  const wrong = make("p", { class: "wrong", role: "alert" });
  const submit = make("button", { type: "submit", class: "main" }, "Sign in");
  const form = make("form", {},
    make("label", { for: "key" }, "Key"),
    input,
    wrong,
    make("p", { class: "quiet" }, "A key of the API, of which the session has no more than what reads. Or follow the address that ",
      make("code", {}, "zonda ctl page"), " prints at the server."),
    make("div", { class: "buttons" }, submit));
  form.addEventListener("submit", trying(wrong, [submit], async () => {
    const key = input.value.trim();
    const told = await signIn("X-API-Key", key);
    input.value = "";
    begun(told);
  }));
  show("Sign in", form);
  input.focus();
}

// Asks whether a code is to be given. `who`: who is signed in, if anybody is; `begun`, `not`: what follows.
export function askForCode(code, who, begun, not) {
  const wrong = make("p", { class: "wrong", role: "alert" });
  const yes = make("button", { type: "submit", class: "main" }, "Sign in");
  const no = button("No", not);
  const form = make("form", {},
    make("p", {}, who === null ? "You followed an address with a code for that, which is good once."
      : `You followed an address with a code for that, which is good once. The session of ${who} ends with it.`),
    wrong,
    make("div", { class: "buttons" }, yes, no));
  form.addEventListener("submit", trying(wrong, [yes, no], async () => begun(await signIn("X-Zonda-Code", code))));
  show(`Sign in at ${location.host} as its operator?`, form);
}
