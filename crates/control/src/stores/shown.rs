//! Words of a feeder, as they can be shown.

/// As much of the words of a feeder is kept for each zone and shown: some rows, and why they are none.
const SHOWN_OCTETS_MAX: usize = 1_024;

/// Words of another process, as they can be shown: what is not printable, or has a terminal write in another direction, is escaped, and more than helps is left out.
pub(super) fn shown(words: &str) -> String {
    let mut text = String::new();
    for letter in words.chars() {
        match letter {
            '"' | '\'' | '\\' => text.push(letter),
            _ => text.extend(letter.escape_debug()),
        }
        if text.len() >= SHOWN_OCTETS_MAX {
            return text + "...";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_are_shown_as_text() {
        assert_eq!(shown("row \"a\\b\" isn't: \u{fc}"), "row \"a\\b\" isn't: \u{fc}");
        assert_eq!(shown("\u{1b}[2J\n\u{202e}x"), "\\u{1b}[2J\\n\\u{202e}x");
        assert!(shown(&"\0".repeat(4_096)).len() < SHOWN_OCTETS_MAX + 10);
    }
}
