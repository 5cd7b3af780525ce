//! Zones whose digests are verified, as they change: differences of primaries that are right and wrong, what is stored at a start, and the real root zone as a mirror from a primary of
//! another kind, which feeds a further server, expires, and comes back.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use zonda_tests::patience::await_or;
use zonda_tests::server::Guarded;
use zonda_tests::server::peers::require;

use super::check;
use super::internet::{Internet, Resolver, dig, in_internet, ip};
use crate::kit::folder;

/// Serials of a zone, its address, and the digests of that: SHA-384 and SHA-512 as another implementation computed them. So many more that differences are shorter than all of it.
const VERSIONS: [(u32, &str, &str, &str); 4] = [
    (
        2018031900,
        "203.0.113.63",
        "7ed3282c8ee7dc48de577887aa0cc75913a4e346c37a0a78b980e6a9656a1e23a1a359053d8742c18a55bb4292d3baed",
        "902cd57e11698874a4ea36c33104b5031ecc88d0e9ea9565037d9367d5b0064c61f604b0640b7aa52e0ee2114c2481f0b9ba099d6ff1966751d303a15873c7c2",
    ),
    (
        2018031901,
        "203.0.113.64",
        "eecf995be2a6518a75089b14b855091cd8f911c4686d387250f5cfb7b0fae1a16d14085a409dad7bd380726767b9fb77",
        "e8e2f9861d001fa0cf5be8b465d2102e8ee90ab565a0b149f46c9aa6f3c8f52be3b5152a998d193b5d5a87f0fac417f9d615063bcf78253e90e0cbec61eb7d56",
    ),
    (
        2018031902,
        "203.0.113.65",
        "ca5e04f15d3ee51271cf7fd9aac143f56ab435e636c1ec902f36a8c31190063ae264f06982bc7bf6e3643a8b06335e6e",
        "a1a0cc2fd9c3d1df4adaf73a1bf75be881d273ffa83b872bbcd5e298110ebb2e29387e5d99981b0e6f6943d4e57a0b5949728badb738cf2354deb574118c567f",
    ),
    (
        2018031903,
        "203.0.113.66",
        "843c7aba53a493e39f6ba9e019477cfcc646a12b3fce2bd33a1536cab179431b0074464a9504223ac05cf3b25df2c447",
        "d7dd3ce607265c794b12507cb3b08c68df2face8f707cd6e5f273fa554fdff5449db48d25f0c3144f07f2c56ff1885a78b7d378d03a0e5370ae25b99d0a36b19",
    ),
];

/// The text of a version, with the digests of another one if that is to be wrong, and one of an algorithm that nobody knows.
fn version(number: usize, digests: usize) -> String {
    let (serial, address, ..) = VERSIONS[number];
    let (.., sha384, sha512) = VERSIONS[digests];
    let many: String = (1..=100).map(|last| format!("many 3600 IN A 192.0.2.{last}\n")).collect();
    format!(
        "$ORIGIN example.\n@ 86400 IN SOA ns1 admin {serial} 1800 900 604800 86400\n@ 86400 IN NS ns1\n@ 86400 IN NS ns2\n\
         @ 86400 IN ZONEMD {serial} 1 1 {sha384}\n@ 86400 IN ZONEMD {serial} 1 2 {sha512}\n@ 86400 IN ZONEMD {serial} 1 240 {}\n\
         ns1 3600 IN A {address}\nns2 3600 IN AAAA 2001:db8::63\n{many}",
        &sha384[..32]
    )
}

/// Whether the last transfer was one of differences.
fn came_as_ixfr(shown: &str) -> bool {
    shown.contains("IXFR") && !shown.contains("in place of IXFR")
}

#[track_caller]
fn at(server: &Resolver, number: usize) {
    let address = VERSIONS[number].1;
    await_or(|| server.log(), || server.dig(&["ns1.example", "A"]).contains(address));
}

/// The zone from a primary at this address.
fn secondary(address: &str, zonemd: &str) -> String {
    format!(
        "[[remote]]\nname = \"primary\"\naddresses = [\"{address}\"]\n\
         [[zone]]\nname = \"example\"\nprimaries = \"primary\"\nzonemd = \"{zonemd}\"\n"
    )
}

const PRIMARY: &str = "127.0.0.9";
/// Where nobody answers.
const NOBODY: &str = "127.0.0.8";

/// A line of settings: a server has a history of its zones where it stores them.
fn stored_in(folder: &TempDir) -> String {
    format!("pack-directory = \"{}\"\n", folder.path().display())
}

/// A primary of the zone in a file of a folder, which knows what differs between versions.
fn primary(internet: &Internet, folder: &TempDir) -> Resolver {
    assert!(ip(&["address", "replace", &format!("{PRIMARY}/32"), "dev", "lo"]), "an address");
    let file = folder.path().join("example");
    fs::write(&file, version(0, 0)).expect("a zone file");
    let more = format!(
        "[access]\ntransfer = \"all\"\n[[zone]]\nname = \"example\"\nfile = \"{}\"\n",
        file.display()
    );
    let primary = internet.unasked_with(PRIMARY, &stored_in(folder), &more);
    await_or(|| primary.log(), || primary.has_begun());
    primary
}

/// What a primary serves next.
fn serve(primary: &Resolver, secondary: &Resolver, folder: &TempDir, text: &str) {
    fs::write(folder.path().join("example"), text).expect("a zone file");
    primary.ctl(&["reload"]);
    secondary.ctl(&["refresh", "example"]);
}

/// Differences are served if what they lead to is what was digested; if not, all of the zone is asked for, and if that is no better the zone stays.
#[test]
fn differences_are_digested() {
    in_internet(|internet| {
        let files = tempfile::tempdir().expect("a folder");
        let primary = primary(internet, &files);
        let secondary = internet.resolver_at("127.0.0.3", &secondary(PRIMARY, "require"));
        at(&secondary, 0);
        let verified = || secondary.log().matches("verified by its ZONEMD record").count();
        assert_eq!(verified(), 1, "{}", secondary.log());
        serve(&primary, &secondary, &files, &version(1, 1));
        at(&secondary, 1);
        let shown = secondary.ctl(&["zones", "example"]);
        assert!(came_as_ixfr(&shown) && verified() == 2, "{shown}{}", secondary.log());
        // Digests of the version before.
        serve(&primary, &secondary, &files, &version(2, 1));
        let said = |line: &str| secondary.log().contains(line);
        let whole = "sent what cannot be served: digest is not that of the zone; serial 2018031901 stays";
        await_or(|| secondary.log(), || said(whole));
        let differences = "sent differences that lead to what cannot be served: digest is not that of the zone; all of it is asked for";
        assert!(said(differences), "{}", secondary.log());
        at(&secondary, 1);
        // What leads there by way of that is served at once, and the version on the way never.
        serve(&primary, &secondary, &files, &version(3, 3));
        at(&secondary, 3);
        let shown = secondary.ctl(&["zones", "example"]);
        assert!(came_as_ixfr(&shown) && verified() == 3, "{shown}{}", secondary.log());
    });
}

/// Serves what is stored in a folder.
fn stored(internet: &Internet, packs: &TempDir, address: &str, zonemd: &str) -> Resolver {
    let server = internet.unasked_with("127.0.0.3", &stored_in(packs), &secondary(address, zonemd));
    await_or(|| server.log(), || server.has_begun());
    server
}

/// What is stored and was never verified is looked at before it is served where a digest is required; what was is served as it is.
#[test]
fn what_is_stored_is_as_required() {
    in_internet(|internet| {
        let (files, packs) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let primary = primary(internet, &files);
        let begin = |address: &str, zonemd: &str| stored(internet, &packs, address, zonemd);
        let has = |server: &Resolver, number: usize| {
            let said = server.dig(&["ns1.example", "A"]);
            assert!(said.contains(VERSIONS[number].1), "{said}{}", server.log());
        };
        let requires = "`zonemd` requires one that is right, so it is not served";
        let verified = "verified by its ZONEMD record";
        at(&begin(PRIMARY, "verify"), 0);
        // Sealed when it was stored.
        let server = begin(NOBODY, "require");
        has(&server, 0);
        assert!(!server.log().contains(verified), "{}", server.log());
        drop(server);
        let server = begin(PRIMARY, "require");
        serve(&primary, &server, &files, &version(1, 1));
        at(&server, 1);
        // Whoever takes over begins with the same.
        let server = server.with_successors();
        assert!(server.ctl(&["upgrade"]).contains("process"), "{}", server.log());
        has(&server, 1);
        drop(server);
        // With differences in the log: looked at.
        let server = begin(NOBODY, "require");
        has(&server, 1);
        assert!(server.log().contains(verified), "{}", server.log());
        drop(server);
        let server = begin(PRIMARY, "ignore");
        serve(&primary, &server, &files, &version(2, 1));
        at(&server, 2);
        drop(server);
        // With differences in the log that are wrong: what is below them is served.
        let server = begin(NOBODY, "require");
        has(&server, 0);
        assert!(server.log().contains(requires), "{}", server.log());
        drop(server);
        let server = begin(PRIMARY, "ignore");
        server.ctl(&["retransfer", "example"]);
        at(&server, 2);
        drop(server);
        // All of it, and wrong: nothing is left to be served.
        let server = begin(NOBODY, "require");
        assert!(server.log().contains(requires), "{}", server.log());
        check(&server.dig(&["ns1.example", "A"]), "SERVFAIL", "qr rd ra", &[]);
        drop(server);
        let server = begin(PRIMARY, "require");
        serve(&primary, &server, &files, &version(3, 3));
        at(&server, 3);
    });
}

/// knotd with the real root zone, digested by it anew with each change (SHA-512), of which it tells the mirror.
struct Knot {
    process: Option<(Guarded, TempDir)>,
    folder: TempDir,
}

const KNOT: &str = "127.0.0.10";

impl Knot {
    fn new() -> Knot {
        assert!(ip(&["address", "replace", &format!("{KNOT}/32"), "dev", "lo"]), "an address");
        let folder = folder(&[]);
        let zone = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/root.zone");
        fs::copy(zone, folder.path().join("root.zone")).expect("the root zone");
        let home = folder.path().display();
        let settings = format!(
            "server:\n  listen: {KNOT}@53\n  rundir: {home}\n  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\n\
             log:\n  - target: stderr\n    any: info\ndatabase:\n  storage: {home}\n\
             remote:\n  - id: mirror\n    address: 127.0.0.1@53\n    via: {KNOT}\n\
             acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: transfer\n\
             zone:\n  - domain: .\n    storage: {home}\n    file: root.zone\n    zonefile-load: difference-no-serial\n    zonefile-sync: 0\n\
             \x20   journal-content: all\n    semantic-checks: off\n    zonemd-generate: zonemd-sha512\n    acl: all\n    notify: mirror\n"
        );
        fs::write(folder.path().join("knot.conf"), settings).expect("settings");
        let mut knot = Knot { process: None, folder };
        knot.start();
        knot
    }

    fn start(&mut self) {
        let mut command = Command::new(require("knotd", "knot"));
        command.arg("-c").arg(self.folder.path().join("knot.conf"));
        // What it is guarded by goes with the process.
        let scratch = folder(&[]);
        let process = Guarded::spawn(command, scratch.path());
        let log = || fs::read_to_string(scratch.path().join("log")).unwrap_or_default();
        await_or(log, || dig(&format!("@{KNOT}"), &[".", "SOA"]).contains("status: NOERROR"));
        self.process = Some((process, scratch));
    }

    fn stop(&mut self) {
        self.process.take().into_iter().for_each(|(mut process, _)| process.stop());
    }

    /// Puts a record into the zone.
    fn add(&self, record: &[&str]) {
        let words: [&[&str]; 3] =
            [&["zone-begin", "."], &[&["zone-set", "."][..], record].concat(), &["zone-commit", "."]];
        for words in words {
            let mut command = Command::new(require("knotc", "knot"));
            command.arg("-c").arg(self.folder.path().join("knot.conf")).args(words);
            let output = command.output().expect("the program knotc");
            assert!(output.status.success(), "{words:?}: {output:?}");
        }
    }
}

/// The real root zone as a mirror that requires a digest: it comes from another kind of server, which tells of each change; another server has it from here; after a start with what is
/// stored it expires in front of the resolver, which asks the root's servers, and comes back.
#[test]
fn the_real_root() {
    in_internet(|internet| {
        let mut knot = Knot::new();
        let packs = folder(&[]);
        let verified = |mirror: &Resolver| mirror.log().matches(VERIFIED).count();
        let mirror = mirror(internet, &packs, "");
        await_or(|| mirror.log(), || verified(&mirror) == 1);
        let other = "insecure = [\".\"]\n[[remote]]\nname = \"mirror\"\naddresses = [\"127.0.0.1\"]\nsource = \"127.0.0.3\"\n\
            [[zone]]\nname = \".\"\nprimaries = \"mirror\"\nzonemd = \"require\"\n";
        let other = internet.unasked_at("127.0.0.3", other);
        await_or(|| other.log(), || other.ctl(&["zones", "."]).contains("AXFR"));
        // A top-level name that this Internet has not. Nobody asks for half an hour: they are told.
        let is_there = |server: &Resolver, name: &str| server.dig(&[name, "TXT"]).contains("status: NOERROR");
        assert!(!is_there(&mirror, "added-one"));
        knot.add(&["added-one", "60", "TXT", "one"]);
        await_or(|| mirror.log() + &other.log(), || is_there(&other, "added-one"));
        mirror.ctl(&["cache", "flush", "--all"]);
        let added = ["added-one. IN TXT \"one\""];
        check(&mirror.dig(&["added-one", "TXT"]), "NOERROR", "qr rd ra", &added);
        for server in [&mirror, &other] {
            let shown = server.ctl(&["zones", "."]);
            assert!(came_as_ixfr(&shown), "{shown}{}", server.log());
        }
        assert_eq!(verified(&mirror), 2, "{}", mirror.log());
        // Nobody else gets it.
        let transferred = mirror.dig(&[".", "AXFR"]);
        assert!(transferred.contains("Transfer failed"), "{transferred}");
        drop(mirror);
        let mirror = self::mirror(internet, &packs, SHORT_TIMES);
        check(&mirror.dig(&["added-one", "TXT"]), "NOERROR", "qr rd ra", &added);
        // As it has changed since all of it was stored.
        assert_eq!(verified(&mirror), 1, "{}", mirror.log());
        let checked = || mirror.ctl(&["zones", "."]).contains("1 check answered");
        await_or(|| mirror.log(), || checked() || mirror.ctl(&["zones", "."]).contains("checks answered"));
        knot.stop();
        await_or(|| mirror.log(), || mirror.log().contains("zone .: expired"));
        mirror.ctl(&["cache", "flush", "--all"]);
        check(&mirror.dig(&["added-one", "TXT"]), "NXDOMAIN", "qr rd ra", &[]);
        let www = ["www.plain.org. IN A 192.0.2.9"];
        check(&mirror.dig(&["www.plain.org", "A"]), "NOERROR", "qr rd ra", &www);
        knot.start();
        await_or(|| mirror.log(), || verified(&mirror) == 2);
        mirror.ctl(&["cache", "flush", "--all"]);
        await_or(|| mirror.log(), || is_there(&mirror, "added-one"));
        knot.add(&["added-two", "60", "TXT", "two"]);
        await_or(|| mirror.log() + &other.log(), || is_there(&other, "added-two") && verified(&mirror) == 3);
    });
}

const VERIFIED: &str = "zone .: verified by its ZONEMD record (SHA-512)";

/// Settings of `[secondary]` by which a zone is checked each second, and expires four seconds after the last.
const SHORT_TIMES: &str = "refresh-min-seconds = 1\nrefresh-max-seconds = 1\nretry-min-seconds = 1\nretry-max-seconds = 1\nexpire-max-seconds = 4\n";

/// The mirror. The signatures of that zone have run out, and its keys are not those of this Internet.
fn mirror(internet: &Internet, packs: &TempDir, times: &str) -> Resolver {
    let more = format!(
        "insecure = [\".\"]\n[secondary]\n{times}\
         [[remote]]\nname = \"primary\"\naddresses = [\"{KNOT}\"]\n[[remote]]\nname = \"other\"\naddresses = [\"127.0.0.3\"]\n\
         [[acl]]\nname = \"other\"\naddresses = [\"127.0.0.3\"]\n\
         [[zone]]\nname = \".\"\nprimaries = \"primary\"\nmirror = true\nzonemd = \"require\"\nallow-transfer = \"other\"\nnotify = \"other\"\n"
    );
    let mirror = internet.unasked_with("127.0.0.1", &stored_in(packs), &more);
    await_or(|| mirror.log(), || mirror.has_begun());
    mirror
}
