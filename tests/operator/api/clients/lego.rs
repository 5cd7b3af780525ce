//! lego, of Debian, with its provider `pdns`: certificates by records that it makes, and takes away.

use std::process::Command;
use std::sync::{Arc, Mutex};

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::rtype;
use zonda_tests::server::peers::require;

use super::{Served, acme, count};
use crate::api::Fixture;

/// A name, and the length of each of its texts.
type Seen = (String, Vec<usize>);

/// Asks for a certificate of these names; what it said.
fn run(served: &Served, fixture: &Fixture<'_>, key: &str, directory: &str, names: &[&str]) -> (bool, String) {
    let folder = crate::kit::folder(&[]);
    let mut command = Command::new(require("lego", "lego"));
    command.args(["--server", directory, "--accept-tos", "--email", "host@a.test", "--dns", "pdns"]);
    command.args(["--dns.resolvers", &fixture.server.address.to_string(), "--dns.disable-cp", "--path"]);
    command.arg(folder.path());
    for name in names {
        command.args(["--domains", name]);
    }
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("NO_PROXY", "*");
    command.env("PDNS_API_URL", format!("https://127.0.0.1:{}", fixture.at.port())).env("PDNS_API_KEY", key);
    command.env("PDNS_POLLING_INTERVAL", "1").env("SSL_CERT_FILE", served.ca()).env("HOME", folder.path());
    let output = command.arg("run").output().expect("lego");
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let name = names[0].replace('*', "_");
    let is_there = folder.path().join(format!("certificates/{name}.crt")).is_file();
    (output.status.success() && is_there, said)
}

#[test]
fn it_has_certificates() {
    let served = Served::new();
    let fixture = served.bed.start();
    let at = fixture.server.address;
    // What was served when the authority looked: the length of each text.
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let directory = acme::start(Box::new(move |name| {
        let texts: Vec<usize> = ask(at, Transport::Udp, &Query::new(name, rtype::TXT))
            .answer
            .iter()
            .map(|record| record.rdata.len())
            .collect();
        let is_proven = !texts.is_empty();
        noted.lock().expect("a list").push((name.to_owned(), texts));
        is_proven
    }));
    let serial = fixture.serial("a.test.");
    let (is_done, said) = run(&served, &fixture, &served.secret, &directory, &["www.a.test", "mail.a.test"]);
    assert!(is_done, "{said}\n{}", fixture.server.log());
    let mut seen = seen.lock().expect("a list").clone();
    seen.sort();
    // 43 letters of base64 and their length.
    let expected = ["mail", "www"].map(|name| (format!("_acme-challenge.{name}.a.test."), vec![44]));
    assert_eq!(seen, expected);
    // Each was made and taken away: four versions, and nothing is left.
    assert_eq!(fixture.serial("a.test."), serial + 4);
    for (name, _) in &seen {
        assert_eq!(count(&fixture, name, rtype::TXT), 0);
    }
}

/// A key that may do nothing but this is enough, and one that may not is told so.
#[test]
fn a_key_for_challenges_alone() {
    let mut served = Served::new();
    served.bed.keys = served
        .bed
        .keys
        .replace("rules = \"grant zonesub ANY\"", "rules = \"grant label _acme-challenge TXT\"");
    let fixture = served.bed.start();
    let at = fixture.server.address;
    let directory = acme::start(Box::new(move |name| {
        !ask(at, Transport::Udp, &Query::new(name, rtype::TXT)).answer.is_empty()
    }));
    let (is_done, said) = run(&served, &fixture, &served.secret, &directory, &["www.a.test"]);
    assert!(is_done, "{said}\n{}", fixture.server.log());
    let (is_done, said) = run(&served, &fixture, &served.bed.reader, &directory, &["www.a.test"]);
    assert!(!is_done && said.contains("status code 403"), "{said}");
}
