//! Parts of a file of updates: each update holds once, after those before it, so that every run needs its own.

use std::{fs, path::Path};

use crate::{Error, error};

/// A file of updates, one message after the other.
pub struct Script {
    /// What stands before the first message and concerns all: the zone.
    head: String,
    messages: Vec<String>,
    at: usize,
}

impl Script {
    /// Reads a file as the generator writes it.
    pub fn read(path: &Path) -> Result<Script, Error> {
        let text = fs::read_to_string(path).map_err(error::file(path, "read"))?;
        Ok(Script::of(&text))
    }

    fn of(text: &str) -> Script {
        let zones = text.lines().filter(|line| line.starts_with("zone ")).count();
        // Where each message names its zone, nothing concerns all.
        let (head, rest) = match text.split_once('\n') {
            Some((first, rest)) if zones == 1 && first.starts_with("zone ") => (format!("{first}\n"), rest),
            _ => (String::new(), text),
        };
        Script { head, messages: rest.split_inclusive("send\n").map(str::to_owned).collect(), at: 0 }
    }

    /// Begins anew, for a server that has seen none of it.
    pub fn rewind(&mut self) {
        self.at = 0;
    }

    /// Writes the next `count` messages to a file; fewer where there are no more.
    pub fn part(&mut self, count: usize, to: &Path) -> Result<(), Error> {
        let end = (self.at + count).min(self.messages.len());
        let part = self.head.clone() + &self.messages[self.at..end].concat();
        self.at = end;
        fs::write(to, part).map_err(error::file(to, "write"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part");
        let next = |script: &mut Script, count| {
            script.part(count, &path).unwrap();
            fs::read_to_string(&path).unwrap()
        };
        let message = |name: &str| format!("update delete {name}.\nsend\n");
        let mut script = Script::of(&("zone z.\n".to_owned() + &["a", "b", "c"].map(message).concat()));
        assert_eq!(next(&mut script, 2), "zone z.\n".to_owned() + &message("a") + &message("b"));
        assert_eq!(next(&mut script, 2), "zone z.\n".to_owned() + &message("c"));
        script.rewind();
        assert_eq!(next(&mut script, 1), "zone z.\n".to_owned() + &message("a"));
        let both = ["x", "y"].map(|zone| format!("zone {zone}.\n{}", message(zone)));
        let mut many = Script::of(&both.concat());
        assert_eq!([next(&mut many, 1), next(&mut many, 5)], both);
    }
}
