//! Catalogs that are made here.

use zonda_tests::name::Name;
use zonda_tests::server::peers::require;
use zonda_tests::zone::transfer;

use super::*;

const ONE: &str = "one.member.test.";
const TWO: &str = "two.member.test.";
const THREE: &str = "three.member.test.";

/// Settings of a server that makes a catalog of all zones of its folder, of group `open`. `more`: further sections.
fn producer(other: SocketAddr, more: &str) -> String {
    format!(
        "pack-directory = \"HOME/packs\"\n[access]\ntransfer = \"all\"\n[[remote]]\nname = \"other\"\naddresses = [\"{other}\"]\n\
         [[zone]]\nname = \"{CATALOG}\"\nmake-catalog = true\nnotify = \"other\"\n\
         [[zone-directory]]\npath = \"HOME/zones\"\nnotify = \"other\"\ncatalog = \"{CATALOG}\"\ngroup = \"open\"\n{more}"
    )
}

/// The catalog's serial, and each member with its label.
fn listed(server: SocketAddr) -> (u32, Vec<(String, String)>) {
    let records = transfer(server, CATALOG);
    let mut members: Vec<(String, String)> = records
        .iter()
        .filter(|record| record.rtype == 12 && !record.owner.to_string().starts_with("coo."))
        .map(|record| (Name::from_wire(record.rdata.clone()).to_string(), record.owner.to_string()))
        .collect();
    members.sort();
    let Some(Ok(serial)) = serial(server, CATALOG) else { panic!("no serial") };
    (serial, members)
}

/// A catalog made here is followed there: zones come by settings and by command, go, and are others of their names.
#[test]
fn what_is_made_is_followed() {
    let address = free_address();
    let files =
        [("zones/one.member.test.zone", &*zone_text(1)), ("three", &zone_text(7)), ("again", &zone_text(3))];
    let settings = producer(address, "");
    let mut there = Zonda::start(free_address(), &settings, &files);
    let here = Zonda::start(address, &consumer(there.address, "", ""), &[]);
    await_that("the member", || is_served(address, ONE));
    // By settings.
    there.put(TWO, &zone_text(2));
    await_that("one more", || serial(address, TWO) == Some(Ok(2)));
    // By command, in another group.
    let add = |file: &str, group: &str| {
        let added = there.ctl(&["add-zone", THREE, file, "--catalog", CATALOG, "--group", group]);
        assert!(added.0, "{}", added.1);
    };
    let file = |name: &str| there.folder.path().join(name).display().to_string();
    add(&file("three"), "closed");
    await_that("the third", || {
        here.ctl(&["zones", THREE]).1.contains("serial    7") && is_refused(address, THREE)
    });
    // Another zone of the same name: of a lower serial, which a secondary takes of no zone that it has.
    assert!(there.ctl(&["remove-zone", THREE]).0);
    add(&file("again"), "open");
    await_that("the other zone", || serial(address, THREE) == Some(Ok(3)));
    assert!(there.ctl(&["remove-zone", THREE]).0);
    await_that("its end", || is_refused(address, THREE) && here.ctl(&["catalog"]).1.contains("2 members"));
    // Nobody else makes it.
    assert!(!there.ctl(&["add-zone", THREE, &file("again"), "--catalog", "other.test."]).0);
    // After a start it is what it was, and goes on.
    let before = listed(there.address);
    assert_eq!(before.1.iter().map(|(zone, _)| zone.as_str()).collect::<Vec<_>>(), [ONE, TWO]);
    there.start_again(&settings);
    await_that("the catalog", || is_served(there.address, CATALOG));
    std::thread::sleep(MOMENT);
    assert_eq!(listed(there.address), before);
    std::fs::remove_file(there.folder.path().join("zones/two.member.test.zone")).expect("a file less");
    assert!(there.ctl(&["reload"]).0);
    await_that("one less", || is_refused(address, TWO));
    assert!(is_served(address, ONE));
}

/// A catalog whose state is lost is made anew with the labels that it had, newer than before: those who have it lose nothing.
#[test]
fn a_lost_catalog_is_made_anew() {
    let address = free_address();
    let files =
        [("zones/one.member.test.zone", &*zone_text(1)), ("zones/two.member.test.zone", &zone_text(2))];
    let settings = producer(address, "");
    let mut there = Zonda::start(free_address(), &settings, &files);
    let here = Zonda::start(address, &consumer(there.address, "", ""), &[]);
    await_that("the members", || is_served(address, ONE) && is_served(address, TWO));
    let before = listed(there.address);
    there.kill();
    std::fs::remove_dir_all(there.folder.path().join("packs")).expect("no packs");
    // Made in the same second it would not be newer.
    std::thread::sleep(Duration::from_millis(1_100));
    there.process = spawn(there.folder.path(), there.address, &settings);
    there.await_answers();
    await_that("the catalog", || is_served(there.address, CATALOG));
    let after = listed(there.address);
    assert!(after.1 == before.1 && after.0 > before.0, "{before:?} {after:?}");
    await_that("the catalog there", || {
        here.ctl(&["refresh", CATALOG]);
        here.ctl(&["catalog"]).1.contains(&after.0.to_string())
    });
    std::thread::sleep(MOMENT);
    assert!(here.ctl(&["catalog"]).0 && is_served(address, ONE) && is_served(address, TWO));
    assert!(!here.log().contains("reset"), "{}", here.log());
}

/// Ten thousand zones that come at once are one version of the catalog, or two.
#[test]
fn many_zones_are_few_versions() {
    let address = free_address();
    let names: String = (0..10_000).map(|number| format!("m{number}.many.test\n")).collect();
    let more =
        format!("[[zone]]\nnames-file = \"HOME/names\"\nfile = \"HOME/same\"\ncatalog = \"{CATALOG}\"\n");
    let files = [("zones/one.member.test.zone", &*zone_text(1)), ("names", ""), ("same", &zone_text(1))];
    let there = Zonda::start(free_address(), &producer(address, &more), &files);
    await_that("the catalog", || is_served(there.address, CATALOG));
    let before = listed(there.address).0;
    write(there.folder.path(), "names", &names);
    assert!(there.ctl(&["reload"]).0);
    await_that("the members", || listed(there.address).1.len() == 10_001);
    let after = listed(there.address).0;
    assert!(after - before <= 2, "{before} {after}");
}

/// What others read of it: knotd and named as those who take it, while members come and go.
#[track_caller]
fn check_taken_by(start: impl FnOnce(&Path, SocketAddr, SocketAddr) -> Command) {
    let address = free_address();
    let files =
        [("zones/one.member.test.zone", &*zone_text(1)), ("zones/two.member.test.zone", &zone_text(2))];
    let there = Zonda::start(free_address(), &producer(address, ""), &files);
    await_that("the catalog", || is_served(there.address, CATALOG));
    let folder = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
    let command = start(folder.path(), address, there.address);
    let mut process = Guarded::spawn(command, folder.path());
    await_that("the members", || is_served(address, ONE) && is_served(address, TWO));
    there.put(THREE, &zone_text(3));
    await_that("one more", || serial(address, THREE) == Some(Ok(3)));
    std::fs::remove_file(there.folder.path().join("zones/one.member.test.zone")).expect("a file less");
    assert!(there.ctl(&["reload"]).0);
    await_that("one less", || is_refused(address, ONE));
    assert!(is_served(address, TWO) && is_served(address, THREE));
    process.stop();
}

#[test]
fn knotd_takes_it() {
    check_taken_by(|folder, address, there| {
        let (home, port, other) = (folder.display(), address.port(), there.port());
        let text = format!(
            "server:\n  listen: 127.0.0.1@{port}\n  rundir: {home}\n  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\n\
             log:\n  - target: stderr\n    any: info\ndatabase:\n  storage: {home}\nremote:\n  - id: there\n    address: 127.0.0.1@{other}\n\
             acl:\n  - id: there\n    address: 127.0.0.0/8\n    action: notify\ntemplate:\n  - id: default\n    storage: {home}\n    \
             master: there\n    acl: there\n    semantic-checks: off\n  - id: open\n    storage: {home}\n    master: there\n    acl: there\n\
             zone:\n  - domain: {CATALOG}\n    master: there\n    acl: there\n    catalog-role: interpret\n    catalog-template: [default, open]\n"
        );
        let mut command = Command::new(require("knotd", "knot"));
        command.arg("-c").arg(write(folder, "knot.conf", &text));
        command
    });
}

#[test]
fn named_takes_it() {
    check_taken_by(|folder, address, there| {
        let (home, port, other) = (folder.display(), address.port(), there.port());
        let text = format!(
            "options {{ directory \"{home}\"; pid-file none; session-keyfile none; listen-on-v6 {{ none; }}; listen-on port {port} {{ 127.0.0.1; }}; \
             recursion no; empty-zones-enable no; dnssec-validation no; notify no; \
             catalog-zones {{ zone \"{CATALOG}\" default-masters {{ 127.0.0.1 port {other}; }} in-memory yes min-update-interval 1; }}; }};\n\
             controls {{ }};\nzone \"{CATALOG}\" {{ type secondary; file \"catalog.zone\"; masters {{ 127.0.0.1 port {other}; }}; }};\n"
        );
        let mut command = Command::new(require("named", "bind9"));
        command.args(["-g", "-n", "1", "-U", "1", "-c"]).arg(write(folder, "named.conf", &text));
        command
    });
}
