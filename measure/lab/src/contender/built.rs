//! What a program says about its version, and about how it was built: two packages of one version may differ by what their
//! makers left out.

use super::Programs;
use crate::{peers, process, recipe::Name};

/// Most lines that are kept of what a program says.
const LINES_MAX: usize = 60;

/// What a program says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Its version, in a line.
    pub version: String,
    /// The options that it was built with, and the libraries, as it tells them; empty where it does not.
    pub options: String,
}

impl Name {
    /// What the program says of itself.
    pub fn built(self, programs: &Programs) -> Built {
        let (zonda, bench) = (programs.zonda.to_string_lossy(), programs.bench.to_string_lossy());
        let said = match self {
            Name::Zonda | Name::Limited | Name::ZondaSqlite | Name::ZondaPostgresql => {
                process::said(&[&zonda, "--version"])
            }
            Name::Before => process::said(&[&programs.before.to_string_lossy(), "--version"]),
            Name::Engine(_) | Name::Echo => process::said(&[&bench, "--version"]),
            Name::Named => process::said(&["named", "-V"]),
            Name::Nsd => process::said(&["nsd", "-v"]),
            // Versions before 3.3 tell no more than with `--version`.
            Name::Knot => process::said(&["knotd", "-VV"]),
            Name::Pdns | Name::PdnsSqlite | Name::PdnsPostgresql => powerdns(),
            Name::Unbound => process::said(&["unbound", "-V"]),
            Name::Kresd => process::said(&["kresd", "--version"]),
            Name::Recursor => process::said(&["pdns_recursor", "--version"]),
        };
        read(&said.unwrap_or_default())
    }

    /// What this program was built without that makes it slower than its makers' own builds, by the options that it tells; `None`
    /// where there is nothing of that kind.
    pub fn lacks(self, options: &str) -> Option<&'static str> {
        // Without this option NSD's script for building leaves it out.
        let is_without = self == Name::Nsd && !options.is_empty() && !options.contains("--enable-recvmmsg");
        is_without
            .then_some("recvmmsg and sendmmsg: each packet costs it a system call to receive and one to send")
    }
}

/// PowerDNS loads its modules before it says anything, as the system's settings say if it may read them.
fn powerdns() -> Option<String> {
    let modules = peers::chosen().and_then(peers::Folder::powerdns_modules);
    let modules = modules.map(|path| format!("--module-dir={}", path.display()));
    let words: Vec<&str> =
        ["pdns_server", "--no-config", "--version"].into_iter().chain(modules.as_deref()).collect();
    process::said(&words)
}

/// The version and what else was said. PowerDNS says the time before each line, and what it loads before its version.
fn read(said: &str) -> Built {
    let lines = said.lines().map(str::trim_end);
    let mut lines =
        lines.map(|line| without_time(line).unwrap_or(line)).filter(|line| !line.trim().is_empty());
    let is_loading = |line: &&str| line.starts_with("Loading ") || line.contains("nable to load module");
    let version = lines.by_ref().find(|line| !is_loading(line)).map_or("not told", str::trim).to_owned();
    let is_option = |line: &&str| !is_loading(line) && !line.contains("WARRANTY");
    Built { version, options: lines.filter(is_option).take(LINES_MAX).collect::<Vec<_>>().join("\n") }
}

/// What comes after `Nov 23 18:09:54 `.
fn without_time(line: &str) -> Option<&str> {
    let (time, rest) = line.split_at_checked(16)?;
    let is_time = time.bytes().zip(b"Aaa dd dd:dd:dd ".iter()).all(|(octet, shape)| match shape {
        b'd' => octet.is_ascii_digit() || octet == b' ',
        b'A' | b'a' => octet.is_ascii_alphabetic(),
        other => octet == *other,
    });
    is_time.then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_programs_say() {
        let nsd = "NSD version 4.15.4\nWritten by NLnet Labs.\n\nConfigure line: --prefix=/usr --disable-recvmmsg\n";
        let built = read(nsd);
        assert_eq!(built.version, "NSD version 4.15.4");
        assert_eq!(built.options, "Written by NLnet Labs.\nConfigure line: --prefix=/usr --disable-recvmmsg");
        let powerdns = "Nov  3 18:09:54 Loading '/usr/lib/pdns/libbindbackend.so'\nNov 23 18:09:54 PowerDNS Authoritative \
                        Server 4.7.3 (C)\nNov 23 18:09:54 PowerDNS comes with ABSOLUTELY NO WARRANTY.\nNov 23 18:09:54 \
                        Configured with: -Dmodule-dir=x\n";
        let (version, options) =
            ("PowerDNS Authoritative Server 4.7.3 (C)", "Configured with: -Dmodule-dir=x");
        let expected = Built { version: version.to_owned(), options: options.to_owned() };
        assert_eq!(read(powerdns), expected);
        assert_eq!(read(""), Built { version: "not told".to_owned(), options: String::new() });
    }

    #[test]
    fn says_what_a_build_lacks() {
        assert!(Name::Nsd.lacks("Configure line: --disable-recvmmsg").is_some());
        assert!(Name::Nsd.lacks("Configure line: --prefix=/usr").is_some());
        assert_eq!(Name::Nsd.lacks("Configure line: --enable-recvmmsg"), None);
        assert_eq!(Name::Nsd.lacks(""), None, "it does not tell");
        assert_eq!(Name::Knot.lacks("Configure: --enable-recvmmsg=yes"), None);
    }
}
