//! Starts that answer from what is stored, and look at lists and files after that.

use crate::server::{OK, REFUSED, SERVFAIL, Server, zone};

/// Two zones with packs of an earlier start, whose server was ended. The texts are older than a moment.
fn stored() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        std::fs::write(folder.path().join(format!("{name}.zone")), zone(1)).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(30));
    let server = Server::start(folder, &settings("", &["a", "b"]));
    assert_eq!((server.soa("a.example"), server.soa("b.example")), ((OK, Some(1)), (OK, Some(1))));
    server.stop()
}

fn settings(more: &str, zones: &[&str]) -> String {
    let zone = |name: &&str| format!("[[zone]]\nname = \"{name}.example\"\nfile = \"{name}.zone\"\n");
    format!("pack-directory = \"packs\"\n{more}{}", zones.iter().map(zone).collect::<String>())
}

/// A zone that takes its time to be read.
fn slow(serial: u32) -> String {
    zone(serial) + "$GENERATE 0-600000 host-$ A 192.0.2.3\n"
}

#[test]
fn a_zone_is_served_as_stored_and_then_as_it_is_now() {
    let folder = stored();
    std::fs::write(folder.path().join("a.zone"), slow(2)).unwrap();
    let server = Server::start_at(folder, &settings("", &["a", "b"]), "answering from 2 zones as stored");
    assert_eq!((server.soa("a.example"), server.soa("b.example")), ((OK, Some(1)), (OK, Some(1))));
    server.wait_until(|| server.soa("a.example") == (OK, Some(2)));
    server.wait_until(|| server.log().contains("serving 2 zones after"));
    assert_eq!(server.soa("b.example"), (OK, Some(1)));
    let (_, zones, _) = server.ctl(&["zones"]);
    assert!(zones.contains("a.zone") && zones.contains("b.zone"), "{zones}");
}

#[test]
fn without_it_a_zone_that_changed_waits_for_its_text() {
    let folder = stored();
    std::fs::write(folder.path().join("a.zone"), slow(2)).unwrap();
    let settings = settings("serve-stored = false\n", &["a", "b"]);
    let server = Server::start_at(folder, &settings, " listens on ");
    server.wait_until(|| server.soa("b.example") == (OK, Some(1)));
    assert_eq!(server.soa("a.example"), (SERVFAIL, None));
    server.wait_until(|| server.soa("a.example") == (OK, Some(2)));
    assert!(!server.log().contains("as stored"), "{}", server.log());
}

#[test]
fn zones_come_and_go_between_two_starts() {
    let folder = stored();
    std::fs::write(folder.path().join("c.zone"), zone(7)).unwrap();
    let mut server = Server::start_at(folder, &settings("", &["b", "c"]), "answering from 2 zones as stored");
    server.wait_for("serving 2 zones after");
    assert_eq!((server.soa("a.example"), server.soa("c.example")), ((REFUSED, None), (OK, Some(7))));
    assert_eq!(server.soa("b.example"), (OK, Some(1)));
    // And the next start has them as they are now, once it is stored which zones of packs are not served: a moment after the others are.
    server.wait_until(|| server.path("packs/removed").exists());
    let server = Server::start(server.stop(), &settings("", &["b", "c"]));
    assert!(server.log().contains("answering from 2 zones as stored"), "{}", server.log());
    assert_eq!((server.soa("a.example"), server.soa("c.example")), ((REFUSED, None), (OK, Some(7))));
}

#[test]
fn a_broken_text_keeps_the_zone_as_stored() {
    let folder = stored();
    std::fs::write(folder.path().join("a.zone"), "nonsense\n").unwrap();
    std::fs::remove_file(folder.path().join("b.zone")).unwrap();
    let server = Server::start(folder, &settings("", &["a", "b"]));
    server.wait_until(|| server.log().contains("serving 2 zones after"));
    assert_eq!((server.soa("a.example"), server.soa("b.example")), ((OK, Some(1)), (OK, Some(1))));
    assert!(server.log().contains("zone a.example. not loaded; what was loaded before is served still"));
    assert!(server.ctl(&["zones", "a.example"]).1.contains("stale"));
    server.write("a.zone", &zone(3));
    assert_eq!((server.ctl(&["reload", "a.example"]).0, server.soa("a.example")), (Some(0), (OK, Some(3))));
}

/// Changes of single zones make no file each; a while later they are in one, and the next start has them.
#[test]
fn single_reloads_are_stored_together() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..40).map(|number| format!("z{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let write = |folder: &std::path::Path, serial| {
        names
            .iter()
            .for_each(|name| std::fs::write(folder.join(format!("{name}.zone")), zone(serial)).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(30));
    };
    write(folder.path(), 1);
    let settings = settings("", &names);
    let server = Server::start(folder, &settings);
    let packs = || {
        let files = std::fs::read_dir(server.path("packs")).unwrap();
        files.filter(|file| file.as_ref().unwrap().file_name().to_str().unwrap().ends_with(".zpack")).count()
    };
    assert_eq!(packs(), 1);
    write(server.folder.path(), 2);
    for name in &names {
        assert_eq!(server.ctl(&["reload", &format!("{name}.example")]).0, Some(0));
        // Those that are let go stay until what took their place is stored.
        assert!(packs() <= 5, "{} files", packs());
    }
    assert!(names.iter().all(|name| server.soa(&format!("{name}.example")) == (OK, Some(2))));
    let packs_in_use = || {
        let (_, status, _) = server.ctl(&["status", "--json"]);
        status.split("\"packs\":").nth(1).unwrap().split(',').next().unwrap().parse::<usize>().unwrap()
    };
    server.wait_until(|| packs_in_use() == packs() && packs() <= 3);
    let mut server = Server::start(server.stop(), &settings);
    assert!(server.log().contains("answering from 40 zones as stored"), "{}", server.log());
    server.wait_for("serving 40 zones after");
    assert!(names.iter().all(|name| server.soa(&format!("{name}.example")) == (OK, Some(2))));
    // No text is read again: of one whose serial is still the same that would be said.
    assert!(!server.log().contains("WARN"), "{}", server.log());
}
