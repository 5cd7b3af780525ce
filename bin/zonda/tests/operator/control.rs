//! Commands to a running server.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use crate::server::{OK, REFUSED, SERVFAIL, Server, one_zone, run, zone};

#[test]
fn status_zones_and_stats() {
    let (folder, settings) = one_zone();
    std::fs::write(folder.path().join("b.zone"), "@ 60 SOA broken\n").unwrap();
    let server =
        Server::start(folder, &format!("{settings}[[zone]]\nname = \"b.example\"\nfile = \"b.zone\"\n"));
    assert_eq!(server.soa("a.example"), (OK, Some(1)));
    assert_eq!(server.soa("b.example"), (SERVFAIL, None));
    assert_eq!(server.soa("c.example"), (REFUSED, None));
    let (status, text, _) = server.ctl(&["status"]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("1 loaded, 1 absent\n") && text.contains("127.0.0.1:"), "{text}");
    let (_, zones, _) = server.ctl(&["zones"]);
    assert!(zones.contains("served           1") && zones.contains("absent           -"), "{zones}");
    let (_, zone, _) = server.ctl(&["zones", "B.example"]);
    assert!(zone.contains("problem") && zone.contains("b.zone:1:"), "{zone}");
    let (_, stats, _) = server.ctl(&["stats", "--json"]);
    assert!(stats.contains(r#"{"name":"queries","count":3,"#), "{stats}");
    assert!(stats.contains(r#"{"name":"SERVFAIL","count":1}"#), "{stats}");
    assert!(stats.contains(r#"{"name":"udp-queries","count":3,"#), "{stats}");
}

#[test]
fn zones_come_and_go_by_command() {
    let (folder, settings) = one_zone();
    let server = Server::start(folder, settings);
    server.write("b.zone", &zone(5));
    server.write("broken.zone", "@ 60 SOA x\n");
    let path = |file: &str| server.path(file).display().to_string();
    assert_eq!(server.ctl(&["add-zone", "b.example", &path("b.zone")]).0, Some(0));
    assert_eq!(server.soa("b.example"), (OK, Some(5)));
    let (status, _, errors) = server.ctl(&["add-zone", "c.example", &path("broken.zone")]);
    assert!(status == Some(1) && errors.contains("broken.zone:1:"), "{errors}");
    assert_eq!(server.soa("c.example"), (REFUSED, None));
    assert_eq!(server.ctl(&["add-zone", "b.example", &path("b.zone")]).0, Some(1));
    assert_eq!(server.ctl(&["remove-zone", "a.example"]).0, Some(0));
    assert_eq!(server.soa("a.example"), (REFUSED, None));
    assert_eq!(server.ctl(&["remove-zone", "a.example"]).0, Some(1));
    // A reload keeps both, and says what is not as the settings have it.
    let (status, _, warnings) = server.ctl(&["reload"]);
    assert!(
        status == Some(0) && warnings.contains("1 zone of the settings removed by command"),
        "{warnings}"
    );
    assert_eq!((server.soa("a.example"), server.soa("b.example")), ((REFUSED, None), (OK, Some(5))));
    let (_, zones, _) = server.ctl(&["zones"]);
    let rows: Vec<&str> = zones.lines().skip(1).collect();
    assert!(rows[0].starts_with("removed ") && rows[0].contains("a.example."), "{zones}");
    assert!(rows[1].starts_with("served ") && rows[1].ends_with("b.zone (added by command)"), "{zones}");
    assert!(server.ctl(&["zones", "A.example"]).1.contains("state     removed by command"));
    assert!(server.ctl(&["zones", "--json"]).1.contains(r#""by_command":"removed""#));
    let file = path("b.zone");
    assert_eq!(server.ctl(&["add-zone", "a.example", &file]).0, Some(0));
    assert_eq!(server.soa("a.example"), (OK, Some(5)));
    // What the settings have goes before at a reload, and is said.
    let (status, _, warnings) = server.ctl(&["reload"]);
    let is_told = warnings.contains("a.zone, as the settings say; by command it was from ")
        && warnings.contains("b.zone");
    assert!(status == Some(0) && is_told, "{warnings}");
    assert_eq!((server.soa("a.example"), server.soa("b.example")), ((OK, Some(1)), (OK, Some(5))));
    let (_, zones, _) = server.ctl(&["zones"]);
    assert_eq!((zones.matches("by command").count(), zones.matches("added by").count()), (1, 1), "{zones}");
}

#[test]
fn stop_and_what_is_left() {
    let (folder, settings) = one_zone();
    let mut server = Server::start(folder, settings);
    assert_eq!(server.ctl(&["stop"]).0, Some(0));
    assert_eq!(server.wait(), Some(0));
    assert!(!server.path("control").exists());
    let (status, _, errors) = server.ctl(&["status"]);
    assert!(status == Some(1) && errors.contains("is the server running?"), "{errors}");
}

#[test]
fn nonsense_on_the_socket() {
    let (folder, settings) = one_zone();
    let server = Server::start(folder, settings);
    let socket = server.path("control");
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let say = |octets: &[u8]| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        // The server may close before it has read everything.
        let _ = stream.write_all(octets);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    };
    for nonsense in ["", "\n", "nonsense\n", "{\"command\":\"burn\"}\n", "[[[["] {
        let answer = say(nonsense.as_bytes());
        assert!(
            answer.contains("not understood") && answer.ends_with("{\"reply\":\"end\",\"ok\":false}\n"),
            "{answer}"
        );
    }
    say(&[b'x'; 1 << 20]);
    assert_eq!(server.ctl(&["reload", "a..b"]).0, Some(1));
    assert_eq!(server.ctl(&["reload", "elsewhere.example"]).0, Some(1));
    assert_eq!(server.soa("a.example"), (OK, Some(1)));
}

#[test]
fn starts_that_fail() {
    let (folder, settings) = one_zone();
    let server = Server::start(folder, settings);
    let (_, text, _) = server.ctl(&["status", "--json"]);
    let listen = text.split("\"listen\":[\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let zone = format!("a.example={}", server.path("a.zone").display());
    let (status, _, errors) = run(&["serve", "--listen", &listen, "--zone", &zone]);
    assert_eq!(status, Some(1));
    let last = errors.lines().last().unwrap();
    assert!(
        last.contains(" ERROR cannot bind 127.0.0.1:") && last.contains("address already in use"),
        "{errors}"
    );
    let (status, _, errors) = run(&["serve", "--listen", "127.0.0.1:0", "--zone", "a.example=/nonexistent"]);
    assert!(status == Some(1) && errors.contains("/nonexistent: cannot open: no such file"), "{errors}");
    let (status, _, errors) = run(&["serve", "--config", "/nonexistent/zonda.toml"]);
    assert_eq!(
        (status, errors.as_str()),
        (Some(1), "zonda: /nonexistent/zonda.toml: cannot open: no such file or directory\n")
    );
}
