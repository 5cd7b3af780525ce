//! The reference scanner: one octet at a time through a table of classes.

use super::{EDGES_MAX, Line, PADDING, Tape};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Blank,
    Return,
    Newline,
    Comment,
    Open,
    Close,
    Odd,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Word; 256];
    classes[b' ' as usize] = Class::Blank;
    classes[b'\t' as usize] = Class::Blank;
    classes[b'\r' as usize] = Class::Return;
    classes[b'\n' as usize] = Class::Newline;
    classes[b';' as usize] = Class::Comment;
    classes[b'(' as usize] = Class::Open;
    classes[b')' as usize] = Class::Close;
    classes[b'"' as usize] = Class::Odd;
    classes[b'\\' as usize] = Class::Odd;
    classes[0] = Class::Odd;
    classes
};

/// See [`super::Chosen::line`].
pub(super) fn line(octets: &[u8], start: usize, filled: usize, tape: &mut Tape) -> Line {
    let (mut edges, mut depth, mut lines) = (0, 0usize, 0);
    let mut in_word = false;
    let mut at = start;
    while at < filled {
        let class = CLASSES[octets[at] as usize];
        if in_word && class != Class::Word {
            tape[edges] = at as u32;
            edges += 1;
            in_word = false;
        }
        match class {
            Class::Word if in_word => {}
            // The block scanner stops where one more block might not fit, and so must this one.
            Class::Word if edges + PADDING >= EDGES_MAX => return Line::Odd,
            Class::Word => {
                tape[edges] = at as u32;
                edges += 1;
                in_word = true;
            }
            // The newline after it may not have been read yet.
            Class::Return if at + 1 < filled && octets[at + 1] != b'\n' => return Line::Odd,
            Class::Blank | Class::Return => {}
            Class::Newline => {
                lines += 1;
                if depth == 0 {
                    return Line::Plain { edges, end: at + 1, lines };
                }
            }
            Class::Comment => {
                let rest = &octets[at..filled];
                let Some(length) = rest.iter().position(|&octet| octet == b'\n' || octet == 0) else {
                    return Line::Unended;
                };
                at += length; // at the newline, or at the zero, which is odd
                continue;
            }
            Class::Open => depth += 1,
            Class::Close if depth == 0 => return Line::Odd,
            Class::Close => depth -= 1,
            Class::Odd => return Line::Odd,
        }
        at += 1;
    }
    Line::Unended
}
