//! The bed of the paper for a caching server: a parent zone, its child zones, and what a resolver must be told.
//!
//! ```text
//! FOLDER/parent/zones/…     the parent zone: a delegation with glue for each child      (the paper's server 2)
//! FOLDER/children/zones/…   the child zones: 200 A each, half of them with TTL 1        (the paper's server 1)
//! FOLDER/{parent,children}/{zones.txt,zonda.toml,named.conf,nsd.conf,knot.conf}
//! FOLDER/resolver/{named.conf,unbound.conf}   where the parent is, for a resolver that knows it
//! FOLDER/resolver/{root.zone,root.hints}      a root zone for the parent's server, for one that begins at the root
//! ```
//!
//! A name with TTL 1 has left the cache when it is asked for again: queries for it are misses, all others hits once
//! the cache has settled, so that the mix of names sets the share of hits.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    net::Ipv4Addr,
    path::Path,
};

use super::{
    settings::Settings,
    text::{Counts, Style, ZoneText, ipv4},
};
use crate::{Error, error, labels::Labels, random::Random};

/// Shape of the bed.
#[derive(Clone, Debug)]
pub struct Bed {
    /// The parent zone: absolute, lower case, with final dot, not the root.
    pub origin: String,
    /// Hosts of each child zone, one A each.
    pub hosts: usize,
    /// Share of the hosts whose TTL is 1, 0 to 1.
    pub short_share: f64,
    /// Where the parent zone is served, port 53: resolvers follow glue, which has no port.
    pub parent: Ipv4Addr,
    /// Where the child zones are served, port 53.
    pub children: Ipv4Addr,
    /// Start of the random streams.
    pub seed: u64,
}

/// TTL of what stays in the cache: longer than any measurement.
const TTL_SECONDS: u32 = 86_400;
/// The server of the root zone.
const ROOT_SERVER: &str = "ns.";

/// Writes the bed with a child zone for each label below the folder; returns the sum of all counts.
pub fn write(folder: &Path, bed: &Bed, labels: &Labels) -> Result<Counts, Error> {
    let mut total = write_parent(&folder.join("parent"), bed, labels)?;
    let mut settings = Settings::begin(&folder.join("children"), false)?;
    for index in 0..labels.count() {
        let apex = format!("{}.{}", String::from_utf8_lossy(labels.label(index)), bed.origin);
        let path = settings.zone(&apex)?;
        let output = BufWriter::new(File::create(&path).map_err(error::file(&path, "create"))?);
        let random = Random::part(bed.seed, 20_000 + index as u64);
        total.add(&write_child(output, &apex, bed, random).map_err(error::file(&path, "write"))?);
    }
    settings.end()?;
    write_resolver(&folder.join("resolver"), bed)?;
    Ok(total)
}

fn write_parent(folder: &Path, bed: &Bed, labels: &Labels) -> Result<Counts, Error> {
    let mut settings = Settings::begin(folder, false)?;
    let path = settings.zone(&bed.origin)?;
    settings.end()?;
    let write = |output: BufWriter<File>| {
        let mut zone = ZoneText::begin(output, Style::Relative, &bed.origin, TTL_SECONDS)?;
        zone.soa(&format!("ns.{}", bed.origin), &format!("hostmaster.{}", bed.origin), 1)?;
        zone.ns(b"@", b"ns")?;
        zone.a(b"ns", bed.parent.octets())?;
        for index in 0..labels.count() {
            let label = labels.label(index);
            let host = [b"ns1.", label].concat();
            zone.ns(label, &host)?;
            zone.a(&host, bed.children.octets())?;
        }
        zone.end()
    };
    let file = File::create(&path).map_err(error::file(&path, "create"))?;
    write(BufWriter::new(file)).map_err(error::file(&path, "write"))
}

fn write_child<W: Write>(output: W, apex: &str, bed: &Bed, mut random: Random) -> io::Result<Counts> {
    let mut zone = ZoneText::begin(output, Style::Relative, apex, TTL_SECONDS)?;
    zone.soa(&format!("ns1.{apex}"), &format!("hostmaster.{apex}"), 1)?;
    zone.ns(b"@", b"ns1")?;
    zone.a(b"ns1", bed.children.octets())?;
    // Spread over all hosts: a generator that sends queries of equal length together is to mix both kinds.
    let shorts = |hosts: usize| (hosts as f64 * bed.short_share).round() as usize;
    for index in 0..bed.hosts {
        zone.set_ttl(if shorts(index + 1) > shorts(index) { 1 } else { TTL_SECONDS });
        zone.a(format!("host{index}").as_bytes(), ipv4(&mut random))?;
    }
    zone.end()
}

fn write_resolver(folder: &Path, bed: &Bed) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(error::file(folder, "create"))?;
    let (name, address) = (bed.origin.trim_end_matches('.'), bed.parent);
    for (file, text) in [
        (
            "named.conf",
            format!("zone \"{name}\" {{ type static-stub; server-addresses {{ {address}; }}; }};\n"),
        ),
        ("unbound.conf", format!("stub-zone:\n  name: \"{name}\"\n  stub-addr: {address}\n")),
        ("root.zone", root_zone(&bed.origin, address)),
        (
            "root.hints",
            format!(". {TTL_SECONDS} NS {ROOT_SERVER}\n{ROOT_SERVER} {TTL_SECONDS} A {address}\n"),
        ),
    ] {
        let path = folder.join(file);
        fs::write(&path, text).map_err(error::file(&path, "write"))?;
    }
    Ok(())
}

/// A root zone with nothing but the delegation of the parent zone. The server of both answers from the parent zone what lies
/// below it, so that of the root has a name of the root: who validates could else not know its address before it has been asked.
fn root_zone(origin: &str, server: Ipv4Addr) -> String {
    format!(
        "$ORIGIN .\n$TTL {TTL_SECONDS}\n. SOA {ROOT_SERVER} hostmaster.{origin} 1 1800 900 604800 86400\n. NS {ROOT_SERVER}\n\
         {ROOT_SERVER} A {server}\n{origin} NS ns.{origin}\nns.{origin} A {server}\n"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parent_children_and_resolver() {
        let folder = tempfile::tempdir().unwrap();
        let labels = crate::labels::make(9, None, 1).unwrap();
        let bed = Bed {
            origin: "bed.example.".to_owned(),
            hosts: 20,
            short_share: 0.5,
            parent: Ipv4Addr::new(127, 0, 53, 2),
            children: Ipv4Addr::new(127, 0, 53, 1),
            seed: 1,
        };
        let counts = write(folder.path(), &bed, &labels).unwrap();
        assert_eq!(counts.records, 3 + 9 * 2 + 9 * 23);
        let read = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap();
        let check = crate::generate::tests::check_zone;
        check(&read("parent/zones/bed.example.zone"), "bed.example.", 3 + 9 * 2);
        for apex in read("children/zones.txt").lines() {
            let text = read(&format!("children/zones/{apex}zone"));
            check(&text, apex, 23);
            let short: Vec<&str> = text.lines().filter(|line| line.contains(" 1 A ")).collect();
            assert_eq!(short.len(), 10);
            assert_eq!(short.iter().filter(|line| line.split(' ').next().unwrap().len() == 5).count(), 5);
        }
        assert!(read("resolver/unbound.conf").contains("stub-addr: 127.0.53.2"));
        assert!(read("resolver/named.conf").contains("static-stub"));
        check(&read("resolver/root.zone"), ".", 5);
        assert_eq!(read("resolver/root.hints").lines().count(), 2);
    }
}
