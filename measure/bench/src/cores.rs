//! Lists of processor cores as operators write them: `0,2,4-6`, the syntax of `taskset` and `numactl`.

use std::{fmt, str::FromStr};

/// One more than the largest core number, as the kernel's fixed set of cores has it.
pub const CORES_MAX: usize = libc::CPU_SETSIZE as usize;

/// Cores in the order given; a core may be there twice. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores(Vec<usize>);

/// What is wrong with a list of cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoresError {
    /// An item that is neither a number nor two numbers with a hyphen between.
    Item,
    /// A range that ends before it begins.
    Backwards,
    /// A number of [`CORES_MAX`] and above, or more items than that.
    TooLarge,
}

impl Cores {
    /// A list of one.
    pub fn one(core: usize) -> Cores {
        Cores(vec![core])
    }

    /// How many there are, at least one.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// All of them, in order.
    pub fn list(&self) -> &[usize] {
        &self.0
    }

    /// The core of thread number `thread`; after the end the list starts again.
    pub fn of_thread(&self, thread: usize) -> usize {
        self.0[thread % self.0.len()]
    }
}

impl FromStr for Cores {
    type Err = CoresError;

    fn from_str(text: &str) -> Result<Cores, CoresError> {
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| CoresError::Item);
        let mut cores = Vec::new();
        for item in text.split(',') {
            let (first, last) = match item.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(item)?, number(item)?),
            };
            if first > last {
                return Err(CoresError::Backwards);
            }
            if last >= CORES_MAX || cores.len() + (last - first) >= CORES_MAX {
                return Err(CoresError::TooLarge);
            }
            cores.extend(first..=last);
        }
        Ok(Cores(cores))
    }
}

impl fmt::Display for CoresError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CoresError::Item => "expected core numbers and ranges, such as 0,2,4-6",
            CoresError::Backwards => "a range ends before it begins",
            CoresError::TooLarge => "core numbers are below 1024, and a list has at most as many",
        })
    }
}

impl std::error::Error for CoresError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&[usize], CoresError>) {
        assert_eq!(text.parse::<Cores>(), expected.map(|cores| Cores(cores.to_vec())), "{text}");
    }

    #[test]
    fn lists() {
        check("0", Ok(&[0]));
        check("0,2,4-6", Ok(&[0, 2, 4, 5, 6]));
        check("3, 1,1", Ok(&[3, 1, 1]));
        for text in ["", ",", "1,", "a", "1-", "-1", "1-2-3", "0x1"] {
            check(text, Err(CoresError::Item));
        }
        check("6-4", Err(CoresError::Backwards));
        check("1024", Err(CoresError::TooLarge));
        check("0-1023,0", Err(CoresError::TooLarge));
    }

    #[test]
    fn threads_go_round() {
        let cores = Cores(vec![4, 2]);
        assert_eq!([0, 1, 2, 3].map(|thread| cores.of_thread(thread)), [4, 2, 4, 2]);
        assert_eq!(Cores::one(7).of_thread(9), 7);
        assert_eq!(cores.count(), 2);
    }
}
