//! Text of others made harmless: a server's version string may hold markup, escape sequences of a terminal, or marks
//! that turn the direction of what follows.

use std::fmt::Write;

/// Stands for what must not be shown as it is.
const HIDDEN: char = '\u{fffd}';

/// `text` for HTML and XML, in elements and in quoted attributes.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            _ if is_hidden(character) => out.push(HIDDEN),
            _ => out.push(character),
        }
    }
    out
}

/// `text` for a line on a terminal: control characters are shown as `\x1b`.
pub fn terminal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match is_hidden(character) {
            // Writing to a string cannot fail.
            true => _ = write!(out, "\\x{:02x}", u32::from(character)),
            false => out.push(character),
        }
    }
    out
}

/// Control characters, those that XML forbids, and those that turn the direction of text (UAX 9).
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(character, '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_of_others_is_markup() {
        assert_eq!(
            super::html("<script>alert(\"x\")</script> & 'y'"),
            "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;y&#39;"
        );
        assert_eq!(super::html("a\nb\u{1b}[2J\0\u{202e}"), "a\nb\u{fffd}[2J\u{fffd}\u{fffd}");
        assert_eq!(super::terminal("é\u{1b}[2J\n"), "é\\x1b[2J\\x0a");
    }
}
