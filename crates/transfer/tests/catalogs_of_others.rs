//! Catalogs that knotd makes, read here; catalogs that are made here, taken by named and knotd.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::fmt::Write;
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use transfer::catalog_zone::{
    Allowed, CatalogSettings, Claims, Difference, Listed, Plan, Produced, RemoveMax, Wanted,
};
use wire::iana::rtype;
use wire::{Name, NameBuf};
use zonda_tests::exchange::udp_within;
use zonda_tests::message::Query;
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, free_address, write};
use zone::contents::SourcePosition;
use zone::{ContentsBuilder, Pack, PackBuilder, Records, TextStamp, ZoneView};

/// No answer takes so long unless something stands still: the machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_secs(60);
const CATALOG: &str = "catalog.example.";
/// Octets that need escapes, in the name of a zone.
const ODD: &str = "odd\\.\\032one.example.";

const ZONES: [&str; 3] = ["a.example.", "B.example.", ODD];

const SERVFAIL: u8 = 2;

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

fn scratch() -> TempDir {
    tempfile::Builder::new().prefix("zonda-test-").tempdir().unwrap()
}

/// Waits until `zone` gets this response code.
fn wait_for(address: SocketAddr, zone: &str, rcode: u8, process: &Guarded) -> bool {
    let query = Query::new(zone, rtype::SOA).octets();
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until && process.is_running() {
        let answer = udp_within(address, &query, Duration::from_millis(200)).ok().flatten();
        if answer.is_some_and(|answer| answer.get(3).is_some_and(|low| low & 0xf == rcode)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn log(folder: &TempDir) -> String {
    std::fs::read_to_string(folder.path().join("log")).unwrap_or_default()
}

fn pack(apex: &Name, records: &[(NameBuf, u16, Vec<u8>)]) -> Pack {
    let mut builder = ContentsBuilder::new(apex);
    for (owner, rtype, rdata) in records {
        builder.push(owner, false, *rtype, 0, rdata, SourcePosition::default()).unwrap();
    }
    let mut packs = PackBuilder::new(1);
    packs.add_zone(&builder.finish(), TextStamp::default()).unwrap();
    Pack::open(packs.finish().unwrap()).unwrap()
}

/// knotd with a catalog of these zones and groups; the address at which it serves it.
fn knotd_that_makes(zones: &[(&str, Option<&str>)]) -> (Guarded, TempDir, SocketAddr) {
    let (folder, address) = (scratch(), free_address());
    let (home, port) = (folder.path().display().to_string(), address.port());
    let mut text = format!(
        "server:\n  listen: {}@{port}\n  rundir: {home}\n  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\n\
         log:\n  - target: stderr\n    any: info\ndatabase:\n  storage: {home}\nacl:\n  - id: all\n    \
         address: 127.0.0.0/8\n    action: transfer\ntemplate:\n  - id: default\n    storage: {home}\n    \
         zonefile-load: whole\n    zonefile-sync: -1\n    acl: all\nzone:\n  - domain: {CATALOG}\n    catalog-role: generate\n",
        address.ip(),
    );
    for (number, (zone, group)) in zones.iter().enumerate() {
        let file = format!("{number}.zone");
        write(folder.path(), &file, "@ 60 SOA a. b. 1 2 3 4 5\n@ 60 NS ns.invalid.\n");
        write!(text, "  - domain: \"{}\"\n    file: {file}\n", zone).unwrap();
        write!(text, "    catalog-role: member\n    catalog-zone: {CATALOG}\n").unwrap();
        group.iter().for_each(|group| writeln!(text, "    catalog-group: {group}").unwrap());
    }
    let path = write(folder.path(), "knot.conf", &text);
    let mut command = Command::new(require("knotd", "knot"));
    command.arg("-c").arg(path);
    let process = Guarded::spawn(command, folder.path());
    (process, folder, address)
}

/// The records of a catalog, as a server sends them; none where it does not.
fn transferred(address: SocketAddr) -> Vec<(NameBuf, u16, Vec<u8>)> {
    let mut command = Command::new(require("dig", "bind9-dnsutils"));
    let port = address.port().to_string();
    command.args([
        "+onesoa",
        "+time=5",
        "+tries=1",
        "+noall",
        "+answer",
        "-p",
        &port,
        &format!("@{}", address.ip()),
        CATALOG,
        "AXFR",
    ]);
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let records = zonefile::records(&text, &name(CATALOG)).unwrap_or_default();
    records.into_iter().map(|record| (record.owner, record.rtype, record.rdata)).collect()
}

fn claims() -> Claims {
    let settings = CatalogSettings {
        zone: name(CATALOG),
        templates: vec!["plain".into(), "signed".into()],
        members: Allowed::default(),
        remove_max: RemoveMax::Any,
    };
    let mut claims = Claims::default();
    claims.configure(vec![settings]).unwrap();
    claims
}

#[test]
fn a_catalog_of_knotd() {
    let zones = [("plain.example.", None), ("signed.example.", Some("signed")), (ODD, Some("unknown"))];
    let (mut process, folder, address) = knotd_that_makes(&zones);
    // It answers no queries about catalogs, only transfers; and makes this one of its members one by one, as they are loaded.
    let until = Instant::now() + PATIENCE;
    let groups = zones.iter().filter(|(_, group)| group.is_some()).count();
    let records = loop {
        let records = transferred(address);
        let count = |of| records.iter().filter(|(_, rtype, _)| *rtype == of).count();
        // The version is a TXT record too.
        if (count(rtype::PTR), count(rtype::TXT)) == (zones.len(), groups + 1) {
            break records;
        }
        assert!(Instant::now() < until && process.is_running(), "{records:?}\n{}", log(&folder));
        std::thread::sleep(Duration::from_millis(50));
    };
    process.stop();
    let pack = pack(&name(CATALOG), &records);
    let view = ZoneView::new(&pack, 0).unwrap();
    let mut claims = claims();
    let catalog = claims.catalog(&name(CATALOG)).unwrap();
    let difference = Difference::of_state(&claims, catalog, &view, 1).unwrap();
    let mut plan = Plan::new(&mut claims, difference, &|_| false, false, 0);
    while plan.next_step(&mut claims).is_some() {}
    let mut found: Vec<_> =
        claims.iter().map(|(_, claim)| (claim.zone.to_string(), claim.template, claim.holds)).collect();
    found.sort();
    let mut expected = [
        ("plain.example.".to_owned(), "plain", true),
        ("signed.example.".to_owned(), "signed", true),
        (name(ODD).to_string(), "plain", true),
    ];
    expected.sort();
    assert_eq!(found, expected);
}

/// The text of a catalog that is made here, of these zones, each in these groups.
fn produced(zones: &[&str], groups: &[&str]) -> String {
    let apex = name(CATALOG);
    let begin = Produced::begin(&apex, 1_700_000_000).unwrap();
    let owned = |records: &Records| -> Vec<_> {
        records.iter().map(|record| (record.owner.to_owned(), record.rtype, record.rdata.to_vec())).collect()
    };
    let pack = pack(&apex, &owned(&begin));
    let view = ZoneView::new(&pack, 0).unwrap();
    let groups = groups.iter().map(|group| group.as_bytes().into()).collect();
    let listed = Listed { groups, coo: Some(name("next.example.")) };
    let wanted: Vec<_> = zones.iter().map(|zone| (name(zone), Wanted::Listed(listed.clone()))).collect();
    let change = Produced::read(&view).unwrap().change(&view, &wanted).unwrap().unwrap();
    let mut text = Vec::new();
    let stays = begin.iter().filter(|record| record.rtype != rtype::SOA);
    for record in change.added().iter().chain(stays) {
        zonefile::print::line(record.owner, record.ttl, record.rtype, record.rdata, &mut text);
    }
    String::from_utf8(text).unwrap()
}

/// Members are known then, if without data; other zones are not.
fn takes(mut command: Command, folder: &TempDir, address: SocketAddr) {
    command.current_dir(folder.path());
    let mut process = Guarded::spawn(command, folder.path());
    for zone in ZONES {
        assert!(wait_for(address, zone, SERVFAIL, &process), "{zone}\n{}", log(folder));
    }
    let other =
        udp_within(address, &Query::new("c.example.", rtype::SOA).octets(), PATIENCE).unwrap().unwrap();
    assert_ne!(other[3] & 0xf, SERVFAIL, "{}", log(folder));
    process.stop();
}

#[test]
fn named_takes_what_is_made_here() {
    let (folder, address) = (scratch(), free_address());
    let (home, port) = (folder.path().display().to_string(), address.port());
    write(folder.path(), "catalog.zone", &produced(&ZONES, &["a group", "other"]));
    let text = format!(
        "options {{\n directory \"{home}\"; pid-file none; session-keyfile none; listen-on-v6 {{ none; }};\n \
         listen-on port {port} {{ {}; }}; recursion no; empty-zones-enable no; dnssec-validation no; notify no;\n \
         catalog-zones {{ zone \"{CATALOG}\" default-primaries {{ 127.0.0.1 port 1; }} in-memory yes; }};\n}};\ncontrols {{ }};\n\
         zone \"{CATALOG}\" {{ type primary; file \"catalog.zone\"; }};\n",
        address.ip(),
    );
    let path = write(folder.path(), "named.conf", &text);
    let mut command = Command::new(require("named", "bind9"));
    command.args(["-g", "-n", "1", "-U", "1", "-c"]).arg(path);
    takes(command, &folder, address);
}

#[test]
fn knotd_takes_what_is_made_here() {
    let (folder, address) = (scratch(), free_address());
    let (home, port) = (folder.path().display().to_string(), address.port());
    // Of several groups 3.2 says that such a record is there already, and takes none of the catalog.
    write(folder.path(), "catalog.zone", &produced(&ZONES, &["a group"]));
    let text = format!(
        "server:\n  listen: {}@{port}\n  rundir: {home}\n  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\n\
         log:\n  - target: stderr\n    any: info\ndatabase:\n  storage: {home}\nremote:\n  - id: nobody\n    address: 127.0.0.1@1\n\
         template:\n  - id: default\n    storage: {home}\n    zonefile-load: whole\n    zonefile-sync: -1\n\
         \x20 - id: members\n    storage: {home}\n    master: nobody\n\
         zone:\n  - domain: {CATALOG}\n    file: catalog.zone\n    catalog-role: interpret\n    catalog-template: members\n",
        address.ip(),
    );
    let path = write(folder.path(), "knot.conf", &text);
    let mut command = Command::new(require("knotd", "knot"));
    command.arg("-c").arg(path);
    takes(command, &folder, address);
}
