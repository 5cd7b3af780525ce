//! How the server is and was, as the API tells it: the same as commands say, and what is wrong since when.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::patience::{await_or, await_some, await_that};
use zonda_tests::rtype;
use zonda_tests::server::{ctl, signal};

use super::client::Reply;
use super::{Bed, Fixture, replace};

/// Spans of the last hour, and seconds of one.
const SPANS: usize = 360;
const SPAN: u64 = 10;

impl Fixture<'_> {
    pub(super) fn beyond(&self, path: &str, key: &str) -> Reply {
        self.ask("GET", &format!("/api/zonda/v1/{path}"), key, "", "").expect("a reply")
    }

    /// How the server is.
    pub(super) fn now(&self) -> Value {
        self.beyond("now", &self.bed.observer).json()
    }

    /// What a command says as an object.
    fn object(&self, command: &[&str]) -> Value {
        let output = ctl(&self.server, &[command, &["--json"]].concat());
        let text = String::from_utf8_lossy(&output.stdout);
        let mut object: Value =
            serde_json::from_str(text.lines().next().expect("a line")).expect("an object");
        // Which of all replies it is.
        object.as_object_mut().expect("an object").remove("reply");
        object
    }
}

/// Names of counts.
fn names(counts: &Value) -> Vec<&str> {
    counts.as_array().expect("counts").iter().map(|count| count["name"].as_str().expect("a name")).collect()
}

fn sum(counts: &Value) -> u64 {
    counts.as_array().expect("counts").iter().filter_map(|count| count["count"].as_u64()).sum()
}

#[test]
fn the_same_as_commands_say() {
    let bed = Bed::new().paged();
    let fixture = bed.start();
    // The system counts memory for each command; and time goes on.
    let same = |now: &Value| {
        let (mut status, said) = (fixture.object(&["status"]), &now["status"]);
        ["memory_octets", "uptime_seconds"].iter().for_each(|field| status[*field] = said[*field].clone());
        *said == status
    };
    // What the last look at all zones found may be newer.
    let before = await_some(
        || format!("{:#} {:#}", fixture.now()["status"], fixture.object(&["status"])),
        || Some(fixture.now()).filter(same),
    );
    assert_eq!((&before["server"], &before["status"]["memory_octets"]), (&json!("ns1 (test)"), &Value::Null));
    let (top, counts) = (fixture.object(&["top", "--seconds", "0"]), &before["counts"]);
    assert!(top["asked"].is_object() && counts.get("asked").is_none());
    for list in ["queries", "transport", "limited", "zones", "memory"] {
        assert_eq!(names(&counts[list]), names(&top[list]), "{list}");
    }
    assert_eq!(counts["pid"], fixture.server.process.pid());
    for _ in 0..7 {
        ask(fixture.server.address, Transport::Udp, &Query::new("www.a.test.", rtype::AAAA));
    }
    // Within two seconds, by counts and the clock that they go by.
    let queries = |now: &Value| sum(&now["counts"]["queries"]);
    let clock = |now: &Value| now["counts"]["clock_seconds"].as_f64().expect("seconds");
    let later = await_some(
        || format!("{:#}", fixture.now()),
        || Some(fixture.now()).filter(|now| queries(now) >= queries(&before) + 7),
    );
    assert!(clock(&later) > clock(&before), "{later:#}");
    assert!(names(&later["counts"]["types"]).contains(&"AAAA"));
    let is_denied = |path: &str, key: &str| fixture.beyond(path, key).status;
    for path in ["now", "hour"] {
        assert_eq!([is_denied(path, &bed.reader), is_denied(path, "wrong")], [403, 401], "{path}");
        assert_eq!(is_denied(&format!("{path}?more=1"), &bed.observer), 422);
    }
    assert_eq!(is_denied("now?said=-1", &bed.observer), 422);
}

#[test]
fn what_is_wrong_and_what_the_log_said() {
    let bed = Bed::new();
    let fixture = bed.start();
    let before = fixture.now();
    assert_eq!(before["wrong"], json!([]), "{}", fixture.server.log());
    let said = before["said"].as_u64().expect("a number");
    let settings = fixture.server.path("zonda.toml");
    let text = fs::read_to_string(&settings).expect("the settings");
    fs::write(&settings, format!("{text}\n[nonsense]\n")).expect("the settings");
    // A command would not find the server by them.
    signal(fixture.server.process.pid(), "HUP");
    let wrong = || fixture.now()["wrong"].clone();
    await_that("what is wrong", || {
        wrong()[0]["words"].as_str().is_some_and(|words| words.contains("refused"))
    });
    let now = fixture.now();
    assert_eq!(now["wrong"][0]["words"], now["status"]["problems"][0], "{now:#}");
    // It has been so since then, however often it is looked at.
    let since = now["wrong"][0]["since"].clone();
    assert!(since.as_u64() >= before["now"].as_u64(), "{now:#}");
    await_that("another reading", || fixture.now()["now"].as_u64() > since.as_u64().map(|since| since + 3));
    assert_eq!(wrong()[0]["since"], since);
    // Lines of the log come once to who says what he has read.
    let behind = |said: u64| fixture.beyond(&format!("now?said={said}"), &bed.observer).json();
    let now = behind(said);
    let lines = now["lines"].as_array().expect("lines");
    assert!(lines.iter().any(|line| line["level"] == "error"), "{lines:#?}");
    assert_eq!(behind(now["said"].as_u64().expect("a number"))["lines"], json!([]));
    // Of a number that this server never said: all.
    assert_eq!(behind(u32::MAX.into())["lines"], fixture.now()["lines"]);
    fs::write(&settings, text).expect("the settings");
    assert!(ctl(&fixture.server, &["reconfigure"]).status.success());
    await_that("all is well", || wrong() == json!([]));
}

/// It begins with the server, whether anybody looks or not.
#[test]
fn the_last_hour() {
    let bed = Bed::new();
    let fixture = bed.start();
    let hour = || fixture.beyond("hour", &bed.observer).json();
    let series = |hour: &Value, name: &str| {
        let all = hour["series"].as_array().expect("series").iter();
        let one = all.clone().find(|series| series["name"] == name);
        one.unwrap_or_else(|| panic!("{name}: {hour:#}"))["values"].as_array().expect("values").clone()
    };
    assert_eq!(hour()["every"], SPAN);
    for _ in 0..9 {
        ask(fixture.server.address, Transport::Udp, &Query::new("www.a.test.", rtype::A));
    }
    // Readings before it was asked for are told of, and none is invented.
    let told = await_some(
        || format!("{:#}", hour()),
        || {
            Some(hour())
                .filter(|hour| series(hour, "udp-queries").iter().filter_map(Value::as_u64).sum::<u64>() >= 9)
        },
    );
    let values = series(&told, "udp-queries");
    assert!(!values.is_empty() && values.len() <= SPANS, "{told:#}");
    assert!(
        series(&told, "resident-octets").iter().any(|octets| octets.as_u64() > Some(1 << 20)),
        "{told:#}"
    );
}

/// What else it tells of itself is what commands print, to the field.
#[test]
fn the_same_objects_as_commands_print() {
    let bed = Bed::new();
    let fixture = bed.start();
    let of = |path: &str| fixture.beyond(path, &bed.watcher).json();
    let zone = of("zones/a.test.");
    assert_eq!(zone, fixture.object(&["zones", "a.test."]));
    assert!(zone["state"] == "served" && zone["source"].as_str().is_some_and(|source| source.contains('/')));
    // Where its text is, and who got it, is not for who may read it alone.
    let read = fixture.beyond("zones/A.test", &bed.acme).json();
    assert_eq!(
        (&read["state"], &read["serial"], &read["source"]),
        (&zone["state"], &zone["serial"], &json!(""))
    );
    let journals = of("journals");
    assert!(names(&journals["counts"]).contains(&"zones-changed"), "{journals:#}");
    assert_eq!([&journals["stores"], &journals["catalogs"]], [&json!([]); 2]);
    assert_eq!((&of("locks")["on"], &of("locks")["all"]["locks"]), (&json!(false), &json!([])));
    assert!(ctl(&fixture.server, &["locks", "--on"]).status.success());
    await_that("locks", || of("locks")["all"]["locks"].as_array().is_some_and(|locks| !locks.is_empty()));
    assert!(ctl(&fixture.server, &["locks", "--off"]).status.success());
    // Who asks is counted from when somebody looks.
    let asked = |list: &str| {
        let told = of("asked");
        let most = told[list]["most"].as_array().expect("a list").clone();
        most.iter().filter_map(|one| one["key"].as_str()).map(str::to_owned).collect::<Vec<_>>()
    };
    await_that("samples", || {
        ask(fixture.server.address, Transport::Udp, &Query::new("www.a.test.", rtype::A));
        asked("names").contains(&"www.a.test.".to_owned()) && asked("zones").contains(&"a.test.".to_owned())
    });
}

/// A server that refuses all that it is asked, until its socket is dropped. With none there, what fails may be for want of a network, which is not kept.
fn refuser() -> (SocketAddr, Arc<UdpSocket>) {
    let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").expect("a port"));
    let (address, asked) = (socket.local_addr().expect("an address"), Arc::downgrade(&socket));
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a time");
    std::thread::spawn(move || {
        let mut octets = [0; 4096];
        while let Some(socket) = asked.upgrade() {
            let Ok((length, client)) = socket.recv_from(&mut octets) else { continue };
            // It is a response (RFC 1035 4.1.1), REFUSED.
            octets[2] |= 0x80;
            octets[3] = 5;
            let _ = socket.send_to(&octets[..length], client);
        }
    });
    (address, socket)
}

/// A resolver without a network: what it holds, and who would be asked.
#[test]
fn the_resolver() {
    let bed = Bed::new();
    let (forwarder, _socket) = refuser();
    let fixture = bed.start_with(&format!(
        "\n[resolver]\nenabled = true\n\n[[forward]]\nname = \"f.test\"\naddresses = [\"{forwarder}\"]\n"
    ));
    let of = |path: &str| fixture.beyond(path, &bed.watcher).json();
    // It asks for the root's keys on its own, which puts something into its cache between one look and the next.
    await_that("the same from both", || {
        let told = of("resolver");
        let (mut status, stats) =
            (fixture.object(&["status"])["resolver"].clone(), fixture.object(&["cache", "stats"]));
        status["is_network_out"] = told["status"]["is_network_out"].clone();
        (&told["status"], &told["cache"]["octets"]) == (&status, &stats["octets"])
    });
    let known = of("resolver?name=www.F.test");
    assert_eq!((&known["name"], &known["entries"]), (&json!("www.f.test."), &json!([])));
    let server = &known["servers"][0];
    assert_eq!(
        (&server["zone"], &server["address"]),
        (&json!("f.test."), &json!(forwarder.to_string())),
        "{known:#}"
    );
    // Why a name of others is answered so: what is known of it, and then whom it would be asked of.
    let (said, is_well) = fixture.told(&["why", "www.F.test"]);
    let words = "resolver   the cache has no A of www.f.test.: the forwarders of f.test. would be asked (1 address known)";
    assert!(is_well && said.contains(words), "{said}");
    assert!(fixture.told(&["why", "localhost"]).0.contains("localhost. is a special name"));
    // That nothing came of it is kept for a moment.
    let port = fixture.server.address.port().to_string();
    let last = std::cell::RefCell::new(String::new());
    await_or(
        || format!("waited for a failure that is kept: {}", last.borrow()),
        || {
            let mut dig = std::process::Command::new("dig");
            let output = dig.args(["@127.0.0.1", "-p", &port, "+rec", "www.f.test"]).output().expect("dig");
            let answer = String::from_utf8_lossy(&output.stdout).into_owned();
            let (said, _) = fixture.told(&["why", "www.f.test"]);
            let is_kept = answer.contains("SERVFAIL") && said.contains("asked for in vain");
            *last.borrow_mut() = answer + &said;
            is_kept
        },
    );
}

/// The way to an answer, which is the one that clients get.
#[test]
fn why_it_is_answered_so() {
    let bed = Bed::new();
    let fixture = bed.start();
    let why =
        |name: &str, of: &str, key: &str| fixture.beyond(&format!("why?name={name}&type={of}"), key).json();
    for (name, of, code) in [
        ("www.a.test.", rtype::A, "A"),
        ("www.a.test.", rtype::MX, "MX"),
        ("none.b.test.", rtype::A, "A"),
        ("a.test.", rtype::NS, "NS"),
    ] {
        let (told, sent) = (
            why(name, code, &bed.reader),
            ask(fixture.server.address, Transport::Udp, &Query::new(name, of)),
        );
        let response = &told["response"];
        let count = |section: &str| response[section].as_array().expect("lines").len();
        assert_eq!(
            [count("answer"), count("authority")],
            [sent.answer.len(), sent.authority.len()],
            "{told:#}"
        );
        assert_eq!(response["status"], if sent.rcode() == 0 { "NOERROR" } else { "NXDOMAIN" }, "{told:#}");
        assert!(
            told["steps"].as_array().expect("steps").iter().all(|step| step["about"] != "fault"),
            "{told:#}"
        );
    }
    let www = why("www.a.test.", "a", &bed.acme);
    assert_eq!(www, fixture.object(&["why", "www.a.test"]));
    let (said, is_well) = fixture.told(&["why", "none.b.test", "aaaa", "--dnssec"]);
    let lines = [
        "walk       there is no *.b.test.",
        "end        no such name: NXDOMAIN",
        "response   NXDOMAIN, AA RD, ",
    ];
    assert!(is_well && lines.iter().all(|line| said.contains(line)), "{said}");
    let (said, _) = fixture.told(&["why", "www.a.test", "--from", "2001:db8::7"]);
    let lines = [
        "A over UDP, room for 1232 octets from 2001:db8::7",
        "access     zone a.test., by `query` in [access]: 2001:db8::7 is let in",
    ];
    assert!(lines.iter().all(|line| said.contains(line)), "{said}");
    assert!(!fixture.told(&["why", "www.a.test", "AXFR"]).1 && !fixture.told(&["why", "a..b"]).1);
    assert_eq!(www["response"]["answer"], json!(["www.a.test. 60 IN A 192.0.2.2"]), "{www:#}");
    // A zone that is for others is as one that is not there.
    assert_eq!(
        why("www.other.", "A", &bed.acme)["steps"].as_array().expect("steps")[2..],
        why("www.none.", "A", &bed.acme)["steps"].as_array().expect("steps")[2..]
    );
    // What was changed a moment ago is what is told.
    let changed = [replace("new.a.test.", "192.0.2.77")];
    assert_eq!(fixture.patch("a.test.", &bed.acme, "", &changed).status, 204);
    assert_eq!(
        why("new.a.test.", "A", &bed.acme)["response"]["answer"],
        json!(["new.a.test. 60 IN A 192.0.2.77"])
    );
}
