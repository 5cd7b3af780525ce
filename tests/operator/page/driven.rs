//! The driver of the browser, against small pages of the tests' own: what it makes a page do, what it sees, and how it ends.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use zonda_tests::patience::{PATIENCE, await_that};
use zonda_tests::server::{Guarded, free_address, peers::require};

use super::browser::Browser;
use super::seen::{Cookie, Node};
use super::site::{Page, serve};
use super::tab::Tab;

/// A page as it should be, and those with one fault each.
const PAGES: &[Page] = &[
    (
        "/",
        "Content-Security-Policy: default-src 'none'; script-src 'self'; require-trusted-types-for 'script'\r\n",
        r#"<!doctype html><html lang="en"><meta name="color-scheme" content="light dark"><title>Small</title>
        <main><h1>Zones</h1><label>Name <input id="name"></label> <button id="copy">Copy</button> <a href="/wide">wide</a></main>
        <script src="/script.js"></script>"#,
    ),
    (
        "/script.js",
        "",
        r#"const name = document.getElementById("name");
        document.addEventListener("keydown", event => {
            if (event.key === "/" && event.target !== name) { event.preventDefault(); name.focus(); }
            if (event.key === "Escape") name.blur();
            if (event.key === "Enter" && event.target === name) document.title = name.value;
        });
        document.getElementById("copy").onclick = () => navigator.clipboard.writeText(name.value);"#,
    ),
    ("/wide", "", r#"<!doctype html><p id="wide" style="width: 500px; height: 2000px; background: #888">"#),
    (
        "/policy",
        "Content-Security-Policy: script-src 'self'\r\n",
        r#"<!doctype html><script>document.title = "x"</script>"#,
    ),
    (
        "/throws",
        "",
        r#"<!doctype html><script>console.error("bad", 7); console.log("fine"); alert("hello"); throw new TypeError("thrown")</script>"#,
    ),
    (
        "/elsewhere",
        "",
        r#"<!doctype html><img src="http://192.0.2.1/" alt="a"><script>new Worker("/worker.js"); new WebSocket("ws://other.example/")</script>"#,
    ),
    ("/worker.js", "", r#"fetch("http://other.example/").catch(() => fetch("/none"))"#),
    ("/moved", "Location: http://other.example/moved\r\n", ""),
    (
        "/nameless",
        "",
        r#"<!doctype html><button>Go</button><button></button><div tabindex="0"></div><svg role="img"></svg>"#,
    ),
    (
        "/cookie",
        "Set-Cookie: __Host-zonda=half; Path=/; Secure; HttpOnly; SameSite=Strict\r\nSet-Cookie: other=1; Max-Age=60\r\n",
        r#"<!doctype html><script>localStorage.setItem("half", "other")</script>"#,
    ),
];

/// A browser with one tab, where a page of these is open; their origin.
fn opened(path: &str) -> (Arc<Browser>, Tab, String) {
    let origin = serve(PAGES);
    let browser = Browser::start();
    let tab = browser.tab();
    tab.open(&format!("{origin}{path}"));
    (browser, tab, origin)
}

#[test]
fn read_and_used() {
    let (_browser, tab, origin) = opened("/");
    tab.assert_sound(&origin);
    assert_eq!(tab.value("document.title"), "Small");
    assert_eq!(tab.value("Promise.resolve({a: [1]})"), json!({"a": [1]}));
    assert!(tab.try_value("nothing.at").expect_err("no such name").contains("ReferenceError"));
    let focus = || (tab.focused().role, tab.focused().name);
    let at = |role: &str, name: &str| (role.to_owned(), name.to_owned());
    assert_eq!(focus(), at("RootWebArea", "Small"));
    let order = ["", "", ""].map(|_| {
        tab.press("Tab");
        tab.focused().role
    });
    assert_eq!(order, ["textbox", "button", "link"]);
    tab.press("Shift+Tab");
    assert_eq!(focus(), at("button", "Copy"));
    tab.press("/");
    assert_eq!(focus(), at("textbox", "Name"));
    tab.write("a/b.(\u{e9})+C");
    tab.press("Home");
    tab.press("Control+ArrowRight");
    tab.press("Enter");
    assert_eq!(tab.value("[document.title, name.value]"), json!(["a/b.(\u{e9})+C", "a/b.(\u{e9})+C"]));
    tab.press("Escape");
    assert_eq!(tab.focused().role, "RootWebArea");
    tab.click("#copy");
    assert_eq!(tab.copied(), "a/b.(\u{e9})+C");
    tab.click("a");
    tab.await_true("location.pathname === '/wide' && document.readyState === 'complete'");
    assert_eq!(tab.requests().iter().map(|request| request.status).collect::<Vec<_>>(), [Some(200); 3]);
}

#[test]
fn looks() {
    let (_browser, tab, origin) = opened("/");
    let is = |query: &str| tab.value(&format!("matchMedia('({query})').matches"));
    let body = || tab.value("getComputedStyle(document.body).color");
    let mut colours = Vec::new();
    for scheme in ["light", "dark"] {
        tab.prefer(&[("prefers-color-scheme", scheme)]);
        assert_eq!(is(&format!("prefers-color-scheme: {scheme}")), true);
        colours.push(body());
    }
    assert_ne!(colours[0], colours[1]);
    tab.prefer(&[("forced-colors", "active"), ("prefers-reduced-motion", "reduce")]);
    assert_eq!([is("forced-colors: active"), is("prefers-reduced-motion: reduce")], [true, true]);
    tab.hide(true);
    tab.await_true("document.hidden");
    tab.hide(false);
    tab.await_true("!document.hidden");

    tab.open(&format!("{origin}/wide"));
    let size = |is_whole: bool| {
        let octets = tab.picture(is_whole);
        assert!(octets.starts_with(b"\x89PNG\r\n\x1a\n"));
        let number = |at: usize| u32::from_be_bytes(octets[at..at + 4].try_into().expect("four octets"));
        (number(16), number(20))
    };
    assert_eq!((size(false), size(true)), ((1280, 800), (1280, 2032)));
    assert_eq!(tab.wider(), [""; 0]);
    tab.resize(390, 640);
    assert_eq!((size(false), tab.value("innerWidth")), ((390, 640), 390.into()));
    assert!(tab.wider()[1].contains("id=\"wide\""));
}

#[test]
fn what_is_wrong_is_seen() {
    let (_browser, tab, origin) = opened("/policy");
    tab.settle();
    let violations = tab.violations();
    assert!(violations.len() == 1 && violations[0].text.contains("script-src 'self'"), "{violations:?}");
    assert_eq!(tab.errors(), violations);

    tab.forget();
    tab.open(&format!("{origin}/throws"));
    tab.settle();
    let said =
        tab.errors().into_iter().map(|error| (error.source, error.text.lines().next().map(str::to_owned)));
    let is = |source: &str, text: &str| (source.to_owned(), Some(text.to_owned()));
    let expected = [is("console", "bad 7"), is("dialog", "hello"), is("exception", "TypeError: thrown")];
    assert_eq!(said.collect::<Vec<_>>(), expected);

    tab.forget();
    tab.open(&format!("{origin}/elsewhere"));
    // The worker asks once it runs, and again when that has failed.
    let asked = || tab.requests().into_iter().any(|request| request.status == Some(404));
    await_that("the second request of the worker", asked);
    let mut foreign = tab.foreign(&origin);
    foreign.sort_by_key(|request| request.kind.clone());
    let foreign =
        foreign.iter().map(|request| (&*request.kind, &*request.address, request.failure.as_deref()));
    let failure = Some("net::ERR_NAME_NOT_RESOLVED");
    let expected = [
        ("Fetch", "http://other.example/", failure),
        ("Image", "http://192.0.2.1/", failure),
        ("WebSocket", "ws://other.example/", None),
    ];
    assert_eq!(foreign.collect::<Vec<_>>(), expected);

    tab.forget();
    assert_eq!(tab.try_open(&format!("{origin}/moved")), Err("net::ERR_NAME_NOT_RESOLVED".into()));
    let moved = tab.requests();
    assert_eq!(moved.iter().map(|request| request.status).collect::<Vec<_>>(), [Some(302), None]);
    assert_eq!(tab.foreign(&origin), moved[1..]);

    tab.open(&format!("{origin}/nameless"));
    let nameless =
        |role: &str| Node { role: role.to_owned(), is_focusable: role != "image", ..Node::default() };
    assert_eq!(tab.nameless(), ["button", "generic", "image"].map(nameless));
}

#[test]
fn cookies_and_what_is_stored() {
    let (browser, tab, origin) = opened("/cookie");
    let names = |tab: &Tab| tab.cookies().into_iter().map(|cookie| cookie.name).collect::<Vec<_>>();
    let cookie = |name: &str, value: &str, attributes: &str| Cookie {
        name: name.to_owned(),
        value: value.to_owned(),
        attributes: attributes.to_owned(),
    };
    let mut cookies = tab.cookies();
    cookies.sort_by(|one, other| one.name.cmp(&other.name));
    let expected = [
        cookie("__Host-zonda", "half", "Path=/; Secure; HttpOnly; SameSite=Strict"),
        cookie("other", "1", "Path=/; Expires"),
    ];
    assert_eq!(cookies, expected);
    assert_eq!(tab.value("document.cookie"), "other=1");
    let stored =
        json!({"local": {"half": "other"}, "session": {}, "caches": [], "databases": [], "workers": []});
    assert_eq!(tab.stored(), stored);
    // Another tab of the same person has both, and somebody else neither.
    let (second, stranger) = (browser.tab(), browser.tab_apart());
    for other in [&second, &stranger] {
        other.open(&format!("{origin}/"));
    }
    assert_eq!((names(&second).len(), second.stored()), (2, stored));
    assert_eq!((names(&stranger).len(), stranger.stored()["local"].take()), (0, json!({})));
}

/// Over TLS, with a certificate that nobody knows.
#[test]
fn certificates() {
    let files = crate::kit::folder(&[]);
    let openssl = require("openssl", "openssl");
    let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -subj /CN=127.0.0.1";
    let made = Command::new(&openssl).args(words.split(' ')).current_dir(files.path()).output();
    assert!(made.expect("openssl").status.success());
    let at = free_address();
    let mut server = Command::new(openssl);
    server.args(["s_server", "-quiet", "-www", "-key", "key.pem", "-cert", "cert.pem", "-accept"]);
    server.arg(at.to_string()).current_dir(files.path());
    let _server = Guarded::spawn(server, files.path());
    await_that("the server", || std::net::TcpStream::connect(at).is_ok());
    let tab = Browser::start().tab();
    let address = format!("https://{at}/");
    assert_eq!(tab.try_open(&address), Err("net::ERR_CERT_AUTHORITY_INVALID".into()));
    tab.trust_all();
    tab.open(&address);
    assert_eq!(tab.value("isSecureContext"), true);
}

/// The processes of a group that have not ended.
fn running(group: u32) -> usize {
    let stats = fs::read_dir("/proc").expect("processes").flatten();
    let stats = stats.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    // Behind the name, which is in parentheses and may be anything: state, parent, group.
    let is_one = |stat: &String| {
        let words: Vec<&str> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().take(3).collect();
        words.first() != Some(&"Z") && words.get(2) == Some(&&*group.to_string())
    };
    stats.filter(is_one).count()
}

#[test]
fn ended() {
    let (browser, tab, _) = opened("/");
    let group = browser.group();
    drop(browser);
    assert!(running(group) > 2);
    drop(tab);
    // They are told to end by then, which takes those that were at something a moment.
    await_that("the end of all its processes", || running(group) == 0);
}

#[test]
fn killed_in_the_midst() {
    let (browser, tab, _) = opened("/");
    let begun = Instant::now();
    let killed = std::thread::scope(|scope| {
        let waits = scope.spawn(|| tab.try_value("new Promise(() => {})"));
        std::thread::sleep(Duration::from_millis(50));
        browser.kill();
        waits.join().expect("no panic")
    });
    let words = killed.expect_err("no browser");
    assert!(
        words.starts_with("waited for Runtime.evaluate: the browser has ended; the browser said:\n"),
        "{words}"
    );
    assert!(begun.elapsed() < PATIENCE / 2);
    await_that("the end of all its processes", || running(browser.group()) == 0);
}
