//! Pictures of the page for the manual, of a server with zones and a steady load: `make pages` writes them anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::rtype;

use super::{Bed, replace};
use crate::page::browser::Browser;

/// What each shows: its name, the view, width, colours, and how much of it from the top.
const PICTURES: [(&str, &str, u32, u32, &str); 5] = [
    ("page-now", "/now", 1280, 900, "light"),
    ("page-zone", "/zones/a.test.", 1280, 900, "dark"),
    ("page-why", "/why?name=www.a.test&type=A&dnssec=true", 1280, 900, "light"),
    ("page-asked", "/asked", 1280, 900, "light"),
    ("page-narrow", "/now", 390, 844, "dark"),
];

/// Octets of a picture: a page of the manual stays small.
const OCTETS_MAX: usize = 150 << 10;

/// How long there is load before: some spans of the last hour.
const LOAD: Duration = Duration::from_secs(200);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/manual/src/images")
}

/// What the manual shows is there, and small; and what is made for it, it shows.
#[test]
fn the_manual_has_them() {
    let text = fs::read_to_string(folder().join("../page.md")).expect("the manual");
    for (name, ..) in PICTURES {
        assert!(text.contains(&format!("(images/{name}.png)")), "{name}");
        let octets = fs::read(folder().join(format!("{name}.png"))).expect("a picture").len();
        assert!((1_000..=OCTETS_MAX).contains(&octets), "{name}: {octets} octets");
    }
}

/// Queries as a small server has them, a few hundred a second that come and go.
fn load(at: std::net::SocketAddr, is_over: &AtomicBool) {
    let names =
        ["www.a.test.", "a.test.", "www.b.test.", "none.b.test.", "www.plain.test.", "elsewhere.example."];
    let types = [rtype::A, rtype::AAAA, rtype::A, rtype::MX, rtype::A];
    let mut number = 0_usize;
    while !is_over.load(Ordering::Relaxed) {
        let (name, of) = (names[number * number % names.len()], types[number % types.len()]);
        let transport = if number.is_multiple_of(50) { Transport::Tcp } else { Transport::Udp };
        ask(at, transport, &Query::new(name, of));
        number += 1;
        // Slower and faster, some minutes from one to the other.
        thread::sleep(Duration::from_millis(2 + (number / 2_000 % 4) as u64));
    }
}

#[test]
#[ignore = "`make pages`: writes pictures of the manual"]
fn make() {
    let bed = Bed::new().paged();
    let fixture = bed.start();
    for number in 1..=3 {
        let changed = replace(&format!("host{number}.a.test."), "192.0.2.9");
        assert_eq!(fixture.patch("a.test.", &bed.acme, "", &[changed]).status, 204);
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| load(fixture.server.address, &is_over));
        let browser = Browser::start();
        let tab = browser.tab();
        let (_, _, code) = fixture.page();
        tab.open(&format!("http://{}/#in={code}", fixture.at));
        tab.await_true("document.querySelector('button.main') !== null");
        tab.click("button.main");
        tab.await_true("document.querySelector('#now') !== null");
        thread::sleep(LOAD);
        for (name, view, width, height, scheme) in PICTURES {
            tab.resize(width, height);
            tab.prefer(&[("prefers-color-scheme", scheme)]);
            // Loaded anew, so that nothing is older than the others.
            tab.open(&format!("http://{}/", fixture.at));
            tab.value(&format!("location.hash = '#{view}'"));
            thread::sleep(Duration::from_secs(8));
            tab.settle();
            tab.value(&format!(
                "for (const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); all.nextNode();) all.currentNode.data = all.currentNode.data.replaceAll({:?}, '/etc/zonda')",
                bed.files.path().display().to_string()
            ));
            fs::write(folder().join(format!("{name}.png")), tab.picture(false)).expect("a picture");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
