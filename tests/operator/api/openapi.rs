//! The description of the API: told as it is kept, and each status that it lists can be had. That each answer is as it says is looked at wherever one is read ([`super::described`]).

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use zonda_tests::server::{ctl, free_address};

use super::client::{Client, Reply, body, rrset};
use super::described::{self, template_of};
use super::{Bed, Fixture, SERVER, new_key, replace};

const DESCRIPTION: &str = "/api/zonda/v1/openapi.json";

/// What cannot be had while the disk does what it should: it is not known whether something is kept.
const NOT_HAD: [u16; 1] = [504];

/// The largest body; of one key there are so many at a time.
const BODY_OCTETS_MAX: usize = 2 << 20;
const BODIES_A_KEY: usize = 4;

#[test]
fn it_is_told_to_any_key() {
    let bed = Bed::new();
    let fixture = bed.start();
    for key in [&bed.reader, &bed.observer] {
        let told = fixture.ask("GET", DESCRIPTION, key, "", "").expect("a reply");
        assert!(told.status == 200 && told.text == described::TEXT);
    }
    let head = fixture.ask("HEAD", DESCRIPTION, &bed.reader, "", "").expect("a reply");
    assert_eq!((head.status, &*head.text), (200, ""));
    let status = |key: &str| fixture.ask("GET", DESCRIPTION, key, "", "").expect("a reply").status;
    assert_eq!([status("wrong"), status(&bed.old), status("")], [401; 3]);
}

/// Statuses that were had.
struct Had<'f> {
    fixture: &'f Fixture<'f>,
    listed: BTreeSet<(&'static str, String, u16)>,
    any: BTreeSet<u16>,
}

impl Had<'_> {
    /// Asks for something that has this status.
    fn ask(&mut self, status: u16, key: &str, line: &str, headers: &str, body: &str) -> Reply {
        let (method, target) = line.split_once(' ').expect("a method and a path");
        let target = target.replacen('~', SERVER, 1);
        let reply = self.fixture.ask(method, &target, key, headers, body).expect("a reply");
        assert_eq!(reply.status, status, "{line} {body}: {reply:?}");
        let path = target.split('?').next().unwrap_or_default();
        let template = template_of(path).unwrap_or_else(|| panic!("{path} is not described"));
        self.listed.insert((template, method.to_lowercase(), status));
        self.any.insert(status);
        reply
    }

    /// Asks for all that needs no more than a line.
    fn ask_all(&mut self, key: &str, lines: &[(u16, &str)]) {
        lines.iter().for_each(|(status, line)| drop(self.ask(*status, key, line, "", "")));
    }
}

#[test]
fn each_status_can_be_had() {
    let bed = Bed::new();
    let (hash, actor) = new_key("actor");
    // A zone of a server that does not answer.
    let fixture = bed.start_with(&format!(
        "\n[[api-key]]\nname = \"actor\"\nhash = {hash}\nverbs = [\"read\", \"act\"]\nzones = \"*.test.\"\n\
         \n[[remote]]\nname = \"silent\"\naddresses = [\"{}\"]\n\n[[zone]]\nname = \"second.test.\"\nprimaries = \"silent\"\n",
        free_address()
    ));
    let mut had = Had { fixture: &fixture, listed: BTreeSet::new(), any: BTreeSet::new() };
    std::thread::scope(|scope| {
        let (at, head) = (fixture.at, head(&fixture, 2));
        let slow = scope.spawn(move || a_body_that_does_not_come(at, &head));
        of_server(&mut had, &bed);
        of_zones(&mut had, &bed, &actor);
        of_changes(&mut had, &bed);
        of_made_zones(&mut had, &bed);
        beyond(&mut had, &bed);
        of_sessions(&mut had, &bed);
        any(&mut had, &bed);
        had.any.insert(slow.join().expect("a status"));
    });
    let listed = described::listed().into_iter();
    let listed: BTreeSet<_> =
        listed.map(|(path, method, status)| (path, method.to_owned(), status)).collect();
    let missing: Vec<_> = listed.difference(&had.listed).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    let missing: Vec<u16> =
        described::any_statuses().into_iter().filter(|status| !had.any.contains(status)).collect();
    assert_eq!(missing, NOT_HAD);
}

fn of_server(had: &mut Had<'_>, bed: &Bed) {
    let (acme, observer) = (&*bed.acme, &*bed.observer);
    had.ask_all(
        acme,
        &[
            (200, "GET /api"),
            (200, "GET /api/v1/servers"),
            (200, "GET ~"),
            (200, "PUT ~/cache/flush"),
            (403, "GET ~/statistics"),
            (200, "GET ~/search-data?q=a"),
            (422, "GET ~/search-data"),
            (403, "GET ~/tsigkeys"),
            (422, "POST ~/tsigkeys"),
            (404, "GET ~/tsigkeys/k."),
        ],
    );
    had.ask_all(
        observer,
        &[
            (200, "GET ~/tsigkeys"),
            (200, "GET ~/statistics"),
            (422, "GET ~/statistics?statistic=none"),
            (403, "GET ~/search-data?q=a"),
        ],
    );
    for list in ["config", "autoprimaries", "views", "networks"] {
        had.ask(200, acme, &format!("GET ~/{list}"), "", "");
        for method in ["POST", "PUT", "DELETE"] {
            had.ask(422, acme, &format!("{method} ~/{list}"), "", "");
        }
    }
    for method in ["POST", "PUT", "DELETE"] {
        had.ask(422, acme, &format!("{method} ~/tsigkeys/k."), "", "");
    }
}

fn of_zones(had: &mut Had<'_>, bed: &Bed, actor: &str) {
    had.ask_all(
        &bed.acme,
        &[
            (200, "GET ~/zones"),
            (422, "GET ~/zones?zone="),
            (200, "GET ~/zones/a.test."),
            (404, "GET ~/zones/other."),
            (422, "GET ~/zones/a.test.?rrsets=x"),
            (200, "GET ~/zones/a.test./export"),
            (404, "GET ~/zones/other./export"),
            (200, "PUT ~/zones/a.test./notify"),
            (404, "PUT ~/zones/other./notify"),
            (422, "PUT ~/zones/a.test./notify?dry-run=true"),
            (403, "PUT ~/zones/a.test./axfr-retrieve"),
            (403, "PUT ~/zones/a.test./rectify"),
        ],
    );
    had.ask_all(
        actor,
        &[
            (200, "PUT ~/zones/second.test./axfr-retrieve"),
            (404, "PUT ~/zones/other./axfr-retrieve"),
            (422, "PUT ~/zones/a.test./axfr-retrieve"),
            (404, "PUT ~/zones/other./rectify"),
            (422, "PUT ~/zones/a.test./rectify"),
            // It has no data.
            (503, "GET ~/zones/second.test."),
        ],
    );
    had.ask_all(
        &bed.observer,
        &[
            (403, "GET ~/zones"),
            (403, "GET ~/zones/a.test."),
            (403, "GET ~/zones/a.test./export"),
            (403, "PUT ~/zones/a.test./notify"),
        ],
    );
    for list in ["cryptokeys", "metadata"] {
        had.ask(200, &bed.acme, &format!("GET ~/zones/a.test./{list}"), "", "");
        had.ask(404, &bed.acme, &format!("GET ~/zones/other./{list}"), "", "");
        had.ask(403, &bed.observer, &format!("GET ~/zones/a.test./{list}"), "", "");
        had.ask(404, &bed.acme, &format!("GET ~/zones/a.test./{list}/1"), "", "");
        had.ask(422, &bed.acme, &format!("POST ~/zones/a.test./{list}"), "", "");
        had.ask(404, &bed.acme, &format!("POST ~/zones/a..b/{list}"), "", "");
        for method in ["POST", "PUT", "DELETE"] {
            had.ask(422, &bed.acme, &format!("{method} ~/zones/a.test./{list}/1"), "", "");
            had.ask(404, &bed.acme, &format!("{method} ~/zones/a..b/{list}/1"), "", "");
        }
    }
}

/// A key of repeats, and a version that no zone is in.
const REPEAT: &str = "Idempotency-Key: a\r\n";
const OTHER_VERSION: &str = "If-Match: \"1-0000000000000001\"\r\n";

fn of_changes(had: &mut Had<'_>, bed: &Bed) {
    let set = |name: &str| body(&[replace(name, "192.0.2.1")]);
    let acme = &*bed.acme;
    let line = "PATCH ~/zones/a.test.";
    had.ask(200, acme, "PATCH ~/zones/a.test.?dry-run=true", "", &set("x.a.test."));
    had.ask(204, acme, line, "", &set("x.a.test."));
    had.ask(403, acme, line, "", &set("fixed.a.test."));
    had.ask(404, acme, "PATCH ~/zones/other.", "", &set("x.other."));
    had.ask(412, acme, line, OTHER_VERSION, &set("x.a.test."));
    had.ask(422, acme, line, "", &set("x.b.test."));
    had.ask(204, acme, line, REPEAT, &set("r.a.test."));
    had.ask(422, acme, line, REPEAT, &set("y.a.test."));
    let several = |zones: &[(&str, &[&str])]| {
        let zone = |(name, owners): &(&str, &[&str])| {
            let sets: Vec<_> = owners.iter().map(|owner| replace(owner, "192.0.2.1")).collect();
            json!({"name": name, "rrsets": sets})
        };
        json!({"zones": zones.iter().map(zone).collect::<Vec<_>>()}).to_string()
    };
    let fine: (&str, &[&str]) = ("a.test.", &["x.a.test."]);
    let line = "POST /api/zonda/v1/changes";
    had.ask(200, acme, line, "", &several(&[fine, ("b.test.", &[])]));
    had.ask(403, acme, line, "", &several(&[fine, ("b.test.", &["fixed.b.test."])]));
    had.ask(404, acme, line, "", &several(&[fine, ("other.", &["x.other."])]));
    let other = json!({"zones": [{"name": "a.test.", "if-match": "\"1-0000000000000001\"", "rrsets": []}]});
    had.ask(412, acme, line, "", &other.to_string());
    let many: Vec<String> = (0..=1024).map(|at| format!("n{at}.a.test.")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    had.ask(413, acme, line, "", &several(&[("a.test.", &many)]));
    had.ask(422, acme, line, "", &several(&[fine, ("b.test.", &["x.c.test."])]));
    // As of a PATCH, and of that one.
    had.ask(422, acme, line, REPEAT, &several(&[fine]));
    assert!(ctl(&had.fixture.server, &["freeze", "b.test."]).status.success());
    had.ask(409, acme, "PATCH ~/zones/b.test.", "", &set("x.b.test."));
    had.ask(409, acme, line, "", &several(&[fine, ("b.test.", &["x.b.test."])]));
    assert!(ctl(&had.fixture.server, &["thaw", "b.test."]).status.success());
}

fn of_made_zones(had: &mut Had<'_>, bed: &Bed) {
    let (maker, reader) = (&*bed.maker, &*bed.reader);
    let zone = json!({"name": "one.made.test.", "kind": "Native", "nameservers": []}).to_string();
    had.ask(201, maker, "POST ~/zones", REPEAT, &zone);
    had.ask(201, maker, "POST ~/zones", REPEAT, &zone);
    had.ask(409, maker, "POST ~/zones", "", &zone);
    had.ask(403, reader, "POST ~/zones", "", &zone);
    had.ask(422, maker, "POST ~/zones", "", "{}");
    let (put, fields) = ("PUT ~/zones/one.made.test.", json!({"account": "a"}).to_string());
    had.ask(204, maker, put, "", &fields);
    had.ask(403, reader, put, "", &fields);
    had.ask(404, maker, "PUT ~/zones/none.made.test.", "", &fields);
    had.ask(412, maker, put, OTHER_VERSION, &fields);
    had.ask(422, maker, "PUT ~/zones/a.test.", "", &fields);
    had.ask(422, maker, put, REPEAT, &fields);
    let delete = "DELETE ~/zones/one.made.test.";
    had.ask(403, reader, delete, "", "");
    had.ask(404, maker, "DELETE ~/zones/none.made.test.", "", "");
    had.ask(412, maker, delete, OTHER_VERSION, "");
    had.ask(422, maker, "DELETE ~/zones/a.test.", "", "");
    had.ask(422, maker, delete, REPEAT, "");
    assert!(ctl(&had.fixture.server, &["freeze", "one.made.test."]).status.success());
    had.ask(409, maker, delete, "", "");
    assert!(ctl(&had.fixture.server, &["thaw", "one.made.test."]).status.success());
    had.ask(204, maker, delete, "", "");
}

fn beyond(had: &mut Had<'_>, bed: &Bed) {
    let acme = &*bed.acme;
    let asked = |name: &str, owner: &str| {
        json!({"zones": [{"name": name, "rrsets": [rrset(owner, "A", "DELETE", 0, &[])]}]}).to_string()
    };
    let line = "POST /api/zonda/v1/explain";
    had.ask(200, acme, line, "", &asked("a.test.", "x.a.test."));
    had.ask(403, &bed.reader, line, "", &asked("a.test.", "x.a.test."));
    had.ask(404, acme, line, "", &asked("other.", "x.other."));
    had.ask(422, acme, line, "", &asked("a.test.", "x.b.test."));
    had.ask_all(
        &bed.observer,
        &[
            (200, "GET /api/zonda/v1/hour"),
            (422, "GET /api/zonda/v1/hour?x=1"),
            (200, "GET /api/zonda/v1/now?said=0"),
            (422, "GET /api/zonda/v1/now?said=x"),
            (200, "GET /api/zonda/v1/journals"),
            (422, "GET /api/zonda/v1/journals?x=1"),
            (200, "GET /api/zonda/v1/locks"),
            (422, "GET /api/zonda/v1/locks?x=1"),
            (403, "GET /api/zonda/v1/asked"),
            (403, "GET /api/zonda/v1/resolver"),
            (403, "GET /api/zonda/v1/zones/a.test."),
            (403, "GET /api/zonda/v1/why?name=a.test."),
            (403, "GET /api/zonda/v1/zones"),
            (403, "GET /api/zonda/v1/zones/a.test./rrsets"),
            (403, "GET /api/zonda/v1/zones/a.test./history"),
            (403, "GET /api/zonda/v1/zones/a.test./history/1/undo"),
        ],
    );
    had.ask_all(
        &bed.watcher,
        &[
            (200, "GET /api/zonda/v1/asked"),
            (422, "GET /api/zonda/v1/asked?x=1"),
            (404, "GET /api/zonda/v1/resolver"),
            (422, "GET /api/zonda/v1/resolver?name=a..b"),
        ],
    );
    had.ask_all(
        acme,
        &[
            (422, "POST /api/zonda/v1/changes?x=1"),
            (403, "GET /api/zonda/v1/hour"),
            (403, "GET /api/zonda/v1/now"),
            (403, "GET /api/zonda/v1/journals"),
            (403, "GET /api/zonda/v1/locks"),
            (200, "GET /api/zonda/v1/zones/a.test."),
            (200, "GET /api/zonda/v1/why?name=www.a.test.&type=AAAA"),
            (422, "GET /api/zonda/v1/why"),
            (404, "GET /api/zonda/v1/zones/other."),
            (422, "GET /api/zonda/v1/zones/a.test.?x=1"),
            (200, "GET /api/zonda/v1/openapi.json"),
            (422, "GET /api/zonda/v1/openapi.json?x=1"),
            (200, "GET /api/zonda/v1/zones?limit=1"),
            (410, "GET /api/zonda/v1/zones?after=5-0000000000000001"),
            (422, "GET /api/zonda/v1/zones?limit=0"),
            (200, "GET /api/zonda/v1/zones/a.test./rrsets?limit=1"),
            (422, "GET /api/zonda/v1/zones/a.test./rrsets?limit=0"),
            (404, "GET /api/zonda/v1/zones/other./rrsets"),
            (200, "GET /api/zonda/v1/zones/a.test./history"),
            (422, "GET /api/zonda/v1/zones/a.test./history?x=1"),
            (404, "GET /api/zonda/v1/zones/a..b/history"),
            (200, "GET /api/zonda/v1/zones/a.test./history/1/undo"),
            (404, "GET /api/zonda/v1/zones/a.test./history/77/undo"),
            (422, "GET /api/zonda/v1/zones/a.test./history/1/undo?x=1"),
            (404, "GET /api/zonda/v1/zones/a.test./history/x/undo"),
        ],
    );
}

/// Without a page there is nothing to sign in at; with one, on another server, there is. That one has a resolver besides.
fn of_sessions(had: &mut Had<'_>, bed: &Bed) {
    let path = "/api/zonda/v1/session";
    let ask = |had: &mut Had<'_>, status, key: &str, method: &str, more: &str, headers: &str| {
        had.ask(status, key, &format!("{method} {path}{more}"), headers, "")
    };
    ask(had, 200, &bed.acme, "GET", "", "");
    ask(had, 404, &bed.acme, "POST", "", "");
    ask(had, 403, &bed.acme, "POST", "", "Origin: https://evil.example\r\n");
    ["GET", "POST", "DELETE"].iter().for_each(|method| drop(ask(had, 422, "", method, "?x=1", "")));
    let other = Bed::new().paged();
    let fixture = other.start_with("\n[resolver]\nenabled = true\n");
    let mut more = Had { fixture: &fixture, listed: BTreeSet::new(), any: BTreeSet::new() };
    let reply = ask(&mut more, 201, &other.acme, "POST", "", "");
    let session = super::page::session_of(&reply);
    let foreign = format!("{session}Sec-Fetch-Site: cross-site\r\n");
    ["GET", "DELETE"].iter().for_each(|method| drop(ask(&mut more, 403, "", method, "", &foreign)));
    ask(&mut more, 204, "", "DELETE", "", &session);
    let lines = [(200, "GET /api/zonda/v1/resolver"), (200, "GET /api/zonda/v1/resolver?name=example.com")];
    more.ask_all(&other.watcher, &lines);
    had.listed.append(&mut more.listed);
}

/// What any request may get.
fn any(had: &mut Had<'_>, bed: &Bed) {
    let acme = &*bed.acme;
    had.ask(400, acme, "GET /api?%zz", "", "");
    had.ask(401, "wrong", "GET /api", "", "");
    had.ask(413, acme, "GET /api", "", "{}");
    had.ask(411, acme, "GET /api", "Transfer-Encoding: chunked\r\n", "");
    had.ask(415, acme, "GET /api", "Content-Encoding: gzip\r\n", "");
    let long = format!("x: {}\r\n", "y".repeat(20_000));
    had.ask(431, acme, "GET /api", &long, "");
    let other = format!("GET /api HTTP/1.1\r\nHost: evil.example\r\nX-API-Key: {acme}\r\n\r\n");
    let reply =
        Client::new(had.fixture.at).expect("a connection").send(other.as_bytes(), false).expect("a reply");
    had.any.insert(reply.status);
    // Large bodies that are announced, as many as one key may have, and one more.
    let head = head(had.fixture, BODY_OCTETS_MAX);
    let _announced: Vec<Client> = (0..BODIES_A_KEY)
        .map(|_| {
            let mut client = Client::new(had.fixture.at).expect("a connection");
            client.begin(head.as_bytes());
            client
        })
        .collect();
    // The process has read these by then.
    std::thread::sleep(Duration::from_secs(1));
    let reply =
        Client::new(had.fixture.at).expect("a connection").send(head.as_bytes(), false).expect("a reply");
    had.any.insert(reply.status);
}

/// The head of a change whose body is so long.
fn head(fixture: &Fixture<'_>, length: usize) -> String {
    let (at, key) = (fixture.at, &fixture.bed.acme);
    format!(
        "PATCH {SERVER}/zones/a.test. HTTP/1.1\r\nHost: {at}\r\nX-API-Key: {key}\r\nContent-Length: {length}\r\n\r\n"
    )
}

/// The status that its head gets, in the end.
fn a_body_that_does_not_come(at: SocketAddr, head: &str) -> u16 {
    let mut client = Client::new(at).expect("a connection");
    client.send(head.as_bytes(), false).expect("a reply").status
}
