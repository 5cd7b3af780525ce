//! What a file of callgrind says: calls by function, executions by instruction.
//!
//! ```text
//! ob=/usr/sbin/named                  the program or library of what follows
//! fn=answer                           the function
//! 0x1a0 12                            an instruction and how often it was executed
//! cfn=malloc@GLIBC_2.2.5              it calls
//! calls=3 0x90                        so often
//! 0x1a6 412                           what that cost in all: is counted there already
//! ```

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use crate::{Error, error};

/// Options with which callgrind writes names and positions in full, and every instruction.
pub const OPTIONS: [&str; 4] =
    ["--dump-instr=yes", "--dump-line=no", "--compress-strings=no", "--compress-pos=no"];
/// What a place has before any is named.
const NOWHERE: usize = 0;

/// Counts of all processes of a run.
pub struct Counts {
    /// Calls by the name of the called function.
    pub calls: HashMap<String, u64>,
    /// How often each instruction was executed: by its place in `objects` and its address there, with the place of its function in
    /// `functions`.
    pub executed: HashMap<(usize, u64), (u64, usize)>,
    /// Programs and libraries.
    pub objects: Vec<String>,
    /// Names of functions.
    pub functions: Vec<String>,
}

/// Places of objects and of functions in their lists, by name.
type Names = [HashMap<String, usize>; 2];

/// What the lines read so far say of the next.
#[derive(Default)]
struct Place {
    object: usize,
    function: usize,
    called: String,
    /// The next numbers are what a call cost.
    is_call: bool,
}

impl Counts {
    /// Reads the files of a run.
    pub fn read(files: &[PathBuf]) -> Result<Counts, Error> {
        let mut counts = Counts {
            calls: HashMap::new(),
            executed: HashMap::new(),
            objects: vec![String::new()],
            functions: vec![String::new()],
        };
        let mut names = Names::default();
        for path in files {
            counts.add(path, &mut names)?;
        }
        Ok(counts)
    }

    /// Adds a file, of which names may hold anything.
    fn add(&mut self, path: &Path, names: &mut Names) -> Result<(), Error> {
        let mut reader =
            BufReader::with_capacity(1 << 20, File::open(path).map_err(error::file(path, "open"))?);
        let (mut line, mut place) = (Vec::new(), Place { object: NOWHERE, ..Place::default() });
        loop {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(error::file(path, "read"))? == 0 {
                return Ok(());
            }
            self.line(String::from_utf8_lossy(&line).trim_end(), &mut place, names);
        }
    }

    fn line(&mut self, line: &str, place: &mut Place, [objects, functions]: &mut Names) {
        if line.starts_with("0x") {
            if !place.is_call {
                self.execution(line, place);
            }
            place.is_call = false;
        } else if let Some(rest) = line.strip_prefix("calls=") {
            let count = rest.split_whitespace().next().and_then(|count| count.parse::<u64>().ok());
            *self.calls.entry(place.called.clone()).or_default() += count.unwrap_or(0);
            place.is_call = true;
        } else if let Some(name) = line.strip_prefix("cfn=") {
            plain(name).clone_into(&mut place.called);
        } else if let Some(name) = line.strip_prefix("fn=") {
            place.function = number(functions, plain(name), &mut self.functions);
        } else if let Some(name) = line.strip_prefix("ob=") {
            place.object = number(objects, name, &mut self.objects);
        }
    }

    fn execution(&mut self, line: &str, place: &Place) {
        let mut words = line.split_whitespace();
        let address = words.next().and_then(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
        let count = words.next().and_then(|word| word.parse::<u64>().ok());
        if let (Some(address), Some(count)) = (address, count) {
            let key = (place.object, address);
            self.executed.entry(key).or_insert((0, place.function)).0 += count;
        }
    }

    /// Calls of all functions whose names are meant.
    pub fn called(&self, is_meant: impl Fn(&str) -> bool) -> u64 {
        self.calls.iter().filter(|(name, _)| is_meant(name)).map(|(_, count)| count).sum()
    }

    /// Instructions in all.
    pub fn instructions(&self) -> u64 {
        self.executed.values().map(|(count, _)| count).sum()
    }
}

/// The place of a name in a list; one that is new is put at its end.
fn number<T: for<'a> From<&'a str>>(
    known: &mut HashMap<String, usize>,
    name: &str,
    list: &mut Vec<T>,
) -> usize {
    if let Some(&at) = known.get(name) {
        return at;
    }
    list.push(T::from(name));
    known.insert(name.to_owned(), list.len() - 1);
    list.len() - 1
}

/// A function's name without callgrind's mark of recursion and the linker's version.
fn plain(name: &str) -> &str {
    let name = name.trim();
    let end = name.find(['\'', '@']).unwrap_or(name.len());
    &name[..end]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_not_counted_twice() {
        let text = "version: 1\npositions: instr\nevents: Ir\n\nob=/bin/a\nfn=main\n0x10 5\n0x14 5\ncfn=malloc@GLIBC\ncalls=3 0x90\n\
                    0x18 600\n0x1c 5\n\nob=/lib/c\nfn=malloc@GLIBC\n0x90 300\n0x94 300\n\nob=/bin/a\nfn=work'2\n0x10 1\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1");
        std::fs::write(&path, text).unwrap();
        let counts = Counts::read(&[path.clone(), path]).unwrap();
        assert_eq!((counts.called(|name| name == "malloc"), counts.called(|name| name == "main")), (6, 0));
        assert_eq!(counts.instructions(), 2 * (5 + 5 + 5 + 300 + 300 + 1));
        let of = |function: &str| -> u64 {
            let all = counts.executed.values();
            all.filter(|(_, at)| counts.functions[*at] == function).map(|(count, _)| count).sum()
        };
        assert_eq!(
            (of("malloc"), of("work")),
            (1200, 0),
            "an instruction is of the function where it was seen first"
        );
    }
}
