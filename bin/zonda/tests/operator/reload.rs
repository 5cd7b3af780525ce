//! Reloads: what changed is served, what is broken is not taken.

use crate::server::{OK, REFUSED, SERVFAIL, Server, one_zone, zone};

#[test]
fn one_zone_changes() {
    let (folder, settings) = one_zone();
    let server = Server::start(folder, settings);
    server.write("a.zone", &zone(2));
    let (status, text, errors) = server.ctl(&["reload", "A.Example."]);
    assert_eq!((status, errors.as_str()), (Some(0), ""), "{text}");
    assert!(text.starts_with("1 zone loaded ("), "{text}");
    assert_eq!(server.soa("a.example"), (OK, Some(2)));
}

#[test]
fn a_broken_zone_stays_as_it_was() {
    let (folder, settings) = one_zone();
    let server = Server::start(folder, settings);
    server.write("a.zone", &zone(2).replace("192.0.2.2", "192.0.2"));
    let (status, _, errors) = server.ctl(&["reload"]);
    assert_eq!(status, Some(1));
    assert!(errors.contains("a.zone:5:7: expected an IPv4 address, found \"192.0.2\""), "{errors}");
    assert_eq!(server.soa("a.example"), (OK, Some(1)));
    assert!(server.log().contains("a.zone:5:7"), "{}", server.log());
    assert!(server.ctl(&["zones", "a.example"]).1.contains("stale"));
    std::fs::remove_file(server.path("a.zone")).unwrap();
    assert_eq!((server.ctl(&["reload", "a.example"]).0, server.soa("a.example")), (Some(1), (OK, Some(1))));
    server.write("a.zone", &zone(3));
    assert_eq!((server.ctl(&["reload"]).0, server.soa("a.example")), (Some(0), (OK, Some(3))));
}

#[test]
fn a_serial_that_goes_backwards_is_served_with_a_warning() {
    let (folder, settings) = one_zone();
    let server = Server::start(folder, settings);
    server.write("a.zone", &zone(0));
    let (status, _, warnings) = server.ctl(&["reload"]);
    assert_eq!(status, Some(0));
    assert_eq!(warnings, "zonda: zone a.example.: serial went backwards (1, now 0)\n");
    assert_eq!(server.soa("a.example"), (OK, Some(0)));
}

#[test]
fn settings_by_signal() {
    let (folder, settings) = one_zone();
    let server = Server::start(folder, settings);
    server.write("b.zone", &zone(5));
    let more = format!("{settings}[[zone]]\nname = \"b.example\"\nfile = \"b.zone\"\n");
    Server::write_settings(server.folder.path(), &more);
    server.signal("HUP");
    server.wait_until(|| server.soa("b.example") == (OK, Some(5)));
    // Broken settings change nothing.
    Server::write_settings(server.folder.path(), "wrokers = 2\n");
    let (status, _, errors) = server.ctl(&["reconfigure"]);
    assert_eq!(status, Some(1));
    assert!(
        errors.contains("zonda.toml:6:1: unknown key \"wrokers\" in [server]; did you mean \"workers\"?"),
        "{errors}"
    );
    assert_eq!((server.soa("a.example"), server.soa("b.example")), ((OK, Some(1)), (OK, Some(5))));
    // A zone that is no longer asked for goes.
    Server::write_settings(server.folder.path(), settings);
    assert_eq!(server.ctl(&["reconfigure"]).0, Some(0));
    assert_eq!((server.soa("a.example"), server.soa("b.example")), ((OK, Some(1)), (REFUSED, None)));
}

#[test]
fn what_needs_a_start_is_said() {
    let (folder, settings) = one_zone();
    let server = Server::start(folder, settings);
    Server::write_settings(server.folder.path(), &format!("steer = \"cpu\"\n{settings}"));
    for _ in 0..2 {
        let (status, _, warnings) = server.ctl(&["reconfigure"]);
        assert_eq!(status, Some(0));
        let how = "the change takes effect at the next start, or with `zonda ctl upgrade`";
        assert_eq!(warnings, format!("zonda: [server] steer: {how}\n"));
    }
}

#[test]
fn a_folder_of_zones() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("zones")).unwrap();
    std::fs::write(folder.path().join("zones/a.example.zone"), zone(1)).unwrap();
    let server = Server::start(folder, "[[zone-directory]]\npath = \"zones\"\n");
    assert_eq!(server.soa("a.example"), (OK, Some(1)));
    server.write("zones/b.example.zone", &zone(2));
    std::fs::remove_file(server.path("zones/a.example.zone")).unwrap();
    server.write("zones/README", "no zone\n");
    let (status, text, _) = server.ctl(&["reload"]);
    assert!(status == Some(0) && text.starts_with("1 zone loaded, 1 added, 1 removed ("), "{text}");
    assert_eq!((server.soa("a.example"), server.soa("b.example")), ((REFUSED, None), (OK, Some(2))));
}

#[test]
fn an_included_file_counts() {
    let (folder, settings) = one_zone();
    std::fs::write(folder.path().join("a.zone"), "$TTL 60\n$INCLUDE soa.inc\n@ NS ns\nns A 192.0.2.1\n")
        .unwrap();
    std::fs::write(folder.path().join("soa.inc"), "@ SOA ns mail 1 2 3 4 5\n").unwrap();
    let server = Server::start(folder, settings);
    assert_eq!(server.soa("a.example"), (OK, Some(1)));
    server.write("soa.inc", "@ SOA ns mail 9 2 3 4 5\n");
    assert_eq!((server.ctl(&["reload"]).0, server.soa("a.example")), (Some(0), (OK, Some(9))));
}

#[test]
fn no_zone_at_all_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    Server::write_settings(folder.path(), "[[zone]]\nname = \"a.example\"\nfile = \"gone.zone\"\n");
    let config = folder.path().join("zonda.toml").display().to_string();
    let mut server = Server::spawn(folder, &["--config", &config]);
    assert_eq!(server.wait(), Some(1));
    assert!(server.log().contains("gone.zone: cannot open: no such file or directory"), "{}", server.log());
    assert!(server.log().ends_with(" ERROR no zone could be loaded, see above\n"), "{}", server.log());
}

#[test]
fn many_reloads_leave_few_packs() {
    let (folder, settings) = one_zone();
    let mut more = settings.to_owned();
    for number in 0..100 {
        std::fs::write(folder.path().join(format!("{number}.zone")), zone(1)).unwrap();
        more += &format!("[[zone]]\nname = \"z{number}.example\"\nfile = \"{number}.zone\"\n");
    }
    let server = Server::start(folder, &more);
    for number in 0..100 {
        server.write(&format!("{number}.zone"), &zone(2));
        assert_eq!(server.ctl(&["reload", &format!("z{number}.example")]).0, Some(0));
    }
    assert_eq!(server.ctl(&["reload"]).0, Some(0));
    let (_, status, _) = server.ctl(&["status", "--json"]);
    let packs: usize = status.split("\"packs\":").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert!(packs <= 66, "{packs} packs");
    assert!((0..100).all(|number| server.soa(&format!("z{number}.example")) == (OK, Some(2))));
    assert_eq!(server.soa("a.example"), (OK, Some(1)));
    assert_ne!(server.soa("a.example").0, SERVFAIL);
}
