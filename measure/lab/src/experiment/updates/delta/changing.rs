//! What changes in a large zone: messages that change addresses, evenly spread over it, and queries for what they change.

use std::{
    fs::File,
    io::{BufRead, BufReader, BufWriter, Write},
    path::PathBuf,
};

use crate::{Error, data::Set, error, experiment::Lab};

/// Records that change in a message: some 40 KiB of the 64 that a stream takes.
const MESSAGE_RECORDS: usize = 500;
/// Names that have changed which are asked for.
const ASKED_MAX: usize = 200_000;

/// Files of what changes, and of queries for it.
pub(super) struct Changing {
    /// Messages.
    pub(super) messages: PathBuf,
    /// Records that they change.
    pub(super) records: usize,
    /// Queries for some of these.
    pub(super) queries: PathBuf,
}

/// Messages that change addresses, evenly spread over the zone, and queries for what they change.
pub(super) fn changing(lab: &Lab, apex: &str, set: &Set) -> Result<Changing, Error> {
    let Some((_, zone)) = set.zones.list.first() else { return Err(Error::Nobody) };
    let folder = lab.folder("updates")?;
    let [messages, queries] = ["messages", "changed.queries"].map(|name| folder.join(name));
    let hosts = set.zones.records as usize;
    let records = ((lab.recipe.changes.records as f64 * lab.effort.scale) as usize).clamp(1, hosts / 2);
    let create = |path: &PathBuf| File::create(path).map_err(error::file(path, "create")).map(BufWriter::new);
    let mut message = Message::new(create(&messages)?, apex);
    let mut asked = create(&queries)?;
    let reader = BufReader::new(File::open(zone).map_err(error::file(zone, "open"))?);
    let failed = error::file(zone, "read the addresses of");
    let is_changed = |host: usize| (host + 1) * records / hosts > host * records / hosts;
    let (mut host, mut asked_count) = (0, 0);
    let each = || -> std::io::Result<()> {
        for line in reader.lines() {
            let line = line?;
            let mut words = line.split_ascii_whitespace();
            let (Some(label), Some("A")) = (words.next(), words.next()) else { continue };
            if is_changed(host) {
                message.change(label, apex, host)?;
                if asked_count < ASKED_MAX {
                    writeln!(asked, "{label}.{apex} A")?;
                    asked_count += 1;
                }
            }
            host += 1;
        }
        message.end()?;
        asked.flush()
    };
    each().map_err(failed)?;
    Ok(Changing { messages, records: message.records, queries })
}

/// A file of messages with many changes each.
struct Message {
    file: BufWriter<File>,
    open: usize,
    records: usize,
    head: String,
}

impl Message {
    fn new(file: BufWriter<File>, apex: &str) -> Message {
        Message { file, open: 0, records: 0, head: format!("zone {apex}\n") }
    }

    /// Another address of a host, which no other has: the first octet is one of no generated zone.
    fn change(&mut self, label: &str, apex: &str, host: usize) -> std::io::Result<()> {
        self.file.write_all(std::mem::take(&mut self.head).as_bytes())?;
        let [_, a, b, c] = (host as u32).to_be_bytes();
        writeln!(
            self.file,
            "update delete {label}.{apex} A\nupdate add {label}.{apex} 3600 A 240.{a}.{b}.{c}"
        )?;
        (self.open, self.records) = (self.open + 1, self.records + 1);
        if self.open == MESSAGE_RECORDS { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> std::io::Result<()> {
        self.open = 0;
        self.file.write_all(b"send\n")
    }

    fn end(&mut self) -> std::io::Result<()> {
        if self.open > 0 {
            self.send()?;
        }
        self.file.flush()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn messages_are_full_and_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changes");
        let mut file = Message::new(BufWriter::new(File::create(&path).unwrap()), "z.");
        (0..MESSAGE_RECORDS + 1).for_each(|host| file.change(&format!("h{host}"), "z.", host).unwrap());
        file.end().unwrap();
        let script = bench::update::Script::read(&path, None).unwrap();
        assert_eq!((script.count(), script.changes(0), script.changes(1)), (2, 1000, 2));
        assert!(fs::read_to_string(&path).unwrap().contains("add h500.z. 3600 A 240.0.1.244"));
    }
}
