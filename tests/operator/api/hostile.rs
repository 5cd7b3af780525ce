//! Strangers, and keys that may do little: what is no request, and what is one that nobody should be able to make.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use zonda_tests::patience::await_that;

use super::client::Client;
use super::{Bed, Fixture, SERVER, await_child, is_root, proc_file};

/// Memory that these may cost the process: bodies of two megabytes, which are used again.
const GROWTH_KIBIBYTES: u64 = 16 << 10;

/// Connections that the process has for one client.
const PLACES_A_CLIENT: usize = 64;

fn memory(pid: u32) -> u64 {
    let status = proc_file(pid, "status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// A request as it is sent, and the status that it gets; 0: none, the connection ends.
struct Case(Vec<u8>, &'static [u16]);

fn case(octets: impl Into<Vec<u8>>, statuses: &'static [u16]) -> Case {
    Case(octets.into(), statuses)
}

/// Heads that are none, or no request of the API.
fn heads(at: &str, key: &str) -> Vec<Case> {
    let zone = format!("{SERVER}/zones/a.test.");
    let of = |line: &str, more: &str| format!("{line}\r\nHost: {at}\r\nX-API-Key: {key}\r\n{more}\r\n");
    let get = |path: &str| of(&format!("GET {path} HTTP/1.1"), "");
    let mut cases = vec![
        case(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(), &[400]),
        case("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[0, 400]),
        case("GET / HTTP/9.9\r\n\r\n", &[400]),
        case(format!("GET {zone} HTTP/1.1\r\nX-API-Key: {key}\r\n\r\n"), &[400]),
        case(format!("GET {zone} HTTP/1.1\r\nHost: evil.example\r\nX-API-Key: {key}\r\n\r\n"), &[421]),
        case(format!("GET {zone} HTTP/1.1\r\nHost: {at}\r\nHost: {at}\r\nX-API-Key: {key}\r\n\r\n"), &[400]),
        case(
            format!("GET http://evil.example{zone} HTTP/1.1\r\nHost: {at}\r\nX-API-Key: {key}\r\n\r\n"),
            &[421],
        ),
        case(of(&format!("GET {zone} HTTP/1.1"), &format!("x: {}\r\n", "y".repeat(20_000))), &[431]),
        case(of(&format!("GET {zone} HTTP/1.1"), &"a: b\r\n".repeat(200)), &[431]),
        case(of(&format!("GET {zone} HTTP/1.1"), "no header\r\n"), &[400]),
        case(of(&format!("GET {zone} HTTP/1.1"), &format!("X-API-Key: {key}\r\n")), &[401]),
        case(of(&format!("GET {zone} HTTP/1.1"), "Content-Length: 2\r\n") + "{}", &[413]),
        case(of(&format!("OPTIONS {zone} HTTP/1.1"), ""), &[405]),
        case(of(&format!("TRACE {zone} HTTP/1.1"), ""), &[405]),
        case(of("OPTIONS * HTTP/1.1", ""), &[404]),
        case(of("CONNECT a.test:443 HTTP/1.1", ""), &[400, 404, 421]),
        case(of(&format!("BREW {zone} HTTP/1.1"), ""), &[405]),
        case(of(&format!("POST {SERVER}/zones HTTP/1.1"), "Content-Length: 2\r\n") + "{}", &[422]),
        case(
            of(&format!("POST {SERVER}/zones HTTP/1.1"), "Content-Length: 18\r\n") + "{\"name\":\"c.test.\"}",
            &[403],
        ),
        case(of(&format!("POST {SERVER}/zones?dry-run=true HTTP/1.1"), ""), &[422]),
        case(of(&format!("DELETE {zone} HTTP/1.1"), ""), &[403]),
        case(of(&format!("PUT {zone} HTTP/1.1"), "Content-Length: 2\r\n") + "{}", &[403]),
        case(of(&format!("PUT {SERVER}/config HTTP/1.1"), ""), &[422]),
        case(of(&format!("POST {SERVER}/tsigkeys HTTP/1.1"), ""), &[422]),
        case(of("POST /api/zonda/v1/changes HTTP/1.1", "Content-Length: 2\r\n") + "{}", &[422]),
    ];
    // Paths that are none, names that are none, and names out of the scope however they are written.
    for path in [
        "/",
        "/api/",
        "/api//v1",
        "/api/v1/servers/remote",
        "/API",
        "/api/v1/../v1/servers",
        "/%61pi/v2",
        "/api/v1/servers/localhost/zones/",
    ] {
        cases.push(case(get(path), &[404]));
    }
    for id in [
        "a..test",
        "=",
        "=4",
        "=zz",
        "%zz",
        "%2",
        "a%2ftest%2f..",
        "..%2fa.test",
        "static.test",
        "STATIC.test.",
        "=73tatic.test",
        "%73tatic.test",
        "%253d73tatic.test",
        "static=2etest=2e",
        "sub.a.test",
        "test",
        "=2E",
        "a.test.x",
        "xa.test",
        "a=5c046test",
        &"a.".repeat(200),
        &"x".repeat(64),
        "%00",
        "a.test%00",
    ] {
        cases.push(case(get(&format!("{SERVER}/zones/{id}")), &[404]));
    }
    for query in ["dry-run=1", "dry-run=true&dry-run=true", "dry-run=TRUE"] {
        let line = format!("PATCH {zone}?{query} HTTP/1.1");
        cases.push(case(of(&line, "Content-Length: 2\r\n") + "{}", &[422]));
    }
    for query in ["rrset_type=A", "rrset_name=a..b", "rrsets=maybe", "rrset_name=a.test.&rrset_type=ANY"] {
        cases.push(case(get(&format!("{zone}?{query}")), &[422]));
    }
    cases.push(case(get("/api/zonda/v1/zones?limit=99999"), &[422]));
    cases.push(case(get("/api/zonda/v1/zones?nonsense=1"), &[422]));
    cases.push(case(get("/api/zonda/v1/zones?after=x"), &[422]));
    cases
}

/// Ways to say how long a body is, and in which form.
fn lengths(at: &str, key: &str) -> Vec<Case> {
    let of = |more: &str| {
        format!("PATCH {SERVER}/zones/a.test. HTTP/1.1\r\nHost: {at}\r\nX-API-Key: {key}\r\n{more}\r\n")
    };
    vec![
        case(of("Content-Length: -1\r\n"), &[400]),
        case(of("Content-Length: 2\r\nContent-Length: 3\r\n") + "{}", &[400]),
        case(of("Content-Length: 2, 3\r\n") + "{}", &[400]),
        case(of("Content-Length: 99999999999999999999999\r\n"), &[400, 413]),
        case(of("Content-Length: 2097153\r\n"), &[413]),
        case(of("Transfer-Encoding: chunked\r\n") + "2\r\n{}\r\n0\r\n\r\n", &[411]),
        case(of("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n") + "{}", &[400, 411]),
        case(of("Transfer-Encoding: gzip\r\n"), &[400, 411]),
        case(of("Content-Encoding: gzip\r\nContent-Length: 4\r\n") + "\x1f\x08\x08\x08", &[415]),
        case(of("If-Match: \"1-0000000000000001\"\r\nContent-Length: 13\r\n") + "{\"rrsets\":[]}", &[412]),
        case(
            of(&format!("If-Match: {}\r\nContent-Length: 13\r\n", "\"1-0000000000000001\",".repeat(9)))
                + "{\"rrsets\":[]}",
            &[422],
        ),
        case(of("Idempotency-Key: a b\r\nContent-Length: 13\r\n") + "{\"rrsets\":[]}", &[422]),
        // Strangers are not read beyond 64 KiB.
        case(of("").replace(key, "wrong").replace("\r\n\r\n", "\r\nContent-Length: 1000000\r\n\r\n"), &[401]),
    ]
}

/// Bodies that are none, or say what cannot be.
fn bodies() -> Vec<(String, &'static [u16])> {
    let set = |more: &str| {
        format!(
            "{{\"rrsets\":[{{\"name\":\"x.a.test.\",\"type\":\"A\",\"changetype\":\"REPLACE\",\"ttl\":60,{more}}}]}}"
        )
    };
    let record = |content: &str| set(&format!("\"records\":[{{\"content\":{content}}}]"));
    let named = |name: &str| record("\"192.0.2.1\"").replace("x.a.test.", name);
    let mut bodies: Vec<(String, &'static [u16])> = vec![
        (String::from(" "), &[400]),
        ("{".into(), &[400]),
        ("{}".into(), &[422]),
        ("[]".into(), &[422]),
        ("null".into(), &[422]),
        ("{\"rrsets\":null}".into(), &[422]),
        ("{\"rrsets\":{}}".into(), &[422]),
        ("{\"rrsets\":[1]}".into(), &[422]),
        ("{\"rrsets\":[]}x".into(), &[400]),
        ("{\"rrsets\":[],\"rrsets\":[]}".into(), &[422]),
        ("{\"rrsets\":[],\"dry-run\":true}".into(), &[422]),
        ("[".repeat(100_000), &[400]),
        ("{\"a\":".repeat(50_000), &[400]),
        (" ".repeat(1_000_000), &[400]),
        (format!("{{\"x\":\"{}\",\"rrsets\":[]}}", "y".repeat(1_900_000)), &[204]),
        (set("\"records\":[]").replace("REPLACE", "MIX"), &[422]),
        (set("\"records\":[]").replace("REPLACE", "EXTEND"), &[422]),
        (set("\"records\":[{}]"), &[422]),
        (set("\"ttl\":61,\"records\":[{\"content\":\"192.0.2.1\"}]"), &[422]),
        (record("\"192.0.2.1\"").replace("60", "NaN"), &[400]),
        (record("\"192.0.2.1\"").replace("60", "1e400"), &[400, 422]),
        (record("\"192.0.2.1\"").replace("60", "-1"), &[422]),
        (record("\"192.0.2.1\"").replace("60", "18446744073709551616"), &[400, 422]),
        (record("\"192.0.2.1\"").replace("60", "2147483648"), &[422]),
        (record("\"\\ud800\""), &[400]),
        (record("\"192.0.2.1\\u0000\""), &[422]),
        (record("\"192.0.2.1\\n@ A 192.0.2.2\""), &[422]),
        (record("\"$INCLUDE /etc/passwd\""), &[422]),
        (record("\"192.0.2.1 ; x\""), &[422]),
        (record("17"), &[422]),
        (record("\"192.0.2.1\"").replace("\"A\"", "\"AXFR\""), &[422]),
        (record("\"192.0.2.1\"").replace("\"A\"", "\"TYPE0\""), &[422]),
        (record("\"192.0.2.1\"").replace("\"A\"", "\"ALIAS\""), &[422]),
        (record("\"\\\\# 4 c0000201\"").replace("\"A\"", "\"NSEC3\""), &[422]),
        (set("\"comments\":[{\"content\":\"x\"}],\"records\":[{\"content\":\"192.0.2.1\"}]"), &[422]),
        (set("\"records\":[{\"content\":\"192.0.2.1\",\"disabled\":true}]"), &[422]),
        (set("\"records\":[{\"content\":\"192.0.2.1\",\"set-ptr\":true}]"), &[422]),
    ];
    // Out of the zone, or of the rules, by case and escapes.
    for name in [
        "",
        ".",
        "x",
        "x.a.test",
        "x.b.test.",
        "xa.test.",
        "test.",
        "x..a.test.",
        "ü.a.test.",
        "x.a.test.\\\\000.",
        &"a.".repeat(140),
    ] {
        bodies.push((named(name), &[422]));
    }
    for name in [
        "fixed.a.test.",
        "FIXED.a.test.",
        "fi\\\\120ed.a.test.",
        "\\\\102ixed.a.test.",
        "kept.a.test.",
        "KEPT.A.TEST.",
    ] {
        bodies.push((named(name), &[403]));
    }
    // One mistake in many places is told twenty times at the most.
    let many: Vec<String> = (0..500)
        .map(|number| {
            format!("{{\"name\":\"fixed.n{number}.a.test.\",\"type\":\"A\",\"changetype\":\"DELETE\"}}")
        })
        .map(|set| set.replace("fixed.n", "fixed."))
        .map(|set| set.replace("fixed.", "fixed.m"))
        .collect();
    bodies.push((format!("{{\"rrsets\":[{}]}}", many.join(",")), &[403]));
    for number in 0..120 {
        // Cut off anywhere.
        let whole = record("\"192.0.2.1\"");
        bodies.push((whole[..whole.len() * number / 120].to_owned() + " ", &[400]));
    }
    bodies
}

fn text_of(fixture: &Fixture<'_>) -> String {
    fixture.get("/zones/a.test./export", &fixture.bed.acme).text
}

#[test]
fn what_is_no_request_changes_nothing() {
    let bed = Bed::new();
    let fixture = bed.start();
    let (child, before) = (await_child(&fixture), text_of(&fixture));
    let at = fixture.at.to_string();
    for Case(octets, statuses) in heads(&at, &bed.acme).into_iter().chain(lengths(&at, &bed.acme)) {
        let status = Client::new(fixture.at).expect("a connection").send(&octets, false).map_or(0, |reply| {
            assert!(reply.status >= 400, "{reply:?}");
            reply.status
        });
        let shown = String::from_utf8_lossy(&octets[..octets.len().min(300)]);
        assert!(statuses.contains(&status), "{status}, not {statuses:?}: {shown}");
    }
    let path = format!("{SERVER}/zones/a.test.");
    let mut sizes = Vec::new();
    for _ in 0..2 {
        // Over one connection, as long as that is kept.
        let mut client = Client::new(fixture.at).expect("a connection");
        for (body, statuses) in bodies() {
            let mut reply = client.ask("PATCH", &path, &bed.acme, "", &body);
            if reply.is_none() {
                client = Client::new(fixture.at).expect("a connection");
                reply = client.ask("PATCH", &path, &bed.acme, "", &body);
            }
            let reply = reply.expect("a reply");
            let shown: String = body.chars().take(300).collect();
            assert!(statuses.contains(&reply.status), "{reply:?}, not {statuses:?}: {shown}");
            assert!(reply.text.len() < 8_000 && !reply.text.contains('\0'), "{reply:?}");
        }
        sizes.push(memory(child));
    }
    assert!(sizes[1] < sizes[0] + GROWTH_KIBIBYTES, "{sizes:?}");
    assert_eq!((text_of(&fixture), fixture.child()), (before, Some(child)), "{}", fixture.server.log());
}

/// Who sends slowly, or does not read, keeps nobody else out.
#[test]
fn slow_clients_keep_nobody_out() {
    let bed = Bed::new();
    let fixture = bed.start();
    let child = await_child(&fixture);
    let mut slow: Vec<TcpStream> = Vec::new();
    for _ in 0..200 {
        let Ok(mut stream) = TcpStream::connect(fixture.at) else { continue };
        let _ = stream.write_all(b"GET /api HTTP/1.1\r\nHost: ");
        slow.push(stream);
    }
    assert_eq!(fixture.get("/zones/a.test.", &bed.acme).status, 200);
    // Answers that nobody reads.
    for stream in &mut slow {
        let _ = stream.write_all(format!("{}\r\nX-API-Key: {}\r\n\r\n", fixture.at, bed.acme).as_bytes());
    }
    assert_eq!(fixture.get("/zones/a.test.", &bed.acme).status, 200);
    // Others of its user may not look.
    let open = std::fs::read_dir(format!("/proc/{child}/fd")).map(Iterator::count).ok();
    assert!(open.is_some_and(|open| open < 128 + 40) == is_root(), "{open:?}");
    drop(slow);
    // Heads are there as a whole, of strangers whose bodies do not come.
    let head = format!(
        "PATCH {SERVER}/zones/a.test. HTTP/1.1\r\nHost: {}\r\nX-API-Key: none\r\nContent-Length: 100\r\n\r\n",
        fixture.at
    );
    let slow: Vec<TcpStream> = (0..PLACES_A_CLIENT)
        .filter_map(|_| {
            let mut stream = TcpStream::connect(fixture.at).ok()?;
            stream.write_all(head.as_bytes()).ok().map(|()| stream)
        })
        .collect();
    // The process has read them by then, and waits 10 s for each body.
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(fixture.get("/zones/a.test.", &bed.acme).status, 200);
    drop(slow);
    await_that("an answer", || fixture.get("/zones", &bed.reader).status == 200);
    assert_eq!(fixture.child(), Some(child));
}
