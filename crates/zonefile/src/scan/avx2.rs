//! 64 octets at a time with AVX2: bit masks of blanks, newlines and odd octets, then the edges of the
//! runs of all other octets.
#![allow(unsafe_code)] // loads of 32 octets, and the one call into code that needs AVX2

use std::arch::x86_64::*;

use super::{EDGES_MAX, Line, PADDING, Tape};

/// Proof that the machine has what this scanner needs; only [`Available::detect`] makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Available(());

impl Available {
    pub(super) fn detect() -> Option<Available> {
        let all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        all.then_some(Available(()))
    }

    #[inline]
    pub(super) fn line(self, octets: &[u8], at: usize, filled: usize, tape: &mut Tape) -> Line {
        // SAFETY: a value of this type exists only where `detect` found all these features.
        unsafe { line(octets, at, filled, tape) }
    }
}

/// What carries over from block to block of one entry.
#[derive(Default)]
struct State {
    /// Parentheses that are open.
    depth: usize,
    in_comment: bool,
    /// Newlines seen, but for the one that ends the entry.
    lines: u32,
}

/// See [`super::Chosen::line`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn line(octets: &[u8], start: usize, filled: usize, tape: &mut Tape) -> Line {
    let mut edges = 0;
    let mut in_word = 0; // 1 when the octet before the block belongs to a field
    let mut block = start;
    let mut state = State::default();
    while block < filled {
        let Some(chunk) = octets.get(block..).and_then(|rest| rest.first_chunk::<64>()) else {
            return Line::Odd; // the caller owes padding; without it the general way still works
        };
        let masks = masks(chunk);
        let mut newline = masks.newline;
        // All bits below the newline; all bits where there is none.
        let inside = below_lowest(newline);
        let mut word = !masks.blank & inside;
        if masks.odd & inside != 0 || state.depth > 0 || state.in_comment {
            match enclosed(chunk, masks, (octets, block, filled), &mut state) {
                Some((fields, last)) => (word, newline) = (fields, last),
                None => return Line::Odd,
            }
        }
        let mut changes = word ^ (word << 1 | in_word);
        in_word = word >> 63;
        if edges + PADDING >= EDGES_MAX && changes != 0 {
            return Line::Odd;
        }
        let first = edges;
        edges += changes.count_ones() as usize;
        for slot in &mut tape[first..] {
            if changes == 0 {
                break;
            }
            *slot = block as u32 + _tzcnt_u64(changes) as u32;
            changes = _blsr_u64(changes);
        }
        if newline != 0 {
            let end = block + _tzcnt_u64(newline) as usize + 1;
            return Line::Plain { edges, end, lines: state.lines + 1 };
        }
        block += 64;
    }
    Line::Unended
}

/// All bits below the lowest bit set; all bits where none is.
#[target_feature(enable = "bmi1")]
#[inline]
fn below_lowest(bits: u64) -> u64 {
    if bits == 0 { !0 } else { _blsmsk_u64(bits) >> 1 }
}

/// A block with parentheses or a comment in it or around it: which octets belong to fields, and the newline
/// that ends the entry, if it is in this block. `octets[..filled]` is the text, the block begins at
/// `block`. `None`: the entry is odd.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
fn enclosed(
    chunk: &[u8; 64],
    masks: Masks,
    (octets, block, filled): (&[u8], usize, usize),
    state: &mut State,
) -> Option<(u64, u64)> {
    let mut word = !masks.blank;
    let mut left = !0u64; // octets not yet looked at
    if state.in_comment {
        left = !below_lowest(masks.newline);
        word &= left;
        state.in_comment = masks.newline == 0;
    }
    loop {
        let events = (masks.odd | masks.newline) & left;
        let event = events & events.wrapping_neg();
        left &= !_blsmsk_u64(events);
        if event == 0 {
            break;
        }
        if event & masks.newline != 0 {
            if state.depth == 0 {
                let inside = below_lowest(event);
                return (zeros(chunk) & inside == 0).then_some((word & inside, event));
            }
            state.lines += 1;
            continue;
        }
        word &= !event;
        let at = _tzcnt_u64(event) as usize & 63;
        match chunk[at] {
            b'\r' => {
                // Past the text it may not have been read yet.
                let next = octets.get(block + at + 1).filter(|_| block + at + 1 < filled);
                if next.is_some_and(|&next| next != b'\n') {
                    return None;
                }
            }
            b'(' => state.depth += 1,
            b')' => state.depth = state.depth.checked_sub(1)?,
            b';' => {
                let comment = left & below_lowest(masks.newline & left);
                word &= !comment;
                left &= !comment;
                state.in_comment = left == 0;
            }
            _ => return None,
        }
    }
    (zeros(chunk) == 0).then_some((word, 0))
}

#[derive(Clone, Copy)]
struct Masks {
    /// Space, tab, newline.
    blank: u64,
    newline: u64,
    /// Quote, parentheses, semicolon, backslash, carriage return, zero.
    odd: u64,
}

#[target_feature(enable = "avx2")]
#[inline]
fn masks(chunk: &[u8; 64]) -> Masks {
    // Octets of a set are looked up by their lower four bits and compared with what the table holds: an
    // octet equals its entry only if it is in the set. 0xff stands where no octet of the set belongs; an
    // octet with its top bit set always looks up 0, which it is not.
    let blanks = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        b' ' as i8,
        -1,
        -1,
        -1,
        -1,
        -1,
        -1,
        -1,
        -1,
        b'\t' as i8,
        b'\n' as i8,
        -1,
        -1,
        -1,
        -1,
        -1,
    ));
    let odds = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0,
        -1,
        b'"' as i8,
        -1,
        -1,
        -1,
        -1,
        -1,
        b'(' as i8,
        b')' as i8,
        -1,
        b';' as i8,
        b'\\' as i8,
        b'\r' as i8,
        -1,
        -1,
    ));
    let newlines = _mm256_set1_epi8(b'\n' as i8);
    let (low, high) = load(chunk);
    Masks {
        blank: join(
            _mm256_cmpeq_epi8(low, _mm256_shuffle_epi8(blanks, low)),
            _mm256_cmpeq_epi8(high, _mm256_shuffle_epi8(blanks, high)),
        ),
        newline: join(_mm256_cmpeq_epi8(low, newlines), _mm256_cmpeq_epi8(high, newlines)),
        odd: join(
            _mm256_cmpeq_epi8(low, _mm256_shuffle_epi8(odds, low)),
            _mm256_cmpeq_epi8(high, _mm256_shuffle_epi8(odds, high)),
        ),
    }
}

/// Octets of zero, which no comment may hide.
#[target_feature(enable = "avx2")]
#[inline]
fn zeros(chunk: &[u8; 64]) -> u64 {
    let zero = _mm256_setzero_si256();
    let (low, high) = load(chunk);
    join(_mm256_cmpeq_epi8(low, zero), _mm256_cmpeq_epi8(high, zero))
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(chunk: &[u8; 64]) -> (__m256i, __m256i) {
    let start = chunk.as_ptr();
    // SAFETY: both loads of 32 octets lie within the 64 octets of `chunk`; they need no alignment.
    unsafe { (_mm256_loadu_si256(start.cast()), _mm256_loadu_si256(start.add(32).cast())) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn join(low: __m256i, high: __m256i) -> u64 {
    u64::from(_mm256_movemask_epi8(low) as u32) | u64::from(_mm256_movemask_epi8(high) as u32) << 32
}
