//! Where a sink writes to, and what it writes: frames or lines.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A socket of this machine: a stream for frames, datagrams for lines.
    Unix(PathBuf),
    /// A collector elsewhere.
    Tcp(SocketAddr),
    /// A file.
    File(PathBuf),
}

impl Output {
    /// Reads `unix:PATH`, `tcp:ADDRESS:PORT` or `file:PATH`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Output> {
        let path = |path: &str| (!path.is_empty() && !path.contains('\0')).then(|| PathBuf::from(path));
        match text.split_once(':')? {
            ("unix", rest) => path(rest).map(Output::Unix),
            ("file", rest) => path(rest).map(Output::File),
            ("tcp", rest) => rest.parse().ok().map(Output::Tcp),
            _ => None,
        }
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Output::Unix(path) => write!(f, "unix:{}", path.display()),
            Output::File(path) => write!(f, "file:{}", path.display()),
            Output::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

/// Bounds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileBounds {
    /// Octets of one; then comes the next.
    pub octets_max: u64,
    /// Files in all, that which is written included; the oldest go.
    pub files_max: u32,
    /// With less room on the disk nothing is written.
    pub free_octets_min: u64,
}

/// What is written: how it is cut into units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Units {
    /// Frames of Frame Streams: each behind its length.
    Frames,
    /// Lines, each with its end.
    Lines,
}

impl Units {
    /// How many units `octets` begins with that are whole, and what they take.
    pub(crate) fn whole(self, octets: &[u8]) -> (u64, usize) {
        let (mut units, mut at) = (0, 0);
        while let Some(end) = self.end(&octets[at..]) {
            (units, at) = (units + 1, at + end);
        }
        (units, at)
    }

    /// Where the first unit ends.
    fn end(self, octets: &[u8]) -> Option<usize> {
        match self {
            Units::Lines => octets.iter().position(|octet| *octet == b'\n').map(|end| end + 1),
            Units::Frames => {
                let (length, rest) = octets.split_first_chunk::<4>()?;
                let length = u32::from_be_bytes(*length) as usize;
                (length <= rest.len()).then_some(4 + length)
            }
        }
    }
}

/// Why something was not written as a whole.
pub(crate) struct Cut {
    /// Octets that were: whole units.
    pub(crate) kept: usize,
    /// Why not more.
    pub(crate) error: io::Error,
    /// Whether it has to be opened again before anything else is written.
    pub(crate) is_closed: bool,
}

/// What a sink does with blocks. Nothing of it waits for longer than [`ANSWER_PATIENCE`] at a time.
pub(crate) trait Write: Send {
    /// Opens it, for the first time or again. `until`: in vain after this moment.
    fn open(&mut self, until: Instant) -> io::Result<()>;
    /// Writes whole units.
    fn write(&mut self, octets: &[u8]) -> Result<(), Cut>;
    /// Whether whoever reads has gone, as far as that can be seen without writing.
    fn is_gone(&self) -> bool {
        false
    }
    /// Says that nothing more comes, and closes it.
    fn close(&mut self, until: Instant);
}

/// For how long a collector or a disk is waited for.
pub(crate) const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_read() {
        for text in ["unix:/run/a.sock", "file:log/queries", "tcp:127.0.0.1:6000", "tcp:[::1]:6000"] {
            assert_eq!(Output::parse(text).map(|output| output.to_string()).as_deref(), Some(text));
        }
        for text in ["", "unix:", "file:", "tcp:127.0.0.1", "tcp:name:53", "udp:127.0.0.1:1", "/run/a.sock"] {
            assert_eq!(Output::parse(text), None, "{text}");
        }
    }

    #[test]
    fn units_that_are_whole() {
        assert_eq!(Units::Lines.whole(b"one\ntwo\nthr"), (2, 8));
        assert_eq!(Units::Lines.whole(b"one"), (0, 0));
        assert_eq!(Units::Frames.whole(b"\0\0\0\x01a\0\0\0\x02bc\0\0\0\x02d"), (2, 11));
        assert_eq!(Units::Frames.whole(b"\xff\xff\xff\xffa"), (0, 0), "a length beyond the end");
        assert_eq!(Units::Frames.whole(b"\0\0"), (0, 0));
    }
}
