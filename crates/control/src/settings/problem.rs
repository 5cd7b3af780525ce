//! What is wrong with a settings file, and where.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// One problem. Displays as `zonda.toml:3:11: …`, or without a place where a file as a whole is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file as the operator named it.
    pub file: PathBuf,
    /// Line and column, both counted from 1.
    pub place: Option<(usize, usize)>,
    /// What was expected and what was found.
    pub text: String,
}

impl Problem {
    /// Where it is: `zonda.toml:3:11`, or the file alone.
    pub fn source(&self) -> String {
        match self.place {
            Some((line, column)) => format!("{}:{line}:{column}", self.file.display()),
            None => self.file.display().to_string(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source(), self.text)
    }
}

/// A file's text while it is read, and the problems found so far.
pub(super) struct Report<'a> {
    pub(super) file: &'a Path,
    pub(super) text: &'a str,
    pub(super) problems: Vec<Problem>,
}

impl Report<'_> {
    /// Notes a problem of the octets at `span`.
    pub(super) fn add(&mut self, span: Range<usize>, text: impl Into<String>) {
        let place = Some(self.place(span.start));
        self.problems.push(Problem { file: self.file.to_owned(), place, text: text.into() });
    }

    /// Line and column of octet `at`.
    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

/// The one of `known` that `word` most likely was meant to be; `None` if it is like none of them.
pub(super) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let candidates = known.map(|candidate| (distance(word, candidate), candidate));
    let (distance, candidate) = candidates.min_by_key(|(distance, _)| *distance)?;
    // A third of the letters wrong is still recognisable; beyond that a guess would confuse.
    (distance <= word.chars().count().max(candidate.len()) / 3 + 1).then_some(candidate)
}

/// Edit distance that counts a swap of neighbours as one (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let differ = usize::from(a[i - 1] != b[j - 1]);
                let mut least = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + differ);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let report = Report { file: Path::new("f"), text: "a\nbé = 1\n", problems: Vec::new() };
        assert_eq!(report.place(0), (1, 1));
        assert_eq!(report.place(2), (2, 1));
        assert_eq!(report.place("a\nbé ".len()), (2, 4));
        assert_eq!(report.place(999), (3, 1));
    }

    #[test]
    fn nearest_key() {
        let known = ["listen", "workers", "pin", "user"];
        let nearest = |word| nearest(word, known.into_iter());
        assert_eq!(nearest("lisen"), Some("listen"));
        assert_eq!(nearest("wrokers"), Some("workers"));
        assert_eq!(nearest("worker"), Some("workers"));
        assert_eq!(nearest("completely-different"), None);
    }
}
