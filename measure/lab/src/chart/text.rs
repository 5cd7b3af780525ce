//! Text in a chart: how wide it is, about, and where it must be broken. A chart is laid out without knowing the fonts of
//! whoever looks at it, so widths are those of a wide one, DejaVu Sans.

use std::fmt::Write;

use crate::escape;

/// Height of letters, in units of the chart.
pub const SIZE: f64 = 13.0;
/// From one line to the next.
pub const LINE: f64 = 17.0;

/// Width of `text`.
pub fn width(text: &str) -> f64 {
    let wide = |character: char| match character {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.99,
        'A'..='Z' => 0.78,
        character if character.is_ascii() => 0.64,
        '–' | '×' | '…' | '≥' | '≤' | 'µ' => 0.7,
        _ => 1.0,
    };
    text.chars().map(wide).sum::<f64>() * SIZE
}

/// `text`, with an ellipsis if it is wider than `most`.
pub fn fitted(text: &str, most: f64) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut fitted = String::new();
    for character in text.chars() {
        fitted.push(character);
        if width(&fitted) + SIZE > most {
            break;
        }
    }
    fitted.trim_end().to_owned() + "…"
}

/// `text` in lines no wider than `most`; a word that is wider alone is cut.
pub fn wrapped(text: &str, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + width(word) + SIZE * 0.34 <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(fitted(word, most)),
        }
    }
    lines
}

/// One line of text, its base line at `y`.
pub fn write(svg: &mut String, x: f64, y: f64, class: &str, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>", escape::html(text));
}
