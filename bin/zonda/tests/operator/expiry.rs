//! When signatures expire: a warning ahead, one when it has come, and what is shown.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::server::{OK, Server};

const DAY: u64 = 86_400;

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A sound zone of two labels whose signatures end then, but that of `ns A`, which ends at `first`. Nobody verifies them.
fn signed(origin: &str, expires: u64, first: u64) -> String {
    let mut text = "$TTL 60\n@ SOA ns mail 1 3600 600 86400 60\n@ NS ns\n@ NS ns.example.org.\n\
        @ DNSKEY 257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==\n\
        ns A 192.0.2.1\n@ NSEC ns NS SOA RRSIG NSEC DNSKEY\nns NSEC @ A RRSIG NSEC\n"
        .to_owned();
    for (owner, labels, types) in [("@", 2, &["SOA", "NS", "DNSKEY", "NSEC"][..]), ("ns", 3, &["A", "NSEC"])]
    {
        for covered in types {
            let ends = if *covered == "A" { first } else { expires };
            text += &format!("{owner} RRSIG {covered} 13 {labels} 60 {ends} 1000000000 2371 {origin} AAAA\n");
        }
    }
    text
}

/// A server with these zones `NAME.example`, and `more` in `[server]`.
fn start(zones: &[(&str, u64, u64)], more: &str) -> Server {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = more.to_owned();
    for (name, expires, first) in zones {
        let text = signed(&format!("{name}.example."), *expires, *first);
        std::fs::write(folder.path().join(format!("{name}.zone")), text).unwrap();
        settings += &format!("[[zone]]\nname = \"{name}.example\"\nfile = \"{name}.zone\"\n");
    }
    Server::start(folder, &settings)
}

/// How many lines of the log have all of these words.
fn told(server: &Server, words: &[&str]) -> usize {
    server.log().lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
}

#[test]
fn what_has_expired_and_what_soon_will() {
    let now = now();
    let far = now + 30 * DAY + 600;
    let zones = [("far", far, far), ("soon", far, now + 2 * DAY + 60), ("past", far, now - 5 * DAY - 60)];
    let server = start(&zones, "");
    server.wait_until(|| told(&server, &["WARN", "zone soon.example.", "expire in 2 d"]) == 1);
    assert_eq!(told(&server, &["WARN", "zone past.example.", "the first 5 days ago"]), 1, "{}", server.log());
    assert_eq!(told(&server, &["WARN", "far.example"]), 0, "{}", server.log());
    assert_eq!(told(&server, &["[rrsig-expired]"]), 1, "{}", server.log());
    assert_eq!(server.soa("past.example"), (OK, Some(1)));

    let (status, text, _) = server.ctl(&["status"]);
    assert!(status == Some(1) && text.contains("3 loaded, 1 expired\n"), "{text}");
    assert!(text.contains("expiry    soon.example. in 2 d 0 h, at 20"), "{text}");
    assert!(text.contains("problem   1 zone with signatures that have expired"), "{text}");
    let (_, json, _) = server.ctl(&["status", "--json"]);
    let next = format!(r#""next_expiry":{{"zone":"soon.example.","expires":{}}}"#, zones[1].2);
    assert!(json.contains(&next) && json.contains(r#""zones_expired":1"#), "{json}");
    let (status, text, _) = server.ctl(&["zones", "far.example"]);
    assert!(status == Some(0) && text.contains("expiry    in 30 d 0 h, at 20"), "{text}");
    let (status, text, _) = server.ctl(&["zones", "past.example"]);
    assert!(status == Some(1) && text.contains("expiry    expired 5 d 0 h ago, at 20"), "{text}");
    assert!(text.contains("[rrsig-expired]"), "{text}");
    let (status, text, _) = server.ctl(&["zones", "--state", "expired"]);
    assert!(
        status == Some(1) && text.contains("past.example.") && text.contains("(signatures expired, "),
        "{text}"
    );
    assert_eq!(text.lines().count(), 2, "{text}");

    // Said once a zone and state, and again only when there is more to say.
    server.ctl(&["reload"]);
    Server::write_settings(server.folder.path(), &{
        let zones =
            zones.map(|(name, ..)| format!("[[zone]]\nname = \"{name}.example\"\nfile = \"{name}.zone\"\n"));
        format!("warn-expiry-days = 40\n{}", zones.concat())
    });
    server.ctl(&["reload"]);
    server.wait_until(|| told(&server, &["WARN", "zone far.example.", "expire in 30 d 0 h"]) == 1);
    assert_eq!(told(&server, &["zone soon.example.", "expire in"]), 1, "{}", server.log());
    assert_eq!(told(&server, &["zone past.example.", "days ago"]), 1, "{}", server.log());
}

/// Nobody has to ask, and nothing has to be loaded, for it to be said when it has come.
#[test]
fn it_is_said_when_it_has_come() {
    let soon = now() + 1;
    let server = start(&[("a", soon + 30 * DAY, soon)], "warn-expiry-days = 1\n");
    server.wait_until(|| told(&server, &["zone a.example.", "expire in"]) == 1);
    assert_eq!(told(&server, &["expired"]), 0, "{}", server.log());
    server.wait_until(|| told(&server, &["WARN", "zone a.example.", "signatures have expired"]) == 1);
    assert_eq!(server.ctl(&["status"]).0, Some(1));
}

/// One signature that is left over beside a good one is no reason to worry.
#[test]
fn a_signature_that_is_left_over() {
    let far = now() + 30 * DAY + 600;
    let folder = tempfile::tempdir().unwrap();
    let text =
        signed("a.example.", far, far) + "ns RRSIG A 13 3 60 1100000000 1000000000 2371 a.example. AAAA\n";
    std::fs::write(folder.path().join("a.zone"), text).unwrap();
    let server = Server::start(folder, "[[zone]]\nname = \"a.example\"\nfile = \"a.zone\"\n");
    let (status, text, _) = server.ctl(&["zones", "a.example"]);
    assert!(
        status == Some(0) && text.contains("expiry    in 30 d 0 h") && text.contains("1 warning"),
        "{text}"
    );
}
