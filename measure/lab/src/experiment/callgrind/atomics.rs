//! Atomic instructions of programs and libraries, as `objdump` shows them, and how often they were executed.
//!
//! They have a lock prefix, or are `xchg` with memory, which locks without one. glibc executes some around each system call that
//! a thread can be cancelled in, on a word of the thread itself: what a server does for a batch of queries, not for each. They are
//! counted apart.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::counts::Counts;
use crate::{Error, process};

/// The program that reads them.
const PROGRAM: &str = "objdump";

/// Atomic instructions by program or library, read when first asked for; `None` where there is no file, as of code that the kernel maps.
#[derive(Default)]
pub struct Atomics {
    known: HashMap<PathBuf, Option<HashSet<u64>>>,
}

/// Atomic instructions that were executed.
#[derive(Default)]
pub struct Executed {
    /// All.
    pub all: u64,
    /// Of these, by glibc around system calls.
    pub in_libc: u64,
    /// Instructions of all kinds in what cannot be read.
    pub unread: u64,
    /// All by function and file.
    pub by_function: BTreeMap<String, u64>,
}

impl Atomics {
    /// An error where the program is missing, or the processor has other instructions.
    pub fn check() -> Result<(), Error> {
        if !cfg!(target_arch = "x86_64") {
            let rule = "atomic instructions are told apart for x86-64 alone".to_owned();
            return Err(Error::Option { option: "RECIPE", rule });
        }
        let remedy = "it shows which instructions are atomic; on Debian install binutils";
        process::find(PROGRAM).map(drop).ok_or_else(|| Error::Missing { program: PROGRAM.to_owned(), remedy })
    }

    fn of(&mut self, path: &Path) -> Result<Option<&HashSet<u64>>, Error> {
        if !self.known.contains_key(path) {
            let found = if path.is_file() { Some(read(path)?) } else { None };
            self.known.insert(path.to_owned(), found);
        }
        Ok(self.known.get(path).and_then(Option::as_ref))
    }

    /// Those that a run executed.
    pub fn executed(&mut self, counts: &Counts) -> Result<Executed, Error> {
        let mut found = Executed::default();
        for (&(object, address), &(count, function)) in &counts.executed {
            let (path, function) = (Path::new(&counts.objects[object]), &counts.functions[function]);
            match self.of(path)? {
                None => found.unread += count,
                Some(atomic) if atomic.contains(&address) => {
                    let file = path.file_name().unwrap_or_default().to_string_lossy();
                    found.all += count;
                    found.in_libc += if is_cancellation(function) { count } else { 0 };
                    *found.by_function.entry(format!("{function} ({file})")).or_default() += count;
                }
                Some(_) => {}
            }
        }
        Ok(found)
    }
}

/// Addresses of the atomic instructions of a file.
fn read(path: &Path) -> Result<HashSet<u64>, Error> {
    let fault = |cause| Error::System { action: "read the instructions of a program with objdump", cause };
    let mut command = Command::new(process::find(PROGRAM).unwrap_or_else(|| PROGRAM.into()));
    command.args(["-d", "--no-show-raw-insn"]).arg(path).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().map_err(fault)?;
    let mut found = HashSet::new();
    let output = child.stdout.take().expect("started with a pipe");
    let mut reader = BufReader::with_capacity(1 << 20, output);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).map_err(fault)? > 0 {
        found.extend(atomic(&String::from_utf8_lossy(&line)));
        line.clear();
    }
    let status = child.wait().map_err(fault)?;
    match status.success() {
        true => Ok(found),
        false => {
            let command = format!("{PROGRAM} -d --no-show-raw-insn {}", path.display());
            Err(Error::Program { command, status: status.to_string(), said: String::new() })
        }
    }
}

/// The address of an atomic instruction in a line of the listing: `  4a10:<tab>lock cmpxchg %ecx,(%rdx)`.
fn atomic(line: &str) -> Option<u64> {
    let (address, text) = line.split_once(":\t")?;
    let address = u64::from_str_radix(address.trim_start(), 16).ok()?;
    // Prefixes come first: `bnd`, `cs`, `rex.W`.
    let mut words = text.split(' ').filter(|word| !word.is_empty());
    let is_prefix = |word: &str| word.chars().all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '.'));
    let is_exchange = |word: &str| {
        word.strip_prefix("xchg").is_some_and(|width| matches!(width, "" | "b" | "w" | "l" | "q"))
    };
    loop {
        match words.next().map(str::trim_end)? {
            "lock" => return Some(address),
            // An operand in memory has a parenthesis.
            word if is_exchange(word) => return text.contains('(').then_some(address),
            word if is_prefix(word) => {}
            _ => return None,
        }
    }
}

/// Functions of glibc around system calls.
fn is_cancellation(name: &str) -> bool {
    matches!(name.trim_start_matches('_'), "pthread_enable_asynccancel" | "pthread_disable_asynccancel")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomic_instructions_of_a_listing() {
        for (line, expected) in [
            ("  4a10:\tlock cmpxchg %ecx,(%rdx)\n", Some(0x4a10)),
            ("  4a18:\tbnd lock xadd %eax,0x8(%rbx)\n", Some(0x4a18)),
            ("    1f:\txchg   %eax,0x18(%rdi)\n", Some(0x1f)),
            ("    20:\txchgl  %eax,(%rdi)\n", Some(0x20)),
            ("    21:\txchg   %ax,%ax\n", None),
            ("    22:\tmov    %rax,(%rdi)\n", None),
            ("    23:\tcall   40 <lock_it>\n", None),
            ("0000000000004a00 <block lock>:\n", None),
            ("\n", None),
        ] {
            assert_eq!(atomic(line), expected, "{line}");
        }
        assert!(is_cancellation("__pthread_enable_asynccancel") && !is_cancellation("pthread_cancel"));
    }
}
