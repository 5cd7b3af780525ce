//! Zones that are not loaded for what is wrong with them: `refuse`.

use crate::server::{OK, SERVFAIL, Server, run, zone};

const ERROR: &str = "*.w NS ns\n";
const WARNING: &str = "m MX 1 none\n";

const ZONES: &str = "[[zone]]\nname = \"bad.example\"\nfile = \"bad.zone\"\n\
                     [[zone]]\nname = \"kept.example\"\nfile = \"bad.zone\"\nrefuse = \"fatal\"\n\
                     [[zone]]\nname = \"odd.example\"\nfile = \"odd.zone\"\n\
                     [[zone]]\nname = \"strict.example\"\nfile = \"odd.zone\"\nrefuse = \"warning\"\n\
                     [[zone-directory]]\npath = \"lax\"\nrefuse = \"fatal\"\n";

#[test]
fn what_is_refused_is_as_a_broken_zone() {
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: String| std::fs::write(folder.path().join(file), text).unwrap();
    std::fs::create_dir(folder.path().join("lax")).unwrap();
    write("bad.zone", zone(1) + ERROR);
    write("odd.zone", zone(1) + WARNING);
    write("lax/lax.example.zone", zone(1) + ERROR);
    let server = Server::start(folder, &format!("refuse = \"error\"\n{ZONES}"));
    let all = ["bad.example", "kept.example", "odd.example", "strict.example", "lax.example"];
    let served = |expected: [bool; 5]| {
        let found = all.map(|name| server.soa(name).0 == OK);
        assert_eq!(found, expected, "{}", server.log());
    };
    served([false, true, true, false, true]);
    assert_eq!(server.soa("bad.example").0, SERVFAIL);
    let (status, text, _) = server.ctl(&["zones", "bad.example"]);
    assert!(status == Some(1) && text.contains("absent") && text.contains("[wildcard-ns]"), "{text}");
    assert!(text.contains("a zone with an error is not loaded, as `refuse` has it"), "{text}");
    let (_, text, _) = server.ctl(&["zones", "strict.example"]);
    assert!(text.contains("[mx-no-address]") && text.contains("with an error or a warning is not"), "{text}");

    // A zone that was good stays as it was.
    server.write("odd.zone", &(zone(2) + ERROR));
    let (status, _, errors) = server.ctl(&["reload", "--force", "odd.example"]);
    assert!(
        status == Some(1) && errors.contains("[wildcard-ns]") && errors.contains("served still"),
        "{errors}"
    );
    assert_eq!(server.soa("odd.example"), (OK, Some(1)));
    assert!(server.ctl(&["zones", "odd.example"]).1.contains("stale"));

    // The setting is changed while the server runs; what was added by command follows it.
    Server::write_settings(server.folder.path(), ZONES);
    assert_eq!(server.ctl(&["reload"]).0, Some(1), "strict.example has its own");
    served([true, true, true, false, true]);
    Server::write_settings(server.folder.path(), &format!("refuse = \"error\"\n{ZONES}"));
    server.ctl(&["reconfigure"]);
    served([true, true, true, false, true]);
    let file = server.path("bad.zone").display().to_string();
    let (status, _, errors) = server.ctl(&["add-zone", "more.example", &file]);
    assert!(status == Some(1) && errors.contains("[wildcard-ns]"), "{errors}");
    Server::write_settings(server.folder.path(), &format!("refuse = \"eror\"\n{ZONES}"));
    let (_, _, errors) = server.ctl(&["reconfigure"]);
    assert!(errors.contains("expected one of \"fatal\", \"error\", \"warning\""), "{errors}");
}

/// Of a pack the numbers count that were found when it was made.
#[test]
fn packs_of_the_operators() {
    let folder = tempfile::tempdir().unwrap();
    let path = |file: &str| folder.path().join(file).display().to_string();
    for (file, text) in [("bad.zone", zone(1) + ERROR), ("good.zone", zone(1))] {
        std::fs::write(path(file), text).unwrap();
    }
    let zones = [format!("bad.example={}", path("bad.zone")), format!("good.example={}", path("good.zone"))];
    let (status, _, errors) = run(&["compile", "-o", &path("pack"), &zones[0], &zones[1]]);
    assert!(status == Some(0) && errors.contains("[wildcard-ns]"), "{errors}");
    let zone = |name| format!("[[zone]]\nname = \"{name}\"\npack = \"pack\"\n");
    let settings = format!("refuse = \"error\"\n{}{}", zone("bad.example"), zone("good.example"));
    let server = Server::start(folder, &settings);
    assert_eq!((server.soa("bad.example").0, server.soa("good.example").0), (SERVFAIL, OK));
    let (_, text, _) = server.ctl(&["zones", "bad.example"]);
    assert!(text.contains("pack: 1 error when its pack was made"), "{text}");
}
