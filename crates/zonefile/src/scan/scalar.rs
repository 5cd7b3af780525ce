//! The reference scanner: one octet at a time through a table of classes.

use super::{EDGES_MAX, Line, PADDING, Tape};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Blank,
    Newline,
    Return,
    Odd,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Word; 256];
    classes[b' ' as usize] = Class::Blank;
    classes[b'\t' as usize] = Class::Blank;
    classes[b'\n' as usize] = Class::Newline;
    classes[b'\r' as usize] = Class::Return;
    let odd = b"\0\"();\\";
    let mut at = 0;
    while at < odd.len() {
        classes[odd[at] as usize] = Class::Odd;
        at += 1;
    }
    classes
};

/// See [`super::Chosen::line`].
pub(super) fn line(octets: &[u8], start: usize, filled: usize, tape: &mut Tape) -> Line {
    let mut edges = 0;
    let mut in_word = false;
    let mut at = start;
    while at < filled {
        match CLASSES[octets[at] as usize] {
            Class::Word if in_word => {}
            // The block scanner stops where one more block might not fit, and so must this one.
            Class::Word if edges + PADDING >= EDGES_MAX => return Line::Odd,
            Class::Word => {
                tape[edges] = at as u32;
                edges += 1;
                in_word = true;
            }
            Class::Blank | Class::Newline => {
                if in_word {
                    tape[edges] = at as u32;
                    edges += 1;
                    in_word = false;
                }
                if octets[at] == b'\n' {
                    return Line::Plain { edges, end: at + 1 };
                }
            }
            // A carriage return is white space before the newline and odd anywhere else.
            Class::Return if octets.get(at + 1) == Some(&b'\n') && at + 1 < filled => {
                if in_word {
                    tape[edges] = at as u32;
                    edges += 1;
                }
                return Line::Plain { edges, end: at + 2 };
            }
            Class::Return | Class::Odd => return Line::Odd,
        }
        at += 1;
    }
    Line::Unended
}
