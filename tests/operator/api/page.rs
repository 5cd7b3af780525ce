//! The page: what everybody is given, who signs in at it with what, and what a session may not.

mod browsed;
mod pictures;

use std::fs;
use std::net::SocketAddr;

use serde_json::{Value, json};
use zonda_tests::patience::await_that;
use zonda_tests::server::{Kind, Server, ctl, free_address};

use super::client::{Client, Reply, body};
use super::secure::{Authority, NAME, curl};
use super::{Bed, Fixture, SERVER, is_root, replace, secure};

const SESSION: &str = "/api/zonda/v1/session";

/// What every file of the page is told with.
const HEADS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'none'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];

/// And what every answer of the API is.
const HEADS_OF_JSON: [(&str, &str); 5] = [
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// The heads by which a browser shows the session that has begun.
pub fn session_of(reply: &Reply) -> String {
    assert_eq!(reply.status, 201, "{reply:?}");
    let half = reply.json()["half"].as_str().expect("half of it").to_owned();
    format!("Cookie: other=1; {}\r\nX-Zonda-Half: {half}\r\n", cookie_of(reply))
}

/// The cookie, name and value.
fn cookie_of(reply: &Reply) -> &str {
    reply.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie")
}

impl Fixture<'_> {
    fn of_session(&self, method: &str, path: &str, session: &str, body: &str) -> Reply {
        self.ask(method, path, "", session, body).expect("a reply")
    }

    fn sign_in(&self, key: &str, more: &str) -> Reply {
        self.ask("POST", SESSION, key, more, "").expect("a reply")
    }

    fn sign_in_by_code(&self, code: &str, more: &str) -> Reply {
        self.sign_in("", &format!("X-Zonda-Code: {code}\r\n{more}"))
    }

    /// What `zonda ctl page` prints: the line before, and the address without its code; the code.
    fn page(&self) -> (Option<String>, String, String) {
        let output = ctl(&self.server, &["--json", "page"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said} {output:?}");
        let told: Value = serde_json::from_str(said.lines().next().expect("a line")).expect("JSON");
        assert_eq!((&told["reply"], &told["seconds"]), (&json!("page"), &json!(120)));
        let (address, code) =
            told["address"].as_str().and_then(|text| text.split_once("#in=")).expect("a code");
        assert_eq!(code.len(), 43);
        (told["tunnel"].as_str().map(str::to_owned), address.to_owned(), code.to_owned())
    }

    fn names(&self, session: &str) -> Vec<String> {
        let told = self.of_session("GET", &format!("{SERVER}/zones"), session, "").json();
        let zones = told.as_array().unwrap_or_else(|| panic!("{told}")).iter();
        let mut names: Vec<String> =
            zones.map(|zone| zone["name"].as_str().expect("a name").to_owned()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_code_signs_in_once() {
    let bed = Bed::new().paged();
    let fixture = bed.start();
    let (tunnel, address, code) = fixture.page();
    // The operator's port is of the server's name, and the same each time.
    let port = address.strip_prefix("http://127.0.0.1:").and_then(|rest| rest.strip_suffix('/'));
    let port: u16 = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{address}"));
    let begin = format!("ssh -L {port}:{} ", fixture.at);
    assert!(tunnel.is_some_and(|line| line.starts_with(&begin) && line.len() > begin.len()));
    assert_eq!(fixture.page().1, address);
    // For people the same, the address on a line of its own.
    let (said, is_well) = fixture.told(&["page"]);
    assert!(is_well && said.lines().any(|line| line.trim().starts_with(&format!("{address}#in="))), "{said}");
    let reply = fixture.sign_in_by_code(&code, "");
    let told = reply.json();
    assert_eq!((&told["server"], &told["operator"]), (&json!("ns1 (test)"), &json!(true)));
    assert_eq!(told["verbs"], json!(["read", "explain", "observe", "server"]));
    assert!(told["idle"].as_u64().is_some_and(|idle| (3_590..=3_600).contains(&idle)), "{told}");
    assert!(told["left"].as_u64().is_some_and(|left| (43_190..=43_200).contains(&left)), "{told}");
    let expected = format!("zonda-{}=", fixture.at.port());
    let cookie = reply.header("set-cookie").expect("a cookie");
    assert!(
        cookie.starts_with(&expected) && cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"),
        "{cookie}"
    );
    let session = session_of(&reply);
    let told = fixture.of_session("GET", SESSION, &session, "").json();
    assert!(told["half"].is_null() && told["operator"] == true, "{told}");
    // All zones, whatever keys see.
    assert_eq!(fixture.names(&session), ["a.test.", "b.test.", "other.", "plain.test.", "static.test."]);
    assert_eq!(fixture.of_session("GET", &format!("{SERVER}/statistics"), &session, "").status, 200);
    // Once, and no other.
    let nobody = fixture.sign_in_by_code(&code, "");
    let wrong = fixture.sign_in_by_code(&"A".repeat(43), "");
    assert_eq!([nobody.status, wrong.status], [401; 2]);
    assert_eq!(nobody.text, wrong.text);
    let out = fixture.of_session("DELETE", SESSION, &session, "");
    let gone = format!("zonda-{}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict", fixture.at.port());
    assert_eq!((out.status, out.header("set-cookie")), (204, Some(&*gone)));
    assert_eq!(fixture.of_session("GET", SESSION, &session, "").status, 401);
    assert_eq!(fixture.of_session("DELETE", SESSION, &session, "").status, 401);
}

#[test]
fn a_key_signs_in_to_read() {
    let bed = Bed::new().paged();
    let fixture = bed.start();
    // Of wrong, late and other keys the same is said as of none, and of sessions too.
    let told: Vec<(u16, String)> = ["", "wrong", &bed.old, &bed.acme[1..]]
        .iter()
        .map(|key| fixture.sign_in(key, ""))
        .chain([
            fixture.get("/zones", "wrong"),
            fixture.of_session("GET", SESSION, "X-Zonda-Half: a\r\n", ""),
        ])
        .map(|reply| (reply.status, reply.text))
        .collect();
    assert!(told.iter().all(|one| *one == told[0]) && told[0].0 == 401, "{told:?}");
    let reply = fixture.sign_in(&bed.acme, "");
    assert_eq!((&reply.json()["key"], &reply.json()["verbs"]), (&json!("acme"), &json!(["read", "explain"])));
    let session = session_of(&reply);
    assert_eq!(fixture.names(&session), ["a.test.", "b.test.", "plain.test."]);
    let status = |method: &str, path: &str, body: &str| {
        fixture.of_session(method, &path.replacen('~', SERVER, 1), &session, body).status
    };
    assert_eq!([status("GET", "~/zones/a.test.", ""), status("GET", "~/zones/static.test.", "")], [200, 404]);
    assert_eq!([status("GET", "~/statistics", ""), status("GET", "~/tsigkeys", "")], [403; 2]);
    // Though the key may.
    let set = body(&[replace("x.a.test.", "192.0.2.7")]);
    assert_eq!(status("PATCH", "~/zones/a.test.", &set), 403);
    assert_eq!(status("PATCH", "~/zones/a.test.?dry-run=true", &set), 403);
    assert_eq!(status("POST", "/api/zonda/v1/changes", &json!({"zones": []}).to_string()), 403);
    assert_eq!(status("PUT", "~/zones/a.test./notify", ""), 403);
    assert_eq!(fixture.serial("a.test."), 1);
    assert_eq!(fixture.patch("a.test.", &bed.acme, "", &[replace("x.a.test.", "192.0.2.7")]).status, 204);
    // A key of few verbs sees what it is for.
    let session = session_of(&fixture.sign_in(&bed.observer, ""));
    let status = |path: &str| fixture.of_session("GET", &format!("{SERVER}{path}"), &session, "").status;
    assert_eq!([status("/statistics"), status("/zones")], [200, 403]);
    let session = session_of(&fixture.sign_in(&bed.maker, ""));
    let zone = json!({"name": "one.made.test.", "kind": "Native", "nameservers": []}).to_string();
    let zones = format!("{SERVER}/zones");
    assert_eq!(fixture.of_session("POST", &zones, &session, &zone).status, 403);
    assert_eq!(fixture.ask("POST", &zones, &bed.maker, "", &zone).expect("a reply").status, 201);
    let made = format!("{SERVER}/zones/one.made.test.");
    assert_eq!(fixture.of_session("PUT", &made, &session, &json!({"account": "a"}).to_string()).status, 403);
    assert_eq!(fixture.of_session("DELETE", &made, &session, "").status, 403);
    assert_eq!(fixture.of_session("GET", &made, &session, "").status, 200);
    // What it may do a key is told, too.
    let told = fixture.ask("GET", SESSION, &bed.reader, "", "").expect("a reply").json();
    assert_eq!(told, json!({"server": "ns1 (test)", "key": "reader", "verbs": ["read"]}));
}

#[test]
fn a_session_goes_with_its_key_and_with_the_next_one() {
    let bed = Bed::new().paged();
    let fixture = bed.start();
    let is_there = |session: &str| fixture.of_session("GET", SESSION, session, "").status == 200;
    let of_acme = session_of(&fixture.sign_in(&bed.acme, ""));
    let of_reader = session_of(&fixture.sign_in(&bed.reader, ""));
    let (_, _, code) = fixture.page();
    let of_code = session_of(&fixture.sign_in_by_code(&code, ""));
    // A second one over the first; not where nobody has signed in.
    assert_eq!(fixture.sign_in("wrong", &of_reader).status, 401);
    assert!(is_there(&of_reader));
    let next = session_of(&fixture.sign_in(&bed.reader, &of_reader));
    assert_eq!([is_there(&of_reader), is_there(&next)], [false, true]);
    assert!(fixture.told(&["reconfigure"]).1);
    assert!([&of_acme, &next, &of_code].iter().all(|session| is_there(session)));
    assert!(fixture.told(&["api-key", "revoke", "acme"]).1);
    assert_eq!([&of_acme, &next, &of_code].map(|session| is_there(session)), [false, true, true]);
    let settings = fixture.server.path("zonda.toml");
    let text = fs::read_to_string(&settings).expect("the settings");
    let fewer = text.replace("name = \"reader\"\n", "name = \"reader\"\nverbs = \"explain\"\n");
    assert_ne!(fewer, text);
    fs::write(&settings, fewer).expect("the settings");
    assert!(fixture.told(&["reconfigure"]).1);
    assert_eq!([&next, &of_code].map(|session| is_there(session)), [false, true]);
    // Of one key so many a minute.
    let statuses: Vec<u16> = (0..11).map(|_| fixture.sign_in(&bed.maker, "").status).collect();
    assert_eq!(statuses, [[201; 10].as_slice(), &[429]].concat());
    assert_eq!(fixture.sign_in(&bed.observer, "").status, 201);
    // Another server has none of them.
    let fixture = fixture.kill_and_start_again();
    assert_eq!(fixture.of_session("GET", SESSION, &of_code, "").status, 401);
}

/// What other ports, other sites and other names of this host have a browser send.
#[test]
fn what_others_have_a_browser_send() {
    let bed = Bed::new().paged();
    let fixture = bed.start();
    let reply = fixture.sign_in(&bed.acme, "");
    let (session, half) = (session_of(&reply), reply.json()["half"].as_str().expect("half").to_owned());
    let cookie = cookie_of(&reply);
    let status = |headers: &str| fixture.of_session("GET", SESSION, headers, "").status;
    assert_eq!(status(&session), 200);
    // The cookie, which is sent to all ports and sites of the host, without the header; and the other way round.
    assert_eq!(status(&format!("Cookie: {cookie}\r\n")), 401);
    assert_eq!(status(&format!("X-Zonda-Half: {half}\r\n")), 401);
    // Of another port, or planted beside.
    let value = cookie.split_once('=').expect("a value").1;
    assert_eq!(status(&format!("Cookie: zonda-1={value}\r\nX-Zonda-Half: {half}\r\n")), 401);
    assert_eq!(status(&format!("Cookie: {cookie}; {cookie}\r\nX-Zonda-Half: {half}\r\n")), 401);
    assert_eq!(status(&format!("Cookie: {cookie}\r\nX-Zonda-Half: {value}\r\n")), 401);
    for site in ["cross-site", "same-site", "none"] {
        let headers = format!("{session}Sec-Fetch-Site: {site}\r\n");
        assert_eq!(status(&headers), 403, "{site}");
        assert_eq!(fixture.of_session("DELETE", SESSION, &headers, "").status, 403, "{site}");
        assert_eq!(fixture.sign_in(&bed.acme, &format!("Sec-Fetch-Site: {site}\r\n")).status, 403, "{site}");
        assert_eq!(fixture.of_session("GET", &format!("{SERVER}/zones"), &headers, "").status, 403, "{site}");
    }
    assert_eq!(status(&format!("{session}Sec-Fetch-Site: same-origin\r\n")), 200);
    let own = format!("Origin: http://{}\r\n", fixture.at);
    assert_eq!(fixture.sign_in(&bed.acme, &own).status, 201);
    let other = SocketAddr::new(fixture.at.ip(), 1);
    for origin in ["https://evil.example", "null", &format!("http://{other}")] {
        assert_eq!(fixture.sign_in(&bed.acme, &format!("Origin: {origin}\r\n")).status, 403, "{origin}");
        assert_eq!(status(&format!("{session}Origin: {origin}\r\n")), 403, "{origin}");
    }
    // No page of others is asked for leave.
    assert_eq!(fixture.of_session("OPTIONS", SESSION, "", "").status, 405);
    assert!(reply.headers().all(|(name, _)| !name.starts_with("access-control-")));
    // Another name, also for the files (DNS rebinding).
    for path in ["/", SESSION] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\n{session}\r\n");
        let reply = Client::new(fixture.at).and_then(|mut client| client.send(request.as_bytes(), false));
        assert_eq!(reply.expect("a reply").status, 421, "{path}");
    }
    // Behind a proxy that speaks TLS it has a name, and the cookie that only comes so.
    let request = format!("POST {SESSION} HTTP/1.1\r\nHost: localhost.example\r\n\r\n");
    let reply = Client::new(fixture.at).and_then(|mut client| client.send(request.as_bytes(), false));
    assert_eq!(reply.expect("a reply").status, 421);
    assert_eq!(status(&session), 200);
}

#[test]
fn files_are_for_everybody_word_for_word() {
    let bed = Bed::new().paged();
    let fixture = bed.start();
    let get = |path: &str, headers: &str| fixture.of_session("GET", path, headers, "");
    let index = get("/", "");
    assert_eq!(index.status, 200);
    let hash = index.header("x-zonda-page").expect("a hash").to_owned();
    let kinds = [
        ("style.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
        ("main.js", "text/javascript; charset=utf-8"),
        ("api.js", "text/javascript; charset=utf-8"),
        ("dom.js", "text/javascript; charset=utf-8"),
        ("signin.js", "text/javascript; charset=utf-8"),
    ];
    let mut all = vec![("/".to_owned(), "text/html; charset=utf-8", "no-cache", get("/", ""))];
    for (name, kind) in kinds {
        let path = format!("/page/{hash}/{name}");
        assert!(index.text.contains(&format!("\"{path}\"")), "{name}");
        let reply = get(&path, "");
        let file = format!("{}/../crates/api/page/{name}", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(reply.text, fs::read_to_string(file).expect("a file"));
        all.push((path, kind, "max-age=31536000, immutable", reply));
    }
    for (path, kind, caching, reply) in &all {
        assert_eq!(reply.status, 200, "{path}");
        for (name, value) in HEADS {
            assert_eq!(reply.header(name).unwrap_or_default(), value, "{path}: {name}");
        }
        assert_eq!(
            (reply.header("content-type"), reply.header("cache-control")),
            (Some(*kind), Some(*caching))
        );
        assert!(reply.header("set-cookie").is_none() && reply.header("server").is_none());
        assert!(!reply.text.contains("ns1 (test)") && !reply.text.contains("a.test"), "{path}");
        let head = fixture.of_session("HEAD", path, "", "");
        assert_eq!((head.status, &*head.text, head.header("content-type")), (200, "", Some(*kind)));
        assert_eq!(fixture.of_session("POST", path, "", "").status, 405);
    }
    let tag = index.header("etag").expect("a tag").to_owned();
    assert_eq!(tag, format!("\"{hash}\""));
    let known = get("/", &format!("If-None-Match: {tag}\r\n"));
    assert_eq!((known.status, &*known.text, known.header("cache-control")), (304, "", Some("no-cache")));
    for none in ["/index.html", "/page/", "/page/0000000000000000/main.js", "/favicon.ico", "/robots.txt"] {
        assert_eq!(get(none, "").status, 404, "{none}");
    }
    // Of JSON, whatever it says.
    let session = session_of(&fixture.sign_in(&bed.acme, ""));
    let zone = format!("{SERVER}/zones/a.test.");
    for (reply, status) in [
        (get(SESSION, &session), 200),
        (get(&zone, &session), 200),
        (get(SESSION, ""), 401),
        (get("/none", ""), 404),
        (fixture.sign_in(&bed.reader, ""), 201),
        (fixture.of_session("PATCH", &zone, &session, "{}"), 403),
        (fixture.of_session("DELETE", SESSION, &session, ""), 204),
    ] {
        assert_eq!(reply.status, status);
        HEADS_OF_JSON
            .iter()
            .for_each(|(name, value)| assert_eq!(reply.header(name), Some(*value), "{status}"));
        assert_eq!(reply.header("x-zonda-page"), Some(&*hash), "{status}");
    }
}

/// What nobody asked for is not there; and the command says what to do.
#[test]
fn without_a_page_there_is_nothing() {
    let bed = Bed::new();
    let fixture = bed.start();
    let reply = fixture.of_session("GET", "/", "", "");
    assert_eq!((reply.status, reply.header("x-zonda-page")), (404, None));
    assert_eq!([fixture.sign_in(&bed.acme, "").status, fixture.sign_in("wrong", "").status], [404, 401]);
    let (said, is_well) = fixture.told(&["page"]);
    assert!(!is_well && said.contains("there is no page: ") && said.contains("page = true"), "{said}");
    assert!(!said.contains("listen") && !said.contains("#in="), "{said}");
    let (said, is_well) = fixture.told(&["page", "--end"]);
    assert!(!is_well && said.contains("there is no page"), "{said}");
    // In the settings and not yet in the server.
    let settings = fixture.server.path("zonda.toml");
    let text = fs::read_to_string(&settings).expect("the settings");
    fs::write(&settings, text.replace("[api]\n", "[api]\npage = true\n")).expect("the settings");
    assert!(fixture.told(&["reconfigure"]).1);
    fixture.server.await_log("[api] page: the change takes effect at the next start");
    let (said, is_well) = fixture.told(&["page"]);
    assert!(!is_well && said.contains("and start the server anew"), "{said}");
    assert_eq!(fixture.of_session("GET", "/", "", "").status, 404);
}

/// Over TLS the address has the certificate's name, and the cookie goes nowhere else.
#[test]
fn over_tls() {
    let authority = Authority::new();
    let bed = secure::bed(&authority).paged();
    let fixture = bed.start();
    let (tunnel, address, code) = fixture.page();
    assert_eq!((tunnel, address), (None, format!("https://{NAME}:{}/", fixture.at.port())));
    let given = format!("X-Zonda-Code: {code}");
    // Without a key, as a header without a value is none to this client.
    let more = ["--request", "POST", "--include", "--header", &given];
    let output = curl(&authority, fixture.at, "", &more, SESSION);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let port = fixture.at.port();
    let cookie =
        said.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap_or_else(|| panic!("{said}"));
    let begin = format!("__Host-zonda-{port}=");
    assert!(
        cookie.starts_with(&begin) && cookie.ends_with("; Path=/; Secure; HttpOnly; SameSite=Strict"),
        "{cookie}"
    );
    let half = said.split("\"half\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("half");
    let cookie = format!("Cookie: {}", cookie.split(';').next().expect("a value"));
    let half = format!("X-Zonda-Half: {half}");
    let more = ["--header", &cookie, "--header", &half];
    let output = curl(&authority, fixture.at, "", &more, SESSION);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("\"operator\":true") && said.ends_with("\n200"), "{said}");
}

#[test]
fn who_came_and_went_is_in_the_audit() {
    let mut bed = Bed::new();
    let file = bed.audited();
    let bed = bed.paged();
    let fixture = bed.start();
    let (_, _, code) = fixture.page();
    let sessions = [fixture.sign_in_by_code(&code, ""), fixture.sign_in(&bed.acme, "")];
    for reply in &sessions {
        assert_eq!(fixture.of_session("DELETE", SESSION, &session_of(reply), "").status, 204);
    }
    assert_eq!(fixture.sign_in("wrong", "").status, 401);
    let text = || fs::read_to_string(&file).unwrap_or_default();
    await_that("four lines", || text().lines().count() == 4);
    let text = text();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<String> =
        lines.iter().map(|line| format!("{} {} {}", line["key"], line["method"], line["status"])).collect();
    let operator = "\"(operator)\"";
    assert_eq!(
        told,
        [
            format!("{operator} \"in\" 201"),
            "\"acme\" \"in\" 201".to_owned(),
            format!("{operator} \"out\" 204"),
            "\"acme\" \"out\" 204".to_owned()
        ]
    );
    assert!(lines.iter().all(|line| line["zone"].is_null() && line["zones"].is_null()), "{text}");
    for reply in &sessions {
        let (half, cookie) =
            (reply.json()["half"].as_str().expect("half").to_owned(), cookie_of(reply).to_owned());
        let value = cookie.split_once('=').expect("a value").1.to_owned();
        assert!(!text.contains(&half) && !text.contains(&value));
    }
    assert!(!text.contains(&code) && !text.contains(&bed.acme));
    let log = fixture.server.log();
    assert!(log.contains("a code for the page") && !log.contains(&code) && !log.contains(&bed.acme), "{log}");
}

/// A server that is root has no API, and so no page: who wants one is told what to do.
#[test]
fn root_has_no_page() {
    if !is_root() {
        return;
    }
    let settings = format!("[api]\nlisten = [\"{}\"]\npage = true\n", free_address());
    let server = Server::start_with(Kind::Zonda, &[], &settings);
    let output = ctl(&server, &["page"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("runs as root") && said.contains("`user`"), "{said}");
}
