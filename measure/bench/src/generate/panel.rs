//! Zones of a company whose customers have a panel for them: hosts of services for each name, mail with its policies and a key, some subdomains with
//! the same again; written out as panels do, with absolute names and a note above each record.
//!
//! A user of a name server told of 140,000 zones, 3.6 GB of text, and what other servers took for them (4.5 GB and 270 s; 1.3 GB and 420 s), but not what is in them.
//! Here a zone has 25.7 KB of text as there, and some 124 records; half of the text are notes.
//!
//! ```text
//! apex        SOA, NS 3, A, AAAA, MX 2, CAA 2, TXT 2, services, policies, key      32 records
//! subdomain   A, AAAA, MX, TXT, services, policies; two to six of them             some 23 records each
//! ```
//!
//! What customers share is the same in many zones: name servers, mail servers, the addresses of one of [`MACHINES`] machines. Keys and notes are of one zone.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    net::Ipv6Addr,
    path::Path,
};

use super::{
    hosting,
    settings::Settings,
    text::{Counts, Style, ZoneText},
};
use crate::{Error, error, labels::Labels, random::Random};

/// TTL of the records, four hours: what such panels write.
const TTL_SECONDS: u32 = 14_400;
/// Machines that customers are on, each with an address of either kind.
const MACHINES: usize = 400;
/// Hosts of services at each name.
const SERVICES: [&str; 11] = [
    "www",
    "mail",
    "ftp",
    "webmail",
    "cpanel",
    "webdisk",
    "cpcalendars",
    "cpcontacts",
    "autodiscover",
    "autoconfig",
    "whm",
];
/// Services that clients of calendars and mail look for: name, port and host (RFC 6186, RFC 6764).
const LOCATED: [(&str, u16, &str); 5] = [
    ("_caldavs._tcp", 2080, "cpcalendars"),
    ("_carddavs._tcp", 2080, "cpcontacts"),
    ("_autodiscover._tcp", 443, "autodiscover"),
    ("_imaps._tcp", 993, "mail"),
    ("_submission._tcp", 587, "mail"),
];
/// Subdomains of customers, in this order from any one on.
const SUBDOMAINS: [&str; 10] =
    ["shop", "blog", "dev", "staging", "app", "portal", "forum", "wiki", "support", "intranet"];
/// Fewest subdomains of a zone, and how many more it may have.
const SUBDOMAINS_MIN: usize = 2;
const SUBDOMAINS_MORE: usize = 5;
/// Who changes records, and what they were made from, as notes have it.
const EDITORS: [&str; 4] = ["panel", "customer", "support", "migration"];
const TEMPLATES: [&str; 3] = ["shared-hosting", "mail-and-sites", "reseller-basic"];
/// Octets of a public key of RSA with 2,048 bits, in DER (RFC 8017 A.1.1 within RFC 5280 4.1), as base64; how it begins and ends.
const KEY_CHARACTERS: usize = 392;
const KEY_BEGIN: &str = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA";
const KEY_END: &str = "IDAQAB";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Most octets of a character-string (RFC 1035 3.3).
const STRING_OCTETS: usize = 255;

/// Writes one zone for each label below the folder, with settings as [`hosting`] has them; returns the sum of all counts.
pub fn write(folder: &Path, labels: &Labels, spread: bool, seed: u64) -> Result<Counts, Error> {
    let mut settings = Settings::begin(folder, spread)?;
    let mut total = Counts::default();
    for index in 0..labels.count() {
        let apex = hosting::apex(labels, index);
        let path = settings.zone(&apex)?;
        let output = BufWriter::new(File::create(&path).map_err(error::file(&path, "create"))?);
        let random = Random::part(seed, hosting::FIRST_PART + index as u64);
        let counts = write_zone(output, &apex, random).map_err(error::file(&path, "write"))?;
        total.add(&counts);
    }
    settings.end()?;
    Ok(total)
}

/// One zone.
pub fn write_zone<W: Write>(output: W, apex: &str, mut random: Random) -> io::Result<Counts> {
    let machine = random.index(MACHINES);
    let mut customer = Customer {
        zone: ZoneText::begin(output, Style::Absolute, apex, TTL_SECONDS)?,
        apex,
        machine,
        account: 100_000 + random.index(900_000),
        record: 10_000_000 + random.below(80_000_000),
        random,
    };
    customer.apex()?;
    let first = customer.random.index(SUBDOMAINS.len());
    let count = SUBDOMAINS_MIN + customer.random.index(SUBDOMAINS_MORE);
    for subdomain in SUBDOMAINS.iter().cycle().skip(first).take(count) {
        customer.site(subdomain)?;
    }
    customer.zone.end()
}

/// The zone of a customer as it is written.
struct Customer<'a, W: Write> {
    zone: ZoneText<W>,
    apex: &'a str,
    machine: usize,
    account: usize,
    /// Number of the next record in the panel's database.
    record: u64,
    random: Random,
}

impl<W: Write> Customer<'_, W> {
    fn apex(&mut self) -> io::Result<()> {
        let serial = 2_025_000_000 + self.random.below(1_000_000) as u32;
        self.note()?;
        self.zone.soa("ns1.hosting-company.example.", "hostmaster.hosting-company.example.", serial)?;
        for server in ["ns1", "ns2", "ns3"] {
            self.note()?;
            self.zone.ns(b"@", format!("{server}.hosting-company.example.").as_bytes())?;
        }
        self.other("@", "MX", "20 backup-mx.hosting-company.example.")?;
        for issuer in ["issue", "issuewild"] {
            self.other("@", "CAA", &format!("0 {issuer} \"letsencrypt.org\""))?;
        }
        let token = format!("\"site-verification={}\"", self.base64(43));
        self.other("@", "TXT", &token)?;
        let key = self.key();
        self.other("default._domainkey", "TXT", &key)?;
        self.site("@")
    }

    /// What each name with a web site and mail has; `name`: relative.
    fn site(&mut self, name: &str) -> io::Result<()> {
        let (v4, v6) = self.addresses();
        self.note()?;
        self.zone.a(name.as_bytes(), v4)?;
        self.note()?;
        self.zone.aaaa(name.as_bytes(), v6)?;
        for service in SERVICES {
            self.note()?;
            self.zone.a(below(service, name).as_bytes(), v4)?;
        }
        let apex = self.apex;
        let absolute = |host: &str| match name {
            "@" => format!("{host}.{apex}"),
            _ => format!("{host}.{name}.{apex}"),
        };
        self.other(name, "MX", &format!("10 {}", absolute("mail")))?;
        let [a, b, c, d] = v4;
        let policy =
            format!("\"v=spf1 +a +mx +ip4:{a}.{b}.{c}.{d} include:spf.hosting-company.example ~all\"");
        self.other(name, "TXT", &policy)?;
        let reports = format!(
            "\"v=DMARC1; p=quarantine; rua=mailto:{}@reports.hosting-company.example\"",
            self.account
        );
        self.other(&below("_dmarc", name), "TXT", &reports)?;
        for (service, port, host) in LOCATED {
            self.other(&below(service, name), "SRV", &format!("0 0 {port} {}", absolute(host)))?;
        }
        for service in ["_caldavs._tcp", "_carddavs._tcp"] {
            self.other(&below(service, name), "TXT", "\"path=/\"")?;
        }
        Ok(())
    }

    fn other(&mut self, owner: &str, rtype: &str, rdata: &str) -> io::Result<()> {
        self.note()?;
        self.zone.other(owner.as_bytes(), rtype, rdata)
    }

    /// The note above a record: its number, whose it is, who changed it and when.
    fn note(&mut self) -> io::Result<()> {
        self.record += 1 + self.random.below(3);
        let editor = EDITORS[self.random.index(EDITORS.len())];
        let date = |random: &mut Random, first: usize, count: usize| first + random.index(count);
        let [year, month, day] =
            [(2012, 14), (1, 12), (1, 28)].map(|(first, count)| date(&mut self.random, first, count));
        let [hour, minute, second] = [24, 60, 60].map(|count| date(&mut self.random, 0, count));
        let (record, account) = (self.record, self.account);
        let template = TEMPLATES[account % TEMPLATES.len()];
        let (revision, ticket) = (100 + self.random.index(900), 1_000_000 + self.random.index(9_000_000));
        self.zone.comment(&format!(
            "record {record}, account {account}: last changed {year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC by {editor}, template {template}, revision {revision}, ticket {ticket}"
        ))
    }

    /// Addresses of the customer's machine: of the ranges for benchmarks (RFC 2544) and documentation (RFC 3849).
    fn addresses(&self) -> ([u8; 4], Ipv6Addr) {
        let [high, low] = (self.machine as u16).to_be_bytes();
        let v6 = Ipv6Addr::new(0x2001, 0xdb8, 0x10, self.machine as u16, 0, 0, 0, 1);
        ([198, 18 + (high & 1), low, 10 + high], v6)
    }

    /// A key that mail is signed with (RFC 6376 3.6.1), of random octets.
    fn key(&mut self) -> String {
        let middle = self.base64(KEY_CHARACTERS - KEY_BEGIN.len() - KEY_END.len());
        let text = format!("v=DKIM1; k=rsa; p={KEY_BEGIN}{middle}{KEY_END}");
        let (first, second) = text.split_at(STRING_OCTETS);
        format!("\"{first}\" \"{second}\"")
    }

    fn base64(&mut self, characters: usize) -> String {
        (0..characters).map(|_| char::from(BASE64[self.random.index(BASE64.len())])).collect()
    }
}

/// The name of a host below a relative name.
fn below(host: &str, name: &str) -> String {
    if name == "@" { host.to_owned() } else { format!("{host}.{name}") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;
    use crate::generate::tests::check_zone;

    #[test]
    fn as_large_as_what_was_told() {
        let folder = tempfile::tempdir().unwrap();
        let labels = crate::labels::make(200, None, 1).unwrap();
        let counts = write(folder.path(), &labels, false, 1).unwrap();
        let (mut octets, mut records) = (0, 0);
        for apex in fs::read_to_string(folder.path().join("zones.txt")).unwrap().lines() {
            let path = folder.path().join(format!("zones/{apex}zone"));
            let text = fs::read_to_string(&path).unwrap();
            let count = text.lines().filter(|line| !line.starts_with(';')).count();
            check_zone(&text, apex, count);
            octets += text.len() as u64;
            records += count as u64;
        }
        assert_eq!(records, counts.records);
        // 3.6 GB of 140,000 zones, within 3 %.
        assert!((24_900..26_500).contains(&(octets / 200)), "{} octets of text a zone", octets / 200);
        assert!((118..130).contains(&(records / 200)), "{} records a zone", records / 200);
    }
}
