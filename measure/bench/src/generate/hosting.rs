//! Many small zones, as a hosting company has them: SOA, two NS and a number of addresses each (the paper's
//! 10,000 zones of 100 A), one file a zone, with the settings that make Zonda and its peers serve them.
//!
//! ```text
//! FOLDER/zones/NAME.zone   one for each zone; spread: FOLDER/zones/N/A/NAME.zone
//! FOLDER/zones.txt         apex names, one a line
//! FOLDER/zonda.toml named.conf nsd.conf knot.conf   zone sections only, to be added to a server's settings
//! ```

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use super::{
    settings::Settings,
    text::{Counts, Style, ZoneText, ipv4},
};
use crate::{Error, error, labels::Labels, random::Random};

/// TTL of the records, an hour: what hosting panels default to.
const TTL_SECONDS: u32 = 3600;
/// First hosts of a zone; numbered ones follow.
const COMMON_HOSTS: [&str; 8] = ["www", "mail", "ftp", "smtp", "imap", "webmail", "shop", "blog"];
/// Where the zones are registered.
const PARENTS: [&str; 3] = ["com", "net", "org"];
/// Random streams of zones have numbers from here on.
pub const FIRST_PART: u64 = 10_000;

/// Writes one zone for each label with `addresses` hosts below the folder; returns the sum of all counts.
///
/// `spread`: folders by the first two characters of the zone's name, as a million files in one are too many for some
/// file systems and most tools.
pub fn write(
    folder: &Path,
    labels: &Labels,
    addresses: usize,
    spread: bool,
    seed: u64,
) -> Result<Counts, Error> {
    let mut settings = Settings::begin(folder, spread)?;
    let mut total = Counts::default();
    for index in 0..labels.count() {
        let apex = apex(labels, index);
        let path = settings.zone(&apex)?;
        let output = BufWriter::new(File::create(&path).map_err(error::file(&path, "create"))?);
        let random = Random::part(seed, FIRST_PART + index as u64);
        let counts = write_zone(output, &apex, addresses, 1, random).map_err(error::file(&path, "write"))?;
        total.add(&counts);
    }
    settings.end()?;
    Ok(total)
}

/// The apex of a zone, with final dot.
pub fn apex(labels: &Labels, index: usize) -> String {
    format!("{}.{}.", String::from_utf8_lossy(labels.label(index)), PARENTS[index % PARENTS.len()])
}

/// One zone: SOA with `serial`, two name servers of the company, `addresses` hosts with an A each.
pub fn write_zone<W: Write>(
    output: W,
    apex: &str,
    addresses: usize,
    serial: u32,
    mut random: Random,
) -> io::Result<Counts> {
    let mut zone = ZoneText::begin(output, Style::Relative, apex, TTL_SECONDS)?;
    zone.soa("ns1.hosting-company.example.", "hostmaster.hosting-company.example.", serial)?;
    zone.ns(b"@", b"ns1.hosting-company.example.")?;
    zone.ns(b"@", b"ns2.hosting-company.example.")?;
    for index in 0..addresses {
        match COMMON_HOSTS.get(index) {
            Some(host) => zone.a(host.as_bytes(), ipv4(&mut random))?,
            None => zone.a(format!("host{index}").as_bytes(), ipv4(&mut random))?,
        }
    }
    zone.end()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn zones_and_settings() {
        let folder = tempfile::tempdir().unwrap();
        let labels = crate::labels::make(7, None, 1).unwrap();
        let counts = write(folder.path(), &labels, 100, false, 1).unwrap();
        assert_eq!(counts, Counts { records: 7 * 103, ns: 14, a: 700, ..Counts::default() });
        let apexes = fs::read_to_string(folder.path().join("zones.txt")).unwrap();
        assert_eq!(apexes.lines().count(), 7);
        for apex in apexes.lines() {
            let text = fs::read_to_string(folder.path().join(format!("zones/{apex}zone"))).unwrap();
            assert_eq!(text.lines().count(), 105);
            assert!(text.starts_with(&format!("$ORIGIN {apex}\n")));
        }
        for (name, needle) in [("named.conf", "primary"), ("nsd.conf", "zonefile:"), ("knot.conf", "file:")] {
            let text = fs::read_to_string(folder.path().join(name)).unwrap();
            assert_eq!(text.matches(needle).count(), 7, "{name}");
            let apex = apexes.lines().next().unwrap();
            assert!(text.contains(&format!("zones/{apex}zone")), "{name}");
        }
    }
    #[test]
    fn spread_over_folders() {
        let folder = tempfile::tempdir().unwrap();
        let labels = crate::labels::make(20, None, 1).unwrap();
        write(folder.path(), &labels, 2, true, 1).unwrap();
        for apex in fs::read_to_string(folder.path().join("zones.txt")).unwrap().lines() {
            let file = format!("zones/{}/{}/{apex}zone", &apex[..1], &apex[1..2]);
            assert_eq!(fs::read_to_string(folder.path().join(&file)).unwrap().lines().count(), 7, "{file}");
            let settings = fs::read_to_string(folder.path().join("nsd.conf")).unwrap();
            assert!(settings.contains(&file), "{file}");
        }
        let settings = fs::read_to_string(folder.path().join("zonda.toml")).unwrap();
        assert!(settings.contains("zones/{1}/{2}/{name}.zone"));
    }
}
