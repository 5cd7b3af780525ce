//! Finds the fields and the end of a plain entry.
//!
//! An entry is *plain* when it has no quote, no escape, no octet of zero and no stray carriage return: in large zone files nearly all
//! are, signatures over several lines in parentheses included. Its fields are what stands between blanks,
//! parentheses and comments, so all a scanner has to do is to list where runs of other octets begin and end.
//! Every other entry is *odd* and left to `token`, and so is one with a parenthesis too many.
//!
//! One file per instruction set; [`scalar`] is the reference, which the others must equal.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod dots;
mod scalar;

pub(crate) use dots::dots;

/// Blanks that must follow the text in a window, so that a scanner may load a whole block at its last octet.
pub(crate) const PADDING: usize = 64;

/// Room for the edges of one entry: 255 fields and one block of slack. Entries with more fields count as odd.
pub(crate) const EDGES_MAX: usize = 2 * 255 + 64;

/// Where fields begin and end, in turn.
pub(crate) type Tape = [u32; EDGES_MAX];

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Plain; the first `edges` of the tape are its fields, the next entry begins at `end`.
    Plain {
        /// How many edges: two for each field.
        edges: usize,
        /// One past the newline.
        end: usize,
        /// How many lines it takes: more than one in parentheses.
        lines: u32,
    },
    /// Not plain.
    Odd,
    /// The text ends before the entry does.
    Unended,
}

/// Which scanner reads plain entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scanner {
    /// The fastest this machine has.
    #[default]
    Best,
    /// The reference, octet by octet.
    Scalar,
    /// 64 octets at a time with AVX2; the reference where the machine has no AVX2.
    Avx2,
}

/// A scanner that was found to work on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Available),
}

impl Scanner {
    /// Looks once what the machine has.
    pub(crate) fn choose(self) -> Chosen {
        #[cfg(target_arch = "x86_64")]
        if self != Scanner::Scalar
            && let Some(available) = avx2::Available::detect()
        {
            return Chosen::Avx2(available);
        }
        Chosen::Scalar
    }
}

impl Chosen {
    /// Scans the entry that begins at `at` in `octets[..filled]`, which [`PADDING`] blanks follow.
    #[inline]
    pub(crate) fn line(self, octets: &[u8], at: usize, filled: usize, tape: &mut Tape) -> Line {
        match self {
            Chosen::Scalar => scalar::line(octets, at, filled, tape),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(available) => available.line(octets, at, filled, tape),
        }
    }
}

#[cfg(test)]
mod tests;
