//! A little Internet for resolvers: a root, a top-level domain, and zones below it by kind. Every name below a zone that is there exists,
//! by a wildcard, so that as many as wanted can be asked for; zones that are attacked have no names to speak of.
//!
//! ```text
//! .  example.                       on the parent's server
//! k0.example. k1.example. …         known: `* A`                                      on a server that answers
//! n0.example. …                     attacked: what is asked for does not exist        on another one
//! s0.example. …                     the same, signed (NSEC)                           there too
//! w0.example. …                     attacked: its server takes its time               (`bed::Slow`)
//! d0.example. …                     attacked: each on an address where nobody is      (`bed::Crowd`)
//! ```

use std::{
    fmt::Write as _,
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
};

use bench::query::Query;

use super::{BED_ORIGIN, BED_SERVER, Store, Zones};
use crate::{
    Error,
    contender::{Anchor, Role, Root},
    error, process,
};

/// Names that a zone which is attacked has beside its apex, so that its denials are more than one.
const HOSTS: usize = 20;
/// TTL of delegations: longer than any experiment.
const CUT_SECONDS: u32 = 86_000;
/// Top-level domain.
const TOP: &str = "example.";

/// Where everything is.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Server of root and top-level domain.
    pub parent: Ipv4Addr,
    /// Of known zones.
    pub known: Ipv4Addr,
    /// Of those attacked that it answers for.
    pub victims: Ipv4Addr,
    /// Of those attacked whose answers are late.
    pub slow: Ipv4Addr,
    /// Of those attacked that nobody answers for, by number.
    pub dead: fn(u16) -> Ipv4Addr,
}

/// What there is.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Known zones.
    pub known: usize,
    /// Zones of each kind that is attacked.
    pub victims: usize,
    /// TTL of known names.
    pub ttl_seconds: u32,
    /// Which addresses known names have: the last octet of 192.0.2.0/24.
    pub version: u8,
    /// Whether root and top-level domain are signed, and resolvers validate.
    pub is_signed: bool,
}

/// Zones by server.
#[derive(Clone, Debug)]
pub struct Little {
    /// Root and top-level domain.
    pub parent: Zones,
    /// Known ones.
    pub known: Zones,
    /// Attacked ones whose server answers.
    pub victims: Zones,
    /// What a resolver serves: nothing, but it answers a known name.
    pub nothing: Zones,
    /// What resolvers are: they know the root, and validate where it is signed.
    pub role: Role,
}

impl Store<'_> {
    /// The zones, from the run before where they are the same.
    pub fn little(&self, shape: &Shape, places: &Places) -> Result<Little, Error> {
        fs::create_dir_all(self.folder).map_err(error::file(self.folder, "create"))?;
        let Shape { known, victims, ttl_seconds, version, is_signed } = *shape;
        let signed = if is_signed { "signed" } else { "unsigned" };
        let (parent, children) = (places.parent, places.known);
        let base =
            format!("little-{known}-{victims}-{ttl_seconds}-{version}-{signed}-{parent}-{children}-ns");
        let folder = self.made(&base, |to| self.make(shape, places, to))?;
        let zones = |kind: &str, apexes: Vec<String>| {
            let list = apexes.into_iter().map(|apex| {
                let path = folder.join(kind).join(format!("{apex}zone"));
                (apex, path)
            });
            Zones { list: list.collect(), ..Zones::default() }
        };
        let path = folder.join("anchor");
        let anchor = match is_signed {
            true => Anchor::from_text(&fs::read_to_string(&path).map_err(error::file(&path, "read"))?),
            false => None,
        };
        let probe = Query::from_line(b"probe.k0.example. A rd").ok().flatten();
        let attacked = if is_signed { vec!["n", "s"] } else { vec!["n"] };
        Ok(Little {
            parent: zones("parent", vec![TOP.to_owned(), ".".to_owned()]),
            known: zones("known", apexes("k", known)),
            victims: zones("victims", attacked.iter().flat_map(|letter| apexes(letter, victims)).collect()),
            nothing: Zones { probe, ..Zones::default() },
            role: Role::Resolver { root: Root { server: BED_SERVER, address: parent }, anchor },
        })
    }

    fn make(&self, shape: &Shape, places: &Places, folder: &Path) -> Result<(), Error> {
        for kind in ["parent", "known", "victims"] {
            let path = folder.join(kind);
            fs::create_dir_all(&path).map_err(error::file(&path, "create"))?;
        }
        let write = |kind: &str, apex: &str, text: &str| -> Result<PathBuf, Error> {
            let path = folder.join(kind).join(format!("{apex}zone"));
            fs::write(&path, text).map_err(error::file(&path, "write"))?;
            Ok(path)
        };
        let known = format!("* {} A 192.0.2.{}\n", shape.ttl_seconds, shape.version);
        for apex in apexes("k", shape.known) {
            write("known", &apex, &(head(&apex, Some(places.known)) + &known))?;
        }
        let hosts: String = (0..HOSTS).fold(String::new(), |mut text, host| {
            let _ = writeln!(text, "host{host} {CUT_SECONDS} A 192.0.2.1");
            text
        });
        for apex in apexes("n", shape.victims) {
            write("victims", &apex, &(head(&apex, Some(places.victims)) + &hosts))?;
        }
        let mut secure = String::new();
        for apex in apexes("s", if shape.is_signed { shape.victims } else { 0 }) {
            let path = write("victims", &apex, &(head(&apex, Some(places.victims)) + &hosts))?;
            secure += &self.sign_little(&apex, &path)?;
        }
        let top = head(TOP, None)
            + &format!("ns.bed {CUT_SECONDS} A {}\n", places.parent)
            + &delegations(shape, places)
            + &secure;
        let path = write("parent", TOP, &top)?;
        let ds = if shape.is_signed { self.sign_little(TOP, &path)? } else { String::new() };
        let root = root_head(places.parent)
            + &format!(
                "{TOP} {CUT_SECONDS} NS ns.{BED_ORIGIN}\nns.{BED_ORIGIN} {CUT_SECONDS} A {}\n",
                places.parent
            )
            + &ds;
        let path = write("parent", ".", &root)?;
        if shape.is_signed {
            let anchor = self.sign_little(".", &path)?;
            let path = folder.join("anchor");
            fs::write(&path, anchor).map_err(error::file(&path, "write"))?;
        }
        Ok(())
    }

    /// Signs a zone in place, with one key made for it; returns the DS records for its parent.
    fn sign_little(&self, apex: &str, path: &Path) -> Result<String, Error> {
        for program in ["dnssec-keygen", "dnssec-signzone"] {
            if process::find(program).is_none() {
                let program = program.to_owned();
                return Err(Error::Missing { program, remedy: "install bind9-utils, it signs zones" });
            }
        }
        let keys = path.with_extension("keys");
        fs::create_dir_all(&keys).map_err(error::file(&keys, "create"))?;
        let (folder, file) = (keys.to_string_lossy(), path.to_string_lossy());
        let words = |words: &[&str]| -> Vec<String> { words.iter().map(|&word| word.to_owned()).collect() };
        self.run(&words(&[
            "dnssec-keygen",
            "-q",
            "-a",
            "ECDSAP256SHA256",
            "-f",
            "KSK",
            "-K",
            &folder,
            apex,
        ]))?;
        let mut command = words(&["dnssec-signzone", "-S", "-z", "-P", "-q", "-K", &folder, "-d", &folder]);
        command.extend(words(&["-O", "full", "-e", "now+31536000", "-o", apex, "-f", &file, &file]));
        self.run(&command)?;
        let path = keys.join(format!("dsset-{apex}"));
        let text = fs::read_to_string(&path).map_err(error::file(&path, "read"))?;
        let _ = fs::remove_dir_all(&keys);
        Ok(ds_lines(&text))
    }
}

/// DS records as one line each, the digest in one piece.
fn ds_lines(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(at) = words.iter().position(|&word| word == "DS") else { continue };
        let (Some(owner), Some(numbers), Some(digest)) =
            (words.first(), words.get(at + 1..at + 4), words.get(at + 4..))
        else {
            continue;
        };
        let _ = writeln!(lines, "{owner} {CUT_SECONDS} DS {} {}", numbers.join(" "), digest.concat());
    }
    lines
}

/// Apexes of a kind.
fn apexes(letter: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{letter}{number}.{TOP}")).collect()
}

/// Origin, SOA, NS, and the server's address where it is one of the zone's own names.
fn head(apex: &str, server: Option<Ipv4Addr>) -> String {
    let (host, address) = match server {
        Some(address) => (format!("ns.{apex}"), format!("ns {CUT_SECONDS} A {address}\n")),
        None => (format!("ns.{BED_ORIGIN}"), String::new()),
    };
    format!(
        "$ORIGIN {apex}\n@ {CUT_SECONDS} SOA {host} hostmaster.{BED_ORIGIN} 1 1800 900 604800 600\n@ {CUT_SECONDS} NS {host}\n{address}"
    )
}

/// The same of the root, whose server has the name that hints tell, in the root zone itself: where it is below the top-level domain, a resolver that trusts
/// nothing but what is proved needs the root's server to learn where the root's server is.
fn root_head(server: Ipv4Addr) -> String {
    format!(
        "$ORIGIN .\n@ {CUT_SECONDS} SOA {BED_SERVER} hostmaster.{BED_ORIGIN} 1 1800 900 604800 600\n@ {CUT_SECONDS} NS {BED_SERVER}\n\
         {BED_SERVER} {CUT_SECONDS} A {server}\n"
    )
}

/// All delegations of the top-level domain, each with the address of its server.
fn delegations(shape: &Shape, places: &Places) -> String {
    let mut text = String::new();
    let mut add = |apex: &str, address: Ipv4Addr| {
        let _ = writeln!(text, "{apex} {CUT_SECONDS} NS ns.{apex}\nns.{apex} {CUT_SECONDS} A {address}");
    };
    apexes("k", shape.known).iter().for_each(|apex| add(apex, places.known));
    for letter in if shape.is_signed { &["n", "s"][..] } else { &["n"] } {
        apexes(letter, shape.victims).iter().for_each(|apex| add(apex, places.victims));
    }
    apexes("w", shape.victims).iter().for_each(|apex| add(apex, places.slow));
    (0..).zip(apexes("d", shape.victims)).for_each(|(number, apex)| add(&apex, (places.dead)(number)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_in_one_piece() {
        let text = "s0.example.\t\tIN DS 4711 13 2 ABCD EF01\nnothing\n";
        assert_eq!(ds_lines(text), "s0.example. 86000 DS 4711 13 2 ABCDEF01\n");
    }

    #[test]
    fn zones_name_their_servers() {
        let [parent, known] = [Ipv4Addr::LOCALHOST, Ipv4Addr::new(192, 0, 2, 7)];
        let places =
            Places { parent, known, victims: known, slow: known, dead: |_| Ipv4Addr::new(192, 0, 2, 9) };
        let shape = Shape { known: 2, victims: 1, ttl_seconds: 9, version: 1, is_signed: false };
        let text = delegations(&shape, &places);
        assert_eq!(text.matches(" NS ").count(), 5, "{text}");
        assert!(text.contains("d0.example. 86000 NS ns.d0.example.\nns.d0.example. 86000 A 192.0.2.9\n"));
        assert!(head("k0.example.", Some(known)).ends_with("ns 86000 A 192.0.2.7\n"));
        assert_eq!(head(TOP, None).lines().count(), 3, "its server is in a zone below");
        assert!(root_head(parent).ends_with("@ 86000 NS ns.\nns. 86000 A 127.0.0.1\n"));
    }
}
