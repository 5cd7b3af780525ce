//! What a person does: keys and clicks, as the browser has them from the system.

use serde_json::{Value, json};
use zonda_tests::patience::await_some;

use super::tab::Tab;

/// Bits of `Input.dispatchKeyEvent`, and what keys with these write: nothing, but with the last.
const MODIFIERS: [(&str, u8); 4] = [("Alt", 1), ("Control", 2), ("Meta", 4), ("Shift", 8)];

/// Numbers of keys that write nothing, and of `Enter`: without these they do nothing.
const NAMED: [(&str, u32); 12] = [
    ("Backspace", 8),
    ("Tab", 9),
    ("Enter", 13),
    ("Escape", 27),
    ("PageUp", 33),
    ("PageDown", 34),
    ("End", 35),
    ("Home", 36),
    ("ArrowLeft", 37),
    ("ArrowUp", 38),
    ("ArrowRight", 39),
    ("ArrowDown", 40),
];

impl Tab {
    /// Presses a key, named as `KeyboardEvent.key` does, and lets it go: `j`, `?`, `Enter`, `Shift+Tab`, `Control+Alt+x`.
    #[track_caller]
    pub fn press(&self, keys: &str) {
        let (mut key, mut modifiers) = (keys, 0);
        while let Some((name, rest)) =
            key.split_once('+').filter(|(name, rest)| !name.is_empty() && !rest.is_empty())
        {
            let known = MODIFIERS.iter().find(|(known, _)| *known == name);
            modifiers |= known.unwrap_or_else(|| panic!("{keys}: no modifier {name}")).1;
            key = rest;
        }
        let named = NAMED.iter().find(|(name, _)| *name == key);
        let letter = key.chars().next().filter(|_| key.chars().count() == 1);
        let number = match (named, letter) {
            (Some((_, number)), _) => *number,
            (None, Some(letter)) if letter.is_ascii_alphanumeric() || letter == ' ' => {
                letter.to_ascii_uppercase().into()
            }
            // Of signs it is the key's that has them, which keyboards have in different places: a dot's own number is that of `Delete`.
            (None, Some(_)) => 0,
            (None, None) => panic!("{keys}: no key {key}"),
        };
        let is_text = (letter.is_some() || key == "Enter") && modifiers & !8 == 0;
        let mut event = json!({"key": key, "windowsVirtualKeyCode": number, "modifiers": modifiers});
        if named.is_some() {
            event["code"] = key.into();
        }
        for kind in [if is_text { "keyDown" } else { "rawKeyDown" }, "keyUp"] {
            event["type"] = kind.into();
            event["text"] = match (kind, key) {
                ("keyDown", "Enter") => "\r".into(),
                ("keyDown", _) => key.into(),
                _ => "".into(),
            };
            self.ask("Input.dispatchKeyEvent", event.clone());
        }
    }

    /// Types a text, key by key.
    #[track_caller]
    pub fn write(&self, text: &str) {
        for letter in text.chars() {
            self.press(letter.encode_utf8(&mut [0; 4]));
        }
    }

    /// Clicks on the middle of an element, once it is there and nothing lies over it.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let script = format!(
            "(() => {{
                const element = document.querySelector({});
                if (!element) return null;
                element.scrollIntoView({{block: 'center'}});
                const box = element.getBoundingClientRect();
                const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
                return element.contains(document.elementFromPoint(x, y)) ? {{x, y}} : null;
            }})()",
            Value::from(selector)
        );
        let place = await_some(
            || format!("waited for {selector}, and nothing over it"),
            || Some(self.value(&script)).filter(|place| !place.is_null()),
        );
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let mut event = place.clone();
            event["type"] = kind.into();
            if kind != "mouseMoved" {
                (event["button"], event["clickCount"]) = ("left".into(), 1.into());
            }
            self.ask("Input.dispatchMouseEvent", event);
        }
    }
}
