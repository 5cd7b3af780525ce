//! Settings of the recursive server, and what is wrong with them.

mod checks;
mod hints;

use std::net::SocketAddr;
use std::path::PathBuf;

use auth::access::Prefix;
use wire::{Name, NameBuf};

use super::access::prefix;
use super::declare::section;
use super::value::{Names, Range};

/// Most addresses of a forwarded or stub zone: its servers.
const SERVERS_MAX: usize = 16;
/// Most octets of the cache: what a machine has.
const CACHE_OCTETS_MAX: u64 = 1 << 44;
/// Fewest: what a page of names needs with its zones and keys.
const CACHE_OCTETS_MIN: u64 = 4 << 20;
/// TTLs (RFC 2181 8).
const TTL: Range = Range::Number("seconds", 0, i32::MAX as u64);
/// Prefixes, as they are written.
const PREFIXES: Range = Range::TextsOrNone("an address or prefix such as \"192.0.2.0/24\"");
/// Domain names, as they are written.
const NAMES: Range = Range::TextsOrNone("a domain name");

/// What is no server of anybody's (RFC 6890): the machine itself, nobody, whoever is near, groups, and what is reserved.
const SPECIAL_ADDRESSES: [&str; 10] = [
    "0.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/128",
    "::1/128",
    "fe80::/10",
    "ff00::/8",
    "100::/64",
];

fn texts(texts: &[&str]) -> Names {
    Names::from(texts.iter().map(|text| String::from(*text)).collect::<Vec<_>>())
}

section! {
    /// The recursive server: queries about names that are in none of the zones here are answered by asking the servers of others, for those clients that
    /// `recursion` in `[access]` lets in.
    pub struct ResolverSettings in "resolver" {
        /// Whether there is one.
        enabled: bool = false, Range::Any, start;
        /// Memory for what is learned, all of it: names, denials, zone cuts, servers, keys. A change moves what is kept; of what there is no more room for, that goes which was not
        /// asked for lately.
        cache_octets: u64 = 256 << 20, Range::Number("octets", CACHE_OCTETS_MIN, CACHE_OCTETS_MAX), live;
        /// Folder for what outlives the process: what was learned, the states of trust anchors (RFC 5011), negative trust anchors. One server's own: a second one does not start with it. Empty: the
        /// cache begins empty, and trust anchors are those of the settings or built in.
        state_directory: PathBuf = PathBuf::new(), Range::Any, start;
        /// The longest that anything is kept, whatever its TTL.
        ttl_max_seconds: u32 = 86_400, TTL, live;
        /// The shortest, of data that is not signed, in first answers as well. More than a few seconds breaks what others change quickly.
        ttl_min_seconds: u32 = 0, TTL, live;
        /// The longest that it is kept that a name or type does not exist (RFC 2308 5).
        negative_ttl_max_seconds: u32 = 3600, TTL, live;
        /// Whether answers are validated (DNSSEC, RFC 4035): what is bogus is answered with SERVFAIL.
        validate: bool = true, Range::Any, live;
        /// File of trust anchors, DS or DNSKEY records in the form of zone files. Empty: those of the root zone that are built in.
        trust_anchor_file: PathBuf = PathBuf::new(), Range::Any, live;
        /// Whether trust anchors follow their zones from key to key (RFC 5011): a new key is trusted after it was seen for 30 days, a revoked one no more. Only with
        /// `state-directory`, which keeps what was seen.
        anchor_renewal: bool = true, Range::Any, live;
        /// Whether signatures that are made with SHA-1 (algorithms RSASHA1 and RSASHA1-NSEC3-SHA1) are verified. Zones that have no better ones count as not signed
        /// otherwise, as RFC 9905 has it.
        verify_sha1: bool = false, Range::Any, live;
        /// Names from which on downwards nothing is validated, for good: private zones. For what is broken for a while, `zonda ctl negative-anchor`, which has an end (RFC 7646).
        insecure: Names = Names::default(), NAMES, live;
        /// File of the root servers' names and addresses in the form of zone files. Empty: those that are built in.
        root_hints: PathBuf = PathBuf::new(), Range::Any, live;
        /// Whether servers are asked over IPv4.
        ipv4: bool = true, Range::Any, live;
        /// Whether servers are asked over IPv6.
        ipv6: bool = true, Range::Any, live;
        /// Addresses that servers are asked from, one at random of those of a family. Empty: the one that the system takes.
        source_addresses: Names = Names::default(), Range::TextsOrNone("an address"), start;
        /// The ports that servers are asked from, chosen at random for each query.
        source_ports: String = "1024-65535".into(), Range::Any, start;
        /// Addresses that are never asked, whoever says that they are servers; nor are those at whose port 53 this server listens.
        never_ask: Names = texts(&SPECIAL_ADDRESSES), PREFIXES, live;
        /// How much of a name servers are told that need not know all of it (RFC 9156): `off` (all), `relaxed` (as little as possible, all of it where a server
        /// takes that badly) or `strict` (as little as possible, whatever becomes of it).
        qname_minimisation: String = "relaxed".into(), Range::OneOf(&["off", "relaxed", "strict"]), live;
        /// Whether the letters of names are sent in random case, which servers send back: much more for a forger to guess.
        randomise_case: bool = true, Range::Any, live;
        /// How long what has expired may be answered where its servers do not answer (RFC 8767); 0: never.
        stale_seconds: u32 = 86_400, TTL, live;
        /// After how many milliseconds of asking such answers are given.
        stale_after_ms: u32 = 1800, Range::Number("milliseconds", 0, 10_000), live;
        /// Whether what is asked for in the last tenth of its TTL is asked for anew, so that it does not expire.
        prefetch: bool = true, Range::Any, live;
        /// Whether denials that were proved are answered for other names that they deny as well (RFC 8198).
        aggressive_denial: bool = true, Range::Any, live;
        /// Whether the records of a set change their places from answer to answer.
        rotate: bool = true, Range::Any, live;
        /// What clients get that do not want recursion (RD) for names of others: nothing (`refuse`), or what is known (`cache`), which tells what others asked for.
        without_recursion: String = "refuse".into(), Range::OneOf(&["refuse", "cache"]), live;
        /// Addresses that names of others must not have (rebinding): answers with such are answered with REFUSED.
        private_addresses: Names = Names::default(), PREFIXES, live;
        /// Names that may, with all below; zones of this server, `[[forward]]` and `[[stub]]` other than for the root, and `[[local-zone]]` may in any case.
        private_names: Names = Names::default(), NAMES, live;
        /// Names, with all below, that are resolved like others although they are special: such as `home.arpa`, `10.in-addr.arpa`, `test`, `onion`. Zones of this
        /// server, `[[forward]]`, `[[stub]]` and `[[local-zone]]` do so for theirs.
        not_special: Names = Names::default(), NAMES, live;
        /// Prefixes for IPv6 addresses that are made of IPv4 addresses for names that have no others (DNS64, RFC 6147), such as `64:ff9b::/96`. Empty: none are made.
        dns64_prefixes: Names = Names::default(), PREFIXES, live;
        /// IPv6 addresses that count as none there, beside mapped IPv4 addresses.
        dns64_exclude: Names = Names::default(), PREFIXES, live;
        /// Networks whose clients get such addresses. Empty: all who may recurse.
        dns64_clients: Names = Names::default(), PREFIXES, live;
        /// How many questions that nothing is known of are found out a second for one network of clients (of 24 bits of IPv4 addresses, 56 of IPv6), by each worker; 0: as many as come.
        misses_per_second: u32 = 0, Range::Number("questions", 0, 1_000_000), live;
        /// Whether the log has a line for each question that came to SERVFAIL, with why; ten a second of each worker at most.
        log_failures: bool = false, Range::Any, live;
        /// Queries that may wait for servers at a time, of each worker.
        waiting: u32 = 16_384, Range::Number("queries", 64, 32_768), start;
    }
}

section! {
    /// A zone whose names other resolvers are asked for.
    pub struct ForwardSettings in "forward" {
        /// The zone's name; `.` for all that nothing else is said of.
        name: Option<NameBuf> = None, Range::Any, live;
        /// Those resolvers; without a port it is 53, with `tls` 853.
        addresses: Vec<SocketAddr> = Vec::new(), Range::Any, live;
        /// Whether they are asked over TLS (RFC 7858).
        tls: bool = false, Range::Any, live;
        /// The name that they must prove to have, by certificates that this system trusts. Empty: they are not authenticated.
        tls_name: String = String::new(), Range::Any, live;
        /// File of the authorities whose certificates are believed, in PEM. Empty: those that this system trusts.
        tls_authorities: PathBuf = PathBuf::new(), Range::Any, live;
        /// Keys that they must have, each as SHA-256 of its SubjectPublicKeyInfo in base64 (RFC 7858 4.2): one of them is enough, and no certificate is looked at beside.
        tls_pins: Names = Names::default(), Range::TextsOrNone("a hash in base64"), live;
        /// Whether the servers of the zones are asked where none of these answers.
        first: bool = false, Range::Any, live;
    }
}

section! {
    /// A zone whose servers are these, whatever its parent says: private zones.
    pub struct StubSettings in "stub" {
        /// The zone's name.
        name: Option<NameBuf> = None, Range::Any, live;
        /// Its servers; without a port it is 53.
        addresses: Vec<SocketAddr> = Vec::new(), Range::Any, live;
        /// Whether it is validated. Private zones mostly cannot be.
        validate: bool = false, Range::Any, live;
    }
}

/// What a local zone answers beside its records.
pub(super) const LOCAL_KINDS: [&str; 9] =
    ["transparent", "typetransparent", "static", "redirect", "nxdomain", "nodata", "null", "refuse", "drop"];

section! {
    /// Names that are answered from here, without anybody being asked.
    pub struct LocalZoneSettings in "local-zone" {
        /// The name from which on downwards it holds.
        name: Option<NameBuf> = None, Range::Any, live;
        /// What names get that have no `records`: resolved like others (`transparent`; `typetransparent`: other types of names with records too), denied (`static`), the
        /// records of the zone's own name (`redirect`), NXDOMAIN or NODATA whatever there is (`nxdomain`, `nodata`), the addresses 0.0.0.0 and :: (`null`), REFUSED
        /// (`refuse`), or nothing at all (`drop`).
        kind: String = "static".into(), Range::OneOf(&LOCAL_KINDS), live;
        /// Records as in zone files, names relative to the zone's: `"printer A 192.0.2.9"`, or with a TTL `"printer 60 A 192.0.2.9"`; without, it is 3600 seconds.
        records: Names = Names::default(), Range::TextsOrNone("a record such as \"printer 3600 A 192.0.2.9\""), live;
        /// Whether the log has a line for each query for its names, with who asked; ten a second of each worker at most.
        log: bool = false, Range::Any, live;
    }
}

/// What is wrong with a forwarded zone as a whole.
pub(super) fn check_forward(forward: &ForwardSettings) -> Result<(), &'static str> {
    let names_authorities = !forward.tls_authorities.as_os_str().is_empty();
    if !forward.tls {
        return match () {
            () if !forward.tls_name.is_empty() => Err("expected `tls = true` beside `tls-name`"),
            () if names_authorities => Err("expected `tls = true` beside `tls-authorities`"),
            () if !forward.tls_pins.is_empty() => Err("expected `tls = true` beside `tls-pins`"),
            () => check_servers(&forward.name, &forward.addresses),
        };
    }
    if names_authorities && forward.tls_name.is_empty() {
        return Err("expected `tls-name` beside `tls-authorities`: the name that they vouch for");
    }
    if names_authorities && !forward.tls_pins.is_empty() {
        return Err("expected `tls-authorities` or `tls-pins`, found both");
    }
    if forward.tls_pins.texts().iter().any(|text| pin(text).is_none()) {
        return Err("tls-pins: expected hashes of 32 octets in base64");
    }
    check_servers(&forward.name, &forward.addresses)
}

/// The hash of a key, from base64.
pub(crate) fn pin(text: &str) -> Option<[u8; 32]> {
    zonefile::from_base64(text)?.try_into().ok()
}

/// What is wrong with a stub zone as a whole.
pub(super) fn check_stub(stub: &StubSettings) -> Result<(), &'static str> {
    check_servers(&stub.name, &stub.addresses)
}

fn check_servers(name: &Option<NameBuf>, addresses: &[SocketAddr]) -> Result<(), &'static str> {
    match (name, addresses.len()) {
        (None, _) => Err("expected `name`, found none"),
        (_, 0) => Err("expected `addresses`, found none"),
        (_, 1..=SERVERS_MAX) => Ok(()),
        _ => Err("addresses: expected at most 16"),
    }
}

/// What is wrong with a local zone as a whole.
pub(super) fn check_local(local: &LocalZoneSettings) -> Result<(), &'static str> {
    if local.name.is_none() { Err("expected `name`, found none") } else { Ok(()) }
}

/// Seconds that a record of a local zone lives that says nothing else: an hour, as most zones of people have it.
const LOCAL_TTL_SECONDS: u32 = 3_600;

/// The records of a line of a local zone.
pub(crate) fn local_records(line: &str, zone: &Name) -> Result<Vec<zonefile::RecordBuf>, zonefile::Report> {
    let options = zonefile::Options { default_ttl: Some(LOCAL_TTL_SECONDS), ..zonefile::Options::new(zone) };
    zonefile::records_by(line, &options)
}

/// The first and the last port of `FIRST-LAST`.
pub(crate) fn ports(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-')?;
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    // With fewer a forger has less to guess than is promised.
    let is_enough = first <= last && u32::from(last - first) + 1 >= net::PORTS_MIN;
    (first >= 1024 && is_enough).then_some((first, last))
}

/// The prefixes of a setting without faults.
pub(crate) fn prefixes(names: &Names) -> Vec<Prefix> {
    names.texts().iter().filter_map(|text| prefix(text).ok()).map(|(prefix, _)| prefix).collect()
}

/// The names of a setting without faults, in lower case.
pub(crate) fn names(names: &Names) -> Vec<NameBuf> {
    names
        .texts()
        .iter()
        .filter_map(|text| NameBuf::from_text(text).ok())
        .map(|name| name.to_lowercase())
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use std::path::Path;

    fn problems(text: &str) -> Vec<String> {
        let problems = Settings::parse(Path::new("f"), text).err().unwrap_or_default();
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn defaults_are_what_they_say() {
        let settings = ResolverSettings::default();
        assert_eq!(prefixes(&settings.never_ask).len(), SPECIAL_ADDRESSES.len());
        assert_eq!(ports(&settings.source_ports), Some((1024, 65_535)));
        let wrong = ["53-1024", "2000", "3000-2000", "1024-70000", "1024-2000"];
        assert_eq!(wrong.map(ports), [None; 5]);
    }

    #[test]
    fn what_is_wrong() {
        let text = "[resolver]\nenabled = true\ninsecure = [\"corp\", \"a..b\"]\nnever-ask = \"10.0.0.1/8\"\n\
                    source-ports = \"53\"\nipv4 = false\nipv6 = false\ndns64-prefixes = [\"64:ff9b::/96\", \"64:ff9b::/95\"]\n\
                    source-addresses = \"here\"\ndns64-clients = \"!10.0.0.0/8\"\n";
        assert_eq!(
            problems(text),
            [
                "f:3:21: insecure: expected a domain name, found \"a..b\": empty label",
                "f:4:13: never-ask: expected zeros after the first 8 bits, found \"10.0.0.1/8\"; did you mean \"10.0.0.0/8\"?",
                "f:5:16: source-ports: expected two ports from 1024 on with 2048 or more between, such as \"1024-65535\", found \"53\"",
                "f:7:8: ipv6: expected true beside `ipv4 = false`: nobody could be asked",
                "f:8:35: dns64-prefixes: expected an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits, found \"64:ff9b::/95\"",
                "f:9:20: source-addresses: expected an address, found \"here\"",
                "f:10:17: dns64-clients: expected no \"!\", found \"!10.0.0.0/8\"",
            ]
        );
    }

    #[test]
    fn records_of_local_zones() {
        let text = "[[local-zone]]\nname = \"home.example\"\n\
                    records = [\"a 60 A 192.0.2.1\", \"b 60 A 192.0.2\", \"c.other. 60 A 192.0.2.1\", \"\"]\n";
        let found = problems(text);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("f:3:32: records: \"b 60 A 192.0.2\": "), "{}", found[0]);
        assert_eq!(found[1], "f:3:50: records: expected a name at or below home.example., found c.other.");
        assert_eq!(
            found[2],
            "f:3:77: records: \"\": 1: expected at least one record, found the end of the file"
        );
        let ttls = ["a A 192.0.2.1", "a 60 A 192.0.2.1", "a 1d IN A 192.0.2.1"]
            .map(|line| local_records(line, Name::root()).unwrap()[0].ttl);
        assert_eq!(ttls, [3_600, 60, 86_400]);
    }

    #[test]
    fn zones_of_the_resolver() {
        let text = "[[forward]]\nname = \"corp\"\naddresses = [\"192.0.2.1\"]\n[[stub]]\nname = \"Corp.\"\naddresses = [\"192.0.2.1\"]\n\
                    [[forward]]\nname = \"x\"\naddresses = []\n[[forward]]\nname = \"y\"\naddresses = [\"192.0.2.1\"]\ntls-name = \"z\"\n\
                    [[local-zone]]\nkind = \"nothing\"\n";
        assert_eq!(
            problems(text),
            [
                "f:5:8: name: expected each name once, found Corp. in [[forward]] too",
                "f:7:1: [[forward]]: expected `addresses`, found none",
                "f:10:1: [[forward]]: expected `tls = true` beside `tls-name`",
                "f:15:8: kind: expected one of \"transparent\", \"typetransparent\", \"static\", \"redirect\", \"nxdomain\", \"nodata\", \"null\", \"refuse\", \"drop\", found \"nothing\"",
            ]
        );
    }

    #[test]
    fn forwarders_over_tls() {
        let pin = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        let check = |lines: &str, expected: Option<&str>| {
            let text = format!("[[forward]]\nname = \"x\"\naddresses = [\"192.0.2.1\"]\n{lines}\n");
            let expected: Vec<String> =
                expected.iter().map(|fault| format!("f:1:1: [[forward]]: {fault}")).collect();
            assert_eq!(problems(&text), expected, "{lines}");
        };
        check(&format!("tls = true\ntls-pins = [\"{pin}\"]"), None);
        check("tls = true\ntls-name = \"y\"\ntls-authorities = \"ca.pem\"", None);
        check("tls-authorities = \"ca.pem\"", Some("expected `tls = true` beside `tls-authorities`"));
        check(&format!("tls-pins = [\"{pin}\"]"), Some("expected `tls = true` beside `tls-pins`"));
        let unnamed = "expected `tls-name` beside `tls-authorities`: the name that they vouch for";
        check("tls = true\ntls-authorities = \"ca.pem\"", Some(unnamed));
        let both = "tls = true\ntls-name = \"y\"\ntls-authorities = \"ca.pem\"\n";
        let one = "expected `tls-authorities` or `tls-pins`, found both";
        check(&format!("{both}tls-pins = [\"{pin}\"]"), Some(one));
        let short = "tls-pins: expected hashes of 32 octets in base64";
        check("tls = true\ntls-pins = [\"AAAA\"]", Some(short));
    }
}
