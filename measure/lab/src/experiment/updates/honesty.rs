//! Whether a server keeps an update before it answers (RFC 2136 3.5), by its system calls.
//!
//! The server and all below it run under strace, in a run that is not timed, as every call costs many times its time there.
//! A sync counts when it has returned, a reply when its sending begins: of replies between two syncs there are at most as many
//! as updates may be in flight.
//!
//! | counts as a sync | |
//! |---|---|
//! | `fsync`, `fdatasync`, `sync`, `syncfs`, `msync` with MS_SYNC | |
//! | writes to a file that was opened with O_SYNC or O_DSYNC, `pwritev2` with RWF_SYNC or RWF_DSYNC | LMDB does so |
//!
//! `sync_file_range` is counted but is none: it does not tell the device to keep anything. What goes through io_uring
//! cannot be seen; that it was used is said.

use std::collections::{BTreeMap, BTreeSet};

/// What is traced.
pub const CALLS: &str = "trace=open,openat,creat,close,dup,dup2,dup3,fsync,fdatasync,sync,syncfs,sync_file_range,msync,write,\
                         pwrite64,writev,pwritev,pwritev2,sendto,sendmsg,sendmmsg,io_uring_enter";
/// Calls that keep all that was written before.
const SYNCS: [&str; 4] = ["fsync", "fdatasync", "sync", "syncfs"];
/// Calls that keep what they write, where the file was opened so.
const WRITES: [&str; 5] = ["write", "pwrite64", "writev", "pwritev", "pwritev2"];
/// Flags in the third octet of a response to an UPDATE, as strace writes it: QR and opcode 5.
const RESPONSE: &str = "\\xa8";
/// How a reply begins over HTTP that says something was done: `HTTP/1.1 2`.
const DONE: &str = "\\x48\\x54\\x54\\x50\\x2f\\x31\\x2e\\x31\\x20\\x32";

/// What is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replies {
    /// Responses to updates, as datagrams.
    #[default]
    Updates,
    /// Replies over HTTP, which are written as files are.
    Http,
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Responses to updates.
    pub replies: u64,
    /// Calls that keep something, by name, from the first response to the last, and the one before the first.
    pub syncs: BTreeMap<String, u64>,
    /// `sync_file_range`, which keeps nothing for certain.
    pub ranges: u64,
    /// Most responses with no sync between them.
    pub unkept_max: u64,
    /// Whether io_uring was used: then there may be syncs that were not seen.
    pub has_rings: bool,
}

impl Seen {
    /// Whether no more updates were answered between two syncs than were in flight.
    pub fn is_honest(&self, window: u64) -> bool {
        self.replies > 0 && !self.syncs.is_empty() && self.unkept_max <= window
    }

    /// In words.
    pub fn verdict(&self, window: u64) -> &'static str {
        match (self.is_honest(window), self.replies, self.has_rings) {
            (true, ..) => "kept before the reply",
            (false, 0, _) => "no reply was seen",
            (false, _, true) => "not to be told: io_uring",
            (false, _, false) => "ANSWERED BEFORE IT WAS KEPT",
        }
    }

    /// `50 fdatasync, 3 fsync`.
    pub fn syncs_text(&self) -> String {
        let mut parts: Vec<String> =
            self.syncs.iter().map(|(call, count)| format!("{count} {call}")).collect();
        if self.ranges > 0 {
            parts.push(format!("{} sync_file_range", self.ranges));
        }
        if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
    }
}

/// The beginning of a command line that traces what follows it into a file.
pub fn tracer(to: &std::path::Path) -> Vec<String> {
    // Strings in hexadecimal; structures in full; as many messages of one call as any server sends.
    let words = ["strace", "-f", "-qq", "-v", "-xx", "-s", "64", "-e", "signal=none", "-e", CALLS, "-o"];
    words.into_iter().map(str::to_owned).chain([to.display().to_string()]).collect()
}

/// Reads what strace wrote.
pub fn read(text: &str, replies: Replies) -> Seen {
    let mut reader = Reader { replies, ..Reader::default() };
    text.lines().for_each(|line| reader.line(line));
    reader.seen
}

#[derive(Default)]
struct Reader {
    replies: Replies,
    seen: Seen,
    /// Calls that have begun and not returned, by thread.
    begun: BTreeMap<String, String>,
    /// Descriptors whose writes are kept before they return. Threads share them; processes of a tree seldom open one so.
    kept: BTreeSet<String>,
    /// Responses since the last sync.
    unkept: u64,
    last_sync: Option<String>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let Some((thread, rest)) = line.trim_start().split_once(' ') else { return };
        let rest = rest.trim_start();
        if let Some(begun) = rest.strip_suffix("<unfinished ...>") {
            self.begin(begun);
            self.begun.insert(thread.to_owned(), begun.to_owned());
        } else if rest.starts_with("<...") {
            let Some(begun) = self.begun.remove(thread) else { return };
            let Some((_, end)) = rest.split_once('>') else { return };
            self.end(&(begun + end));
        } else {
            self.begin(rest);
            self.end(rest);
        }
    }

    /// A call begins: what it sends is on its way.
    fn begin(&mut self, call: &str) {
        let Some((name, words)) = call.split_once('(') else { return };
        match name {
            "sendto" | "sendmsg" | "sendmmsg" | "write" | "writev" => {
                let sent = self.responses(name, words);
                if sent > 0 && self.seen.replies == 0 {
                    // What came before the first update was of no update, but for the sync before this reply.
                    self.seen.ranges = 0;
                    self.seen.syncs = self.last_sync.iter().map(|call| (call.clone(), 1)).collect();
                }
                self.seen.replies += sent;
                self.unkept += sent;
                self.seen.unkept_max = self.seen.unkept_max.max(self.unkept);
            }
            "io_uring_enter" => self.seen.has_rings = true,
            _ => {}
        }
    }

    /// A call has returned.
    fn end(&mut self, call: &str) {
        let (Some((name, words)), Some((_, result))) = (call.split_once('('), call.rsplit_once("= ")) else {
            return;
        };
        if result.starts_with(['-', '?']) {
            return;
        }
        let first = words.split([',', ')']).next().unwrap_or_default().trim();
        let result = result.split_whitespace().next().unwrap_or_default();
        match name {
            "open" | "openat" | "creat" if words.contains("O_SYNC") || words.contains("O_DSYNC") => {
                self.kept.insert(result.to_owned());
            }
            "open" | "openat" | "creat" => drop(self.kept.remove(result)),
            "close" => drop(self.kept.remove(first)),
            "dup" if self.kept.contains(first) => drop(self.kept.insert(result.to_owned())),
            "sync_file_range" => self.seen.ranges += 1,
            "msync" if words.contains("MS_SYNC") => self.sync("msync"),
            name if SYNCS.contains(&name) => self.sync(name),
            "pwritev2" if words.contains("RWF_SYNC") || words.contains("RWF_DSYNC") => {
                self.sync("pwritev2 (RWF_DSYNC)")
            }
            name if WRITES.contains(&name) && self.kept.contains(first) => {
                self.sync(&format!("{name} (O_DSYNC)"));
            }
            _ => {}
        }
    }

    /// How many of the strings of a call are replies: messages that begin with any ID and those flags, or with a line of HTTP.
    fn responses(&self, name: &str, words: &str) -> u64 {
        let is_reply = |text: &&str| match self.replies {
            Replies::Updates => name.starts_with("send") && text.get(8..12) == Some(RESPONSE),
            Replies::Http => text.starts_with(DONE),
        };
        words.split('"').skip(1).step_by(2).filter(is_reply).count() as u64
    }

    fn sync(&mut self, call: &str) {
        *self.seen.syncs.entry(call.to_owned()).or_default() += 1;
        self.last_sync = Some(call.to_owned());
        self.unkept = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Seen {
        super::read(text, Replies::Updates)
    }

    /// A response as strace shows it, sent by a thread.
    fn reply(thread: u32) -> String {
        format!(
            "{thread} sendmsg(20, {{msg_name={{sa_family=AF_INET, sin_port=htons(4)}}, msg_iov=[{{iov_base=\"\\x12\\x34\\xa8\\x00\", \
             iov_len=12}}], msg_iovlen=1}}, 0) = 12\n"
        )
    }

    #[test]
    fn who_syncs_before_it_answers() {
        let start = "7 fsync(3) = 0\n7 fsync(3) = 0\n".to_owned();
        let answer = "8 sendto(9, \"\\x00\\x01\\x84\\x00\", 12, 0, NULL, 0) = 12\n";
        let text = start + answer + &("8 fdatasync(5) = 0\n".to_owned() + &reply(7)).repeat(4);
        let seen = read(&text);
        assert_eq!((seen.replies, seen.unkept_max, seen.syncs_text().as_str()), (4, 1, "4 fdatasync"));
        assert!(seen.is_honest(1) && seen.verdict(1) == "kept before the reply");
    }

    #[test]
    fn who_does_not() {
        // A sync that failed, one that has not returned, and a range are none.
        let text = "7 fsync(3) = 0\n".to_owned()
            + &reply(7)
            + "8 fdatasync(5) = -1 EIO (Input/output error)\n8 fdatasync(5 <unfinished ...>\n"
            + "9 sync_file_range(5, 0, 0, SYNC_FILE_RANGE_WRITE) = 0\n"
            + &reply(7).repeat(2)
            + "8 <... fdatasync resumed>)   = 0\n"
            + &reply(7);
        let seen = read(&text);
        assert_eq!((seen.replies, seen.unkept_max, seen.ranges), (4, 3, 1));
        assert_eq!(seen.syncs_text(), "1 fdatasync, 1 fsync, 1 sync_file_range");
        assert!(!seen.is_honest(1) && !seen.is_honest(2) && seen.is_honest(3));
        assert_eq!(seen.verdict(1), "ANSWERED BEFORE IT WAS KEPT");
        assert_eq!(read(&reply(7)).verdict(5), "ANSWERED BEFORE IT WAS KEPT", "no sync at all");
        assert_eq!(read("7 io_uring_enter(4, 1, 1, 0, NULL, 8) = 1\n").verdict(1), "no reply was seen");
    }

    #[test]
    fn replies_over_http() {
        let reply = format!("9 write(14, \"{DONE}\\x30\\x34\", 12) = 12\n");
        let refused = reply.replace("\\x20\\x32", "\\x20\\x34");
        let text = "7 fdatasync(3) = 0\n".to_owned() + &reply + &refused + "7 fdatasync(3) = 0\n" + &reply;
        let seen = super::read(&text, Replies::Http);
        assert_eq!((seen.replies, seen.unkept_max, seen.syncs_text().as_str()), (2, 1, "2 fdatasync"));
        assert_eq!(read(&text).replies, 0);
        let twice = "7 fsync(3) = 0\n".to_owned() + &reply.replace("write(", "sendto(").repeat(2);
        assert!(!super::read(&twice, Replies::Http).is_honest(1));
    }

    #[test]
    fn files_that_are_written_through() {
        let open = "7 openat(AT_FDCWD, \"\\x64\", O_RDWR|O_DSYNC|O_CLOEXEC, 0600) = 11\n";
        let write = "7 pwrite64(11, \"\\x00\\x01\\xa8\", 8, 0)  = 8\n".to_owned() + &reply(8);
        let seen = read(&(open.to_owned() + &write.repeat(3)));
        assert_eq!((seen.syncs_text().as_str(), seen.unkept_max), ("3 pwrite64 (O_DSYNC)", 1));
        let closed = open.to_owned() + "7 close(11) = 0\n7 openat(AT_FDCWD, \"\\x64\", O_RDWR) = 11\n";
        assert!(!read(&(closed + &write.repeat(3))).is_honest(1));
        let many = "7 sendmmsg(3, [{msg_hdr={msg_iov=[{iov_base=\"\\x00\\x01\\xa8\\x00\", iov_len=12}]}, msg_len=12}, \
                    {msg_hdr={msg_iov=[{iov_base=\"\\x00\\x02\\xa8\\x00\", iov_len=12}]}, msg_len=12}], 2, 0) = 2\n";
        assert_eq!(read(many).replies, 2);
    }
}
