//! The limit of durable updates: a server that does nothing with a message but keep it, and the rate of the disk alone.
//!
//! ```text
//! receive all that waits -> one block or more, written in place and durable -> a reply to each
//! ```
//!
//! No server that keeps what it acknowledges (RFC 2136 3.5) can do less. What waits together is made durable together. The
//! file is as long as it will ever be, and all of it was written and made durable before: a write changes no metadata, so
//! that a sync is one write of the device. It goes past the system's cache (`O_DIRECT`, `O_DSYNC`), which is quicker than a
//! write and `fdatasync`; so it is done where a file system has no such thing, or where [`Way::Fdatasync`] is asked for.

use std::{
    fs::{File, OpenOptions},
    io,
    net::{SocketAddr, UdpSocket},
    os::unix::fs::FileExt,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use serde_json::{Value, json};

use crate::{Error, error};

/// What is written at a time, and a multiple of what any device writes at once.
pub const BLOCK_OCTETS: usize = 4096;
/// Length of the file: long enough that the same block is not written again while it is on its way.
const FILE_OCTETS: u64 = 16 << 20;
/// Messages made durable together at most: more than any experiment has outstanding at once.
const BATCH_MAX: usize = 1024;
/// Longest message taken; updates sent as datagrams have 1232 octets at most.
const MESSAGE_OCTETS_MAX: usize = 4096;
/// Longest sleep, so that an end asked for is seen.
const SLEEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Syncs that are timed at most: enough for a median.
const SYNCS_MAX: usize = 100_000;

/// How what is written becomes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Past the system's cache, where that can be.
    Direct,
    /// By a write into it and `fdatasync`, as most servers do.
    Fdatasync,
}

/// A file that is written round and round.
struct Ring {
    file: File,
    /// The same file past the cache.
    direct: Option<File>,
    /// Has room for what is written and a block more, as the system takes only what begins at a block of memory.
    room: Vec<u8>,
    at: u64,
}

impl Ring {
    /// Makes it, all of it written and durable.
    fn make(path: &Path, way: Way) -> Result<Ring, Error> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path);
        let file = file.map_err(error::file(path, "create"))?;
        let zeros = vec![0; 1 << 20];
        let fill = || -> io::Result<()> {
            for at in (0..FILE_OCTETS).step_by(zeros.len()) {
                file.write_all_at(&zeros, at)?;
            }
            file.sync_all()
        };
        fill().map_err(error::file(path, "write"))?;
        let flags = (OFlags::DIRECT | OFlags::DSYNC).bits();
        let direct = OpenOptions::new().write(true).custom_flags(flags as i32).open(path).ok();
        Ok(Ring { file, direct: direct.filter(|_| way == Way::Direct), room: Vec::new(), at: 0 })
    }

    /// Writes whole blocks and waits until they are durable. `octets`: at most the file's length.
    fn keep(&mut self, octets: &[u8]) -> io::Result<()> {
        if self.at + octets.len() as u64 > FILE_OCTETS {
            self.at = 0;
        }
        let at = self.at;
        self.at += octets.len() as u64;
        if let Some(direct) = &self.direct {
            self.room.resize(self.room.len().max(octets.len() + BLOCK_OCTETS), 0);
            let begin = self.room.as_ptr().align_offset(BLOCK_OCTETS).min(BLOCK_OCTETS);
            let blocks = &mut self.room[begin..begin + octets.len()];
            blocks.copy_from_slice(octets);
            match direct.write_all_at(blocks, at) {
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => self.direct = None,
                written => return written,
            }
        }
        self.file.write_all_at(octets, at)?;
        self.file.sync_data()
    }
}

/// How fast a disk keeps what is written.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    /// Writes of a block, each durable before the next, a second.
    pub rate: f64,
    /// Microseconds of one in the middle.
    pub median_us: f64,
}

impl Disk {
    /// As a JSON object.
    pub fn json(&self) -> Value {
        json!({ "rate": self.rate, "median_us": self.median_us })
    }
}

/// Writes blocks to a new file at `path` for about `time`, each made durable before the next, and removes the file.
pub fn measure(path: &Path, time: Duration, way: Way) -> Result<Disk, Error> {
    let mut ring = Ring::make(path, way)?;
    let (block, began, mut times) = ([0x5a; BLOCK_OCTETS], Instant::now(), Vec::new());
    let mut write = || -> io::Result<()> {
        while times.is_empty() || (times.len() < SYNCS_MAX && began.elapsed() < time) {
            let before = Instant::now();
            ring.keep(&block)?;
            times.push(before.elapsed().as_secs_f64() * 1e6);
        }
        Ok(())
    };
    let result = write().map_err(error::file(path, "write"));
    let seconds = began.elapsed().as_secs_f64().max(1e-9);
    // Whatever came of it, the file is not to stay; a disk that is full or gone has been reported by then.
    let _ = std::fs::remove_file(path);
    result?;
    times.sort_by(f64::total_cmp);
    Ok(Disk { rate: times.len() as f64 / seconds, median_us: times[times.len() / 2] })
}

/// What the server did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages kept and answered.
    pub messages: u64,
    /// Syncs that this took.
    pub syncs: u64,
}

/// The server.
pub struct Durable {
    socket: UdpSocket,
    ring: Ring,
}

impl Durable {
    /// Makes its file and its socket.
    pub fn new(address: SocketAddr, path: &Path, way: Way) -> Result<Durable, Error> {
        let fault = |action| move |cause| Error::Socket { address, action, cause };
        let ring = Ring::make(path, way)?;
        let socket = UdpSocket::bind(address).map_err(fault("listen on"))?;
        socket.set_nonblocking(true).map_err(fault("listen on"))?;
        Ok(Durable { socket, ring })
    }

    /// Where it answers.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Keeps and answers all that comes until `stop` is set. Of a message that is no request nothing is kept.
    pub fn run(mut self, stop: &AtomicBool) -> Result<Counts, Error> {
        let address = self.address().map_err(|cause| Error::System { action: "ask a socket", cause })?;
        let fault = |cause| Error::Socket { address, action: "keep what came to", cause };
        let (mut counts, mut kept, mut replies) = (Counts::default(), Vec::new(), Vec::new());
        while !stop.load(Ordering::Relaxed) {
            let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
            match poll(&mut fds, Some(&SLEEP)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                other => other.map_err(|errno| fault(errno.into()))?,
            };
            kept.clear();
            replies.clear();
            self.receive(&mut kept, &mut replies);
            if replies.is_empty() {
                continue;
            }
            kept.resize(kept.len().next_multiple_of(BLOCK_OCTETS), 0);
            self.ring.keep(&kept).map_err(fault)?;
            counts.syncs += 1;
            for (reply, client) in &replies {
                // A client that is gone gets none.
                let _ = self.socket.send_to(reply, client);
                counts.messages += 1;
            }
        }
        Ok(counts)
    }

    /// Takes what waits: the messages with their lengths, and replies of a header alone.
    fn receive(&self, kept: &mut Vec<u8>, replies: &mut Vec<([u8; 12], SocketAddr)>) {
        let mut room = [0; MESSAGE_OCTETS_MAX];
        while replies.len() < BATCH_MAX {
            let Ok((octets, client)) = self.socket.recv_from(&mut room) else { return };
            let Some(&[id0, id1, flags, _, ..]) = room[..octets].first_chunk::<12>() else { continue };
            if flags & 0x80 != 0 {
                continue;
            }
            kept.extend_from_slice(&(octets as u16).to_be_bytes());
            kept.extend_from_slice(&room[..octets]);
            // NOERROR; the opcode as it came.
            replies.push(([id0, id1, flags | 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0], client));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn keeps_before_it_replies() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        let durable = Durable::new("127.0.0.1:0".parse().unwrap(), &path, Way::Direct).unwrap();
        let address = durable.address().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let running = std::thread::spawn(move || durable.run(&told).unwrap());
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client.connect(address).unwrap();
        // A response and half a header get nothing; two updates do.
        client.send(b"\0\x09\xa8\0\0\0\0\0\0\0\0\0").unwrap();
        client.send(b"\0\x08\x28\0").unwrap();
        for text in [b"first", b"again"] {
            let message = [b"\x01\x02\x28\0\0\x01\0\0\0\0\0\0", &text[..]].concat();
            client.send(&message).unwrap();
            let mut reply = [0; 100];
            assert_eq!(client.recv(&mut reply).unwrap(), 12);
            assert_eq!(reply[..4], *b"\x01\x02\xa8\0");
            let file = std::fs::read(&path).unwrap();
            assert!(file.windows(message.len()).any(|part| part == message), "it is in the file");
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(running.join().unwrap(), Counts { messages: 2, syncs: 2 });
        assert_eq!(std::fs::metadata(&path).unwrap().len(), FILE_OCTETS, "it is written in place");
    }

    #[test]
    fn a_ring_goes_round() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ring");
        for way in [Way::Direct, Way::Fdatasync] {
            let mut ring = Ring::make(&path, way).unwrap();
            ring.at = FILE_OCTETS - BLOCK_OCTETS as u64;
            for letter in [1, 2] {
                ring.keep(&[letter; BLOCK_OCTETS]).unwrap();
            }
            let file = std::fs::read(&path).unwrap();
            assert!(file.len() as u64 == FILE_OCTETS && file[0] == 2 && file[file.len() - 1] == 1);
            let disk = measure(&path, Duration::from_millis(5), way).unwrap();
            assert!(disk.rate > 0.0 && disk.median_us > 0.0 && !path.exists());
        }
    }
}
