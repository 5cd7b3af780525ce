//! Access lists through the program: who is refused, by what a zone says for itself, at once after a change, and with which cookies.

use std::process::Command;

use crate::server::{Server, run, zone};

/// Two addresses of this machine: the server listens on the first, clients ask from both.
const HERE: &str = "127.0.0.1";
const THERE: &str = "127.0.0.2";

const OFFICE: &str = "[[acl]]\nname = \"office\"\naddresses = [\"127.0.0.0/8\", \"!127.0.0.2\"]\n";

/// A folder with zones a, b and c.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        std::fs::write(folder.path().join(format!("{name}.zone")), zone(1)).unwrap();
    }
    let alias = zone(1) + "to-b CNAME www.b.example.\n";
    std::fs::write(folder.path().join("a.zone"), alias).unwrap();
    folder
}

/// A zone's section, with more lines in it.
fn section(name: &str, more: &str) -> String {
    format!("[[zone]]\nname = \"{name}.example\"\nfile = \"{name}.zone\"\n{more}")
}

/// The settings of zones a, b and c, of which b has a list of its own.
fn own_list() -> String {
    format!("{OFFICE}{}{}{}", section("a", ""), section("b", "allow-query = \"office\"\n"), section("c", ""))
}

/// What dig says of an answer.
struct Answer {
    text: String,
}

impl Answer {
    /// The response code.
    fn status(&self) -> &str {
        let status = self.text.split("status: ").nth(1).unwrap_or_else(|| panic!("{}", self.text));
        status.split(',').next().unwrap()
    }

    /// Records of the answer section.
    fn answers(&self) -> usize {
        let count = self.text.split("ANSWER: ").nth(1).unwrap().split(',').next().unwrap();
        count.parse().unwrap()
    }

    fn flags(&self) -> Vec<&str> {
        self.text.split("flags: ").nth(1).unwrap().split(';').next().unwrap().split(' ').collect()
    }

    #[track_caller]
    fn assert_refused(&self) {
        assert_eq!(
            (self.status(), self.answers(), self.flags().contains(&"aa")),
            ("REFUSED", 0, false),
            "{}",
            self.text
        );
        assert!(self.text.contains("; EDE: 18 (Prohibited)"), "{}", self.text);
    }
}

/// Asks with dig from an address; `more`: words of dig.
fn dig(server: &Server, from: &str, name: &str, more: &[&str]) -> Answer {
    let port = server.address().port().to_string();
    let mut command = Command::new("dig");
    // One try, and what comes is shown as it comes.
    command.args([
        "-4",
        "-b",
        from,
        &format!("@{HERE}"),
        "-p",
        &port,
        "+tries=1",
        "+timeout=20",
        "+norec",
        "+ignore",
    ]);
    let output = command.args(["+nobadcookie", "+nocookie"]).args(more).args([name, "A"]).output().unwrap();
    Answer { text: String::from_utf8(output.stdout).unwrap() }
}

fn refused_count(server: &Server) -> u64 {
    let (_, text, _) = server.ctl(&["stats", "--json"]);
    let count = text.split("\"name\":\"refused-by-access-lists\",\"count\":").nth(1).unwrap();
    count.split(',').next().unwrap().parse().unwrap()
}

#[test]
fn a_list_for_all_queries() {
    let settings = format!("{OFFICE}[access]\nquery = \"office\"\n{}", section("a", ""));
    let server = Server::start(folder(), &settings);
    // More often than it takes for the answer to be kept.
    for round in 1..5 {
        let answer = dig(&server, HERE, "www.a.example", &[]);
        assert_eq!((answer.status(), answer.answers()), ("NOERROR", 1));
        dig(&server, THERE, "www.a.example", &[]).assert_refused();
        server.wait_until(|| refused_count(&server) == round);
    }
    dig(&server, THERE, "www.a.example", &["+tcp"]).assert_refused();
    dig(&server, THERE, "nowhere", &[]).assert_refused();
    // Who is refused gets its cookie.
    let refused = dig(&server, THERE, "www.a.example", &["+cookie"]);
    refused.assert_refused();
    assert!(refused.text.contains("(good)"), "{}", refused.text);
    assert!(server.ctl(&["stats"]).1.contains("refused-by-access-lists"));
}

#[test]
fn a_zone_with_a_list_of_its_own() {
    let server = Server::start(folder(), &own_list());
    for _ in 0..4 {
        dig(&server, THERE, "www.b.example", &[]).assert_refused();
        assert_eq!(dig(&server, HERE, "www.b.example", &[]).answers(), 1);
        assert_eq!(dig(&server, THERE, "www.c.example", &[]).answers(), 1);
        // The alias ends before the zone that the client may not ask.
        let (ended, whole) =
            (dig(&server, THERE, "to-b.a.example", &[]), dig(&server, HERE, "to-b.a.example", &[]));
        assert_eq!((ended.status(), ended.answers(), whole.answers()), ("NOERROR", 1, 2));
    }
    // A reload of the zone changes nothing of it.
    server.write("b.zone", &zone(2));
    assert_eq!(server.ctl(&["reload", "b.example"]).0, Some(0));
    dig(&server, THERE, "www.b.example", &[]).assert_refused();
    assert_eq!(server.soa("b.example"), (crate::server::OK, Some(2)));
}

/// Kept answers of zones whose lists change are given no more, those of others still are.
#[test]
fn a_change_is_in_force_at_once() {
    let plain = format!("{OFFICE}{}{}{}", section("a", ""), section("b", ""), section("c", ""));
    let server = Server::start(folder(), &plain);
    let reconfigure = |settings: &str| {
        Server::write_settings(server.folder.path(), settings);
        let (status, text, errors) = server.ctl(&["reconfigure"]);
        assert_eq!((status, errors.as_str()), (Some(0), ""), "{text}");
    };
    let ask = |name: &str| dig(&server, THERE, name, &[]);
    for _ in 0..2 {
        for name in ["www.b.example", "to-b.a.example", "no.b.example", "www.c.example"] {
            (0..4).for_each(|_| assert_ne!(ask(name).status(), "REFUSED", "{name}"));
        }
        assert_eq!(ask("to-b.a.example").answers(), 2);
        reconfigure(&own_list());
        ask("www.b.example").assert_refused();
        ask("no.b.example").assert_refused();
        assert_eq!((ask("to-b.a.example").answers(), ask("www.c.example").answers()), (1, 1));
        // Another list of the same name, and another name.
        reconfigure(&own_list().replace("!127.0.0.2", "!127.0.0.3"));
        assert_eq!(ask("www.b.example").answers(), 1);
        reconfigure(&own_list().replace("office", "bureau"));
        ask("www.b.example").assert_refused();
        reconfigure(&plain);
    }
    // For all zones at once, and broken settings change nothing.
    reconfigure(&format!("{plain}[access]\nquery = \"office\"\n"));
    ask("www.c.example").assert_refused();
    Server::write_settings(server.folder.path(), &format!("{plain}[access]\nquery = \"offcie\"\n"));
    let (status, _, errors) = server.ctl(&["reconfigure"]);
    assert_eq!(status, Some(1));
    assert!(errors.contains(": query: unknown [[acl]] \"offcie\"; did you mean \"office\"?"), "{errors}");
    ask("www.c.example").assert_refused();
    let (status, _, problems) = run(&["check-config", server.path("zonda.toml").to_str().unwrap()]);
    assert_eq!(status, Some(1));
    assert!(problems.contains("zonda.toml:19:9: query: unknown [[acl]]"), "{problems}");
}

#[test]
fn an_address_must_be_proved() {
    let settings = format!(
        "[[acl]]\nname = \"shown\"\nproved = true\n[access]\nquery = \"shown\"\n{}",
        section("a", "")
    );
    let server = Server::start(folder(), &settings);
    for _ in 0..4 {
        // Without a cookie the client is to come over TCP; dig does unless it is told not to.
        let sent_back = dig(&server, HERE, "www.a.example", &[]);
        assert_eq!((sent_back.status(), sent_back.answers()), ("NOERROR", 0));
        assert!(sent_back.flags().contains(&"tc"), "{}", sent_back.text);
        assert_eq!(dig(&server, HERE, "www.a.example", &["+noignore"]).answers(), 1);
        // With one it is given a good one, with which dig comes again.
        let first = dig(&server, HERE, "www.a.example", &["+cookie"]);
        assert_eq!((first.status(), first.answers()), ("BADCOOKIE", 0));
        let second = dig(&server, HERE, "www.a.example", &["+cookie", "+badcookie"]);
        assert_eq!((second.status(), second.answers()), ("NOERROR", 1));
    }
}

/// What packs hold is not served before it is known who may ask: neither with lists nor after a start that had some.
#[test]
fn a_start_waits_for_the_lists() {
    let folder = folder();
    let packs = "pack-directory = \"packs\"\n";
    let server = Server::start(folder, &format!("{packs}{}", own_list()));
    dig(&server, THERE, "www.b.example", &[]).assert_refused();
    let folder = server.stop();
    assert!(folder.path().join("packs/restricted").exists());
    let server = Server::start(folder, &format!("{packs}{}", own_list()));
    assert!(!server.log().contains("as stored"), "{}", server.log());
    dig(&server, THERE, "www.b.example", &[]).assert_refused();
    assert_eq!(dig(&server, THERE, "www.c.example", &[]).answers(), 1);
    // The zone that only some may ask is gone: it must not come back for a moment, for all.
    let without = format!("{packs}{}{}", section("a", ""), section("c", ""));
    let server = Server::start(server.stop(), &without);
    assert!(!server.log().contains("as stored"), "{}", server.log());
    assert_eq!(dig(&server, HERE, "www.b.example", &[]).status(), "REFUSED");
    // Forgotten only once it is stored which zones of packs are not served: a moment after the others are.
    server.wait_until(|| !server.path("packs/restricted").exists());
    let server = Server::start_at(server.stop(), &without, "answering from 2 zones as stored");
    server.wait_until(|| server.log().contains("serving 2 zones after"));
}

/// Zones of a list of names and of a folder have the lists that their sections name, also those that come while the server runs.
#[test]
fn zones_of_lists_and_folders() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("more")).unwrap();
    std::fs::write(folder.path().join("more/d.example.zone"), zone(1)).unwrap();
    std::fs::write(folder.path().join("names"), "b.example\n").unwrap();
    std::fs::copy(folder.path().join("b.zone"), folder.path().join("b.example.zone")).unwrap();
    let settings = format!(
        "{OFFICE}[[zone]]\nnames-file = \"names\"\nfile = \"{{name}}.zone\"\nallow-query = [\"office\"]\n\
         [[zone-directory]]\npath = \"more\"\nallow-query = \"office\"\n{}",
        section("a", "")
    );
    let server = Server::start(folder, &settings);
    let check = |names: &[&str]| {
        for name in names {
            dig(&server, THERE, name, &[]).assert_refused();
            assert_eq!(dig(&server, HERE, name, &[]).answers(), 1, "{name}");
        }
    };
    check(&["www.b.example", "www.d.example"]);
    // One beside it, and one below a zone that all may ask.
    server.write("more/e.example.zone", &zone(1));
    server.write("more/f.a.example.zone", &zone(1));
    assert_eq!(dig(&server, THERE, "www.f.a.example", &[]).status(), "NXDOMAIN");
    assert_eq!(server.ctl(&["reload"]).0, Some(0));
    check(&["www.b.example", "www.d.example", "www.e.example", "www.f.a.example"]);
    assert_eq!(dig(&server, THERE, "www.a.example", &[]).answers(), 1);
}
