//! The page in a browser: signed in by the address that `zonda ctl page` prints, by a key, and out again; what is there of a session, and what is left of it.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::rtype;
use zonda_tests::server::signal;

use super::{Bed, Fixture, replace};
use crate::api::client::rrset;
use crate::page::browser::Browser;
use crate::page::seen::Cookie;
use crate::page::tab::Tab;

/// Windows and colours of people.
const LOOKS: [(u32, &str); 4] = [(1280, "light"), (1280, "dark"), (320, "light"), (320, "dark")];

/// A browser, a tab of it, and where the page is.
fn browser(fixture: &Fixture<'_>) -> (Arc<Browser>, Tab, String) {
    let browser = Browser::start();
    let tab = browser.tab();
    (browser, tab, format!("http://{}", fixture.at))
}

/// Waits for the view with this heading, which has the focus unless a field of the view has it.
#[track_caller]
fn await_view(tab: &Tab, heading: &str) {
    tab.await_true(&format!("document.querySelector('h1')?.textContent === {}", json!(heading)));
    let focused = tab.focused();
    assert!(focused.role == "heading" || focused.role == "textbox", "{focused:?}");
}

/// Whatever the window and its colours, the page is as each has to be.
#[track_caller]
fn assert_sound_in_all(tab: &Tab, origin: &str) {
    assert_sound_in(tab, origin, &LOOKS);
}

/// The same in some of them.
#[track_caller]
fn assert_sound_in(tab: &Tab, origin: &str, looks: &[(u32, &str)]) {
    for &(width, scheme) in looks {
        tab.resize(width, 800);
        tab.prefer(&[("prefers-color-scheme", scheme)]);
        tab.assert_sound(origin);
    }
    tab.resize(1280, 800);
}

/// What a browser keeps of a session: cookies, and what is stored.
fn kept(tab: &Tab) -> (Vec<Cookie>, Value) {
    (tab.cookies(), tab.stored())
}

#[track_caller]
fn assert_nothing_is_kept(tab: &Tab) {
    let (cookies, stored) = kept(tab);
    assert!(cookies.is_empty(), "{cookies:?}");
    assert_eq!([&stored["local"], &stored["session"]], [&json!({}); 2]);
}

/// All text that is there, of what is hidden too, and the title.
fn text_of(tab: &Tab) -> String {
    let text = tab.value("document.title + ' ' + document.body.textContent");
    text.as_str().expect("a text").to_owned()
}

#[test]
fn by_an_address_and_out() {
    let bed = Bed::new().paged();
    let fixture = bed.start();
    let (_browser, tab, origin) = browser(&fixture);
    let (_, _, code) = fixture.page();
    tab.open(&format!("{origin}/#in={code}"));
    await_view(&tab, &format!("Sign in at {} as its operator?", fixture.at));
    // Nothing was asked of the server yet, and the code is nowhere that stays.
    assert_eq!(tab.value("location.href"), format!("{origin}/"));
    assert!(tab.requests().iter().all(|request| request.kind != "Fetch"), "{:?}", tab.requests());
    assert_nothing_is_kept(&tab);
    assert_sound_in_all(&tab, &origin);
    tab.click("button.main");
    await_view(&tab, "Now");
    tab.click("nav a[href='#/session']");
    await_view(&tab, "ns1 (test)");
    assert_sound_in_all(&tab, &origin);
    assert!(text_of(&tab).contains("the operator") && text_of(&tab).contains("zones and their records"));
    let (cookies, stored) = kept(&tab);
    let names: Vec<(&str, &str)> =
        cookies.iter().map(|cookie| (cookie.name.as_str(), cookie.attributes.as_str())).collect();
    let port = fixture.at.port();
    assert_eq!(names, [(&*format!("zonda-{port}"), "Path=/; HttpOnly; SameSite=Strict")]);
    let half = stored["local"]["zonda-half"].as_str().expect("a half");
    assert!(half.len() == cookies[0].value.len() && half != cookies[0].value, "{stored}");
    assert!(!text_of(&tab).contains(&cookies[0].value) && !text_of(&tab).contains(half));
    // It is there when the page is loaded anew, and in a tab beside it.
    tab.open(&format!("{origin}/"));
    await_view(&tab, "Now");
    tab.click("#who button");
    await_view(&tab, "Sign in");
    assert!(text_of(&tab).contains("Signed out.") && !text_of(&tab).contains("ns1 (test)"));
    assert_nothing_is_kept(&tab);
    assert_sound_in_all(&tab, &origin);
    // The same address once more, as somebody does who looks through what he did.
    tab.open(&format!("{origin}/#in={code}"));
    await_view(&tab, &format!("Sign in at {} as its operator?", fixture.at));
    tab.click("button.main");
    tab.await_true("document.querySelector('.wrong').textContent.includes('not known here')");
    assert_nothing_is_kept(&tab);
}

#[test]
fn by_a_key_and_by_keys_alone() {
    let bed = Bed::new().paged();
    let fixture = bed.start();
    let (browser, tab, origin) = browser(&fixture);
    tab.open(&format!("{origin}/"));
    await_view(&tab, "Sign in");
    assert_eq!(tab.focused().name, "Key");
    tab.write("wrong");
    tab.press("Enter");
    tab.await_true("document.querySelector('.wrong').textContent.includes('not known here')");
    // What a browser says of a 401 by itself.
    tab.forget();
    tab.press("Control+a");
    tab.write(&bed.acme);
    tab.press("Tab");
    assert_eq!(tab.focused().name, "Sign in");
    tab.press("Enter");
    await_view(&tab, "ns1 (test)");
    tab.assert_sound(&origin);
    let said = text_of(&tab);
    assert!(
        said.contains("key acme") && said.contains("why the server answers") && !said.contains(&bed.acme)
    );
    // Somebody else's browser knows nothing of that.
    let stranger = browser.tab_apart();
    stranger.open(&format!("{origin}/"));
    await_view(&stranger, "Sign in");
    // One beside it is signed in, and out as soon as this is.
    let beside = browser.tab();
    beside.open(&format!("{origin}/"));
    await_view(&beside, "ns1 (test)");
    // From the heading on to the end, behind which the page has nothing, and from the beginning again.
    for name in ["Keys", "", "Zones", "Why", "Session", "Sign out"] {
        tab.press("Tab");
        assert_eq!(tab.focused().name, name);
    }
    tab.press("Enter");
    await_view(&tab, "Sign in");
    beside.await_true("document.querySelector('h1')?.textContent === 'Sign in'");
    assert!(!text_of(&beside).contains("ns1 (test)"));
}

/// A key that is gone takes its session with it: whoever looks sees nothing of it any more.
#[test]
fn until_its_key_is_gone() {
    let bed = Bed::new().paged();
    let fixture = bed.start();
    let (_browser, tab, origin) = browser(&fixture);
    tab.open(&format!("{origin}/"));
    await_view(&tab, "Sign in");
    tab.write(&bed.reader);
    tab.press("Enter");
    await_view(&tab, "ns1 (test)");
    // Everybody is signed out at once; the same key signs in again.
    let (said, is_well) = fixture.told(&["page", "--end"]);
    assert!(is_well && said.starts_with("1 session ended"), "{said}");
    tab.hide(true);
    tab.hide(false);
    await_view(&tab, "Sign in");
    assert!(text_of(&tab).contains("The session is over."), "{}", text_of(&tab));
    tab.click("#key");
    tab.write(&bed.reader);
    tab.press("Enter");
    await_view(&tab, "ns1 (test)");
    assert!(fixture.told(&["api-key", "revoke", "reader"]).1);
    // As somebody comes back to it.
    tab.hide(true);
    tab.hide(false);
    await_view(&tab, "Sign in");
    assert!(text_of(&tab).contains("The session is over.") && !text_of(&tab).contains("ns1 (test)"));
    assert_eq!(tab.stored()["local"], json!({}));
}

/// Zones, found and looked at: what is in them is text, whatever it looks like.
#[test]
fn zones_are_looked_at() {
    let bed = Bed::new().paged();
    let fixture = bed.start();
    let owner = r"\<img\032src\=x\032onerror\=alert\(1\)\>.a.test.";
    let text = r#""<script>alert(1)</script>" "\226\128\174evil""#;
    let patched = fixture.patch("a.test.", &bed.acme, "", &[rrset(owner, "TXT", "REPLACE", 60, &[text])]);
    assert_eq!(patched.status, 204, "{patched:?}");
    assert_eq!(fixture.patch("a.test.", &bed.acme, "", &[replace("n.a.test.", "192.0.2.1")]).status, 204);
    let (_browser, tab, origin) = browser(&fixture);
    tab.open(&format!("{origin}/#/zones"));
    await_view(&tab, "Sign in");
    tab.write(&bed.acme);
    tab.press("Enter");
    // Who wanted to see something does once it is known who it is; of zones those of the key.
    await_view(&tab, "Zones");
    let names = "[...document.querySelectorAll('tbody a')].map(one => one.textContent).sort()";
    assert_eq!(tab.value(names), json!(["a.test.", "b.test.", "plain.test."]));
    assert_eq!(tab.value("document.querySelector('nav [aria-current]').textContent"), "Zones");
    // Which of them: those that stand so.
    for (route, found) in [("absent", json!([])), ("served", json!(["a.test.", "b.test.", "plain.test."]))] {
        tab.click(&format!(".choice a[href='#/zones?state={route}']"));
        tab.await_true(&format!(
            "document.querySelector('.choice [aria-current]').getAttribute('href').endsWith('{route}')"
        ));
        assert_eq!(tab.value(names), found);
    }
    tab.click(".choice a");
    tab.await_true("document.querySelector('.choice [aria-current]').getAttribute('href') === '#/zones'");
    assert_sound_in_all(&tab, &origin);
    tab.click("#word");
    tab.write("LAIN");
    tab.press("Enter");
    tab.await_true(&format!("JSON.stringify({names}) === '[\"plain.test.\"]'"));
    tab.value("history.back()");
    tab.await_true(&format!("{names}.length === 3"));
    tab.click("tbody a[href='#/zones/a.test.']");
    await_view(&tab, "a.test.");
    assert_sound_in_all(&tab, &origin);
    // Two versions, the newest first; all records until those of a name are asked for.
    let versions =
        "[...document.querySelectorAll('.table:last-of-type tbody th')].map(one => one.textContent)";
    assert_eq!(tab.value(versions), json!(["3", "2"]));
    let elements = tab.value("document.querySelectorAll('*').length");
    tab.click("#owner");
    tab.press("Control+a");
    tab.write(owner);
    tab.press("Enter");
    tab.await_true("document.querySelector('caption').textContent.startsWith('Records of')");
    assert_sound_in_all(&tab, &origin);
    let cells = "[...document.querySelectorAll('.table')].at(0).querySelector('tbody tr').textContent";
    let said = tab.value(cells);
    let said = said.as_str().expect("a text");
    assert!(said.contains("<script>alert(1)</script>") && said.contains("onerror"), "{said}");
    assert!(!said.contains('\u{202e}'), "{said}");
    assert!(tab.value("document.querySelectorAll('*').length").as_u64() <= elements.as_u64());
    assert_eq!(tab.value("document.querySelectorAll('main img, main script').length"), 0);
    // What has changed since a version, as it was then.
    tab.click("a[href='#/zones/a.test.?since=2']");
    tab.await_true("document.querySelector('main').textContent.includes('Changed since serial 2')");
    let rows = "[...document.querySelectorAll('.table')].at(0).querySelector('tbody').textContent";
    assert_eq!(tab.value(rows), "n.a.test.Anot there");
    assert_sound_in_all(&tab, &origin);
    tab.forget();
    tab.value("location.hash = '#/zones/a.test.?since=1%3Cb%3E'");
    tab.await_true("document.querySelector('main').textContent.includes('Changed since serial 1<b>')");
    // More records than a page has: the next one, and the first again.
    let hosts: Vec<Value> = (100..302).map(|at| replace(&format!("h{at}.b.test."), "192.0.2.1")).collect();
    assert_eq!(fixture.patch("b.test.", &bed.acme, "", &hosts).status, 204);
    tab.forget();
    tab.value("location.hash = '#/zones/b.test.'");
    await_view(&tab, "b.test.");
    tab.click(".next");
    tab.await_true("document.querySelector('caption').textContent.startsWith('Records behind')");
    let names = "[...document.querySelectorAll('.table')].at(0).querySelector('tbody').textContent";
    let rest = tab.value(names);
    assert!(
        rest.as_str().is_some_and(|rest| rest.contains("h301.b.test.") && !rest.contains("h100.")),
        "{rest}"
    );
    assert_eq!(tab.value("document.querySelectorAll('.next').length"), 0);
    assert_sound_in_all(&tab, &origin);
    tab.click(".first");
    tab.await_true("document.querySelector('caption').textContent.startsWith('All records')");
    // What there is not, is not for this key, or is no address at all.
    for (route, words) in [("none.test.", "no such zone"), ("other.", "no such zone"), ("%zz", "key acme")] {
        tab.forget();
        tab.value(&format!("location.hash = '#/zones/{route}'"));
        tab.await_true(&format!("document.querySelector('main').textContent.includes({})", json!(words)));
    }
    // A key that goes takes all of it away.
    assert!(fixture.told(&["api-key", "revoke", "acme"]).1);
    tab.value("location.hash = '#/zones'");
    await_view(&tab, "Sign in");
    assert!(!text_of(&tab).contains("test."));
}

/// Zones that are not as they should be say why in lists, one after the other.
#[test]
fn zones_in_trouble_say_why() {
    let bed = Bed::new().paged();
    let away = zonda_tests::server::free_address();
    let fixture = bed.start_with(&format!(
        "\n[[remote]]\nname = \"away\"\naddresses = [\"{away}\"]\n\n[[zone]]\nname = \"s.test.\"\nprimaries = [\"away\"]\n"
    ));
    let (_browser, tab, origin) = browser(&fixture);
    tab.open(&format!("{origin}/#/zones?state=absent"));
    await_view(&tab, "Sign in");
    tab.write(&bed.reader);
    tab.press("Enter");
    await_view(&tab, "Zones");
    assert_eq!(
        tab.value("[...document.querySelectorAll('tbody a')].map(one => one.textContent)"),
        json!(["s.test."])
    );
    // Until its primary was asked for the first time there is nothing to say.
    await_that("why", || {
        let said = tab.value("document.querySelector('tbody .wrong').textContent");
        let is_said =
            said.as_str().is_some_and(|said| said.starts_with("absent: ") && said.contains("no data"));
        if !is_said {
            tab.value("dispatchEvent(new Event('hashchange'))");
            tab.await_true("document.querySelector('tbody .wrong') !== null");
        }
        is_said
    });
    assert_sound_in_all(&tab, &origin);
}

/// The server now: what commands say, brought up to date while somebody looks; what is wrong first, above each view; and what is left of it when the server is gone.
#[test]
fn how_the_server_is() {
    let bed = Bed::new().paged();
    let mut fixture = bed.start();
    let (_browser, tab, origin) = browser(&fixture);
    tab.open(&format!("{origin}/"));
    await_view(&tab, "Sign in");
    tab.write(&bed.observer);
    tab.press("Enter");
    // Who may see the server begins there; who sees no zones has no view of them.
    await_view(&tab, "Now");
    let nav = "[...document.querySelectorAll('nav a')].map(one => one.textContent)";
    assert_eq!(tab.value(nav), json!(["Now", "Journals", "Locks", "Session"]));
    tab.await_true("document.body.textContent.includes('Nothing is wrong')");
    let name = fixture.server.process.pid();
    assert!(text_of(&tab).contains(&format!("process {name}")), "{}", text_of(&tab));
    // What comes is seen: the second number of a row is what came since the start.
    let count = |row: &str| {
        let script = format!(
            "[...document.querySelectorAll('tbody tr')].find(row => row.cells[0].textContent === '{row}')?.cells[2].textContent ?? null"
        );
        tab.value(&script).as_str().and_then(|text| text.replace(',', "").parse::<u64>().ok())
    };
    assert_eq!(count("AAAA"), None);
    (0..5).for_each(|_| {
        ask(fixture.server.address, Transport::Udp, &Query::new("www.a.test.", rtype::AAAA));
    });
    await_that("the queries", || count("AAAA") == Some(5));
    // Where somebody is in a table he stays while it is brought up to date.
    tab.value("document.querySelectorAll('.table')[1].focus()");
    (0..2).for_each(|_| {
        ask(fixture.server.address, Transport::Udp, &Query::new("www.a.test.", rtype::AAAA));
    });
    await_that("the queries", || count("AAAA") == Some(7));
    assert_eq!(tab.value("document.activeElement === document.querySelectorAll('.table')[1]"), true);
    // The pictures say in words what they show.
    tab.await_true("document.querySelectorAll('svg[role=img]').length === 4 || document.body.textContent.includes('first ten seconds')");
    assert_sound_in_all(&tab, &origin);
    // Something is wrong: above each view, in the title, and first in this one.
    let settings = fixture.server.path("zonda.toml");
    let text = fs::read_to_string(&settings).expect("the settings");
    fs::write(&settings, format!("{text}\n[<b>nonsense]\n")).expect("the settings");
    signal(fixture.server.process.pid(), "HUP");
    tab.await_true("document.title.startsWith('(1) ') && document.querySelector('main h2').textContent === 'What is wrong'");
    assert_eq!(tab.value("document.querySelectorAll('main b').length"), 0);
    assert_sound_in_all(&tab, &origin);
    tab.value("location.hash = '#/session'");
    await_view(&tab, "ns1 (test)");
    assert_eq!(tab.value("document.querySelector('#wrong a').textContent"), "Something is wrong");
    tab.click("#wrong a");
    await_view(&tab, "Now");
    // A server that stands still, as on a disk that hangs: so it is said after some seconds, until it goes on.
    signal(fixture.server.process.pid(), "STOP");
    tab.await_true("document.querySelector('#wrong').textContent.includes('does not answer')");
    assert_eq!(tab.value("document.querySelector('main').className"), "old");
    signal(fixture.server.process.pid(), "CONT");
    tab.await_true("document.querySelector('#wrong').textContent === 'Something is wrong'");
    assert_eq!(tab.value("document.querySelector('main').className"), "");
    // A server that is gone: what it said stays, and it is said that it is old.
    signal(fixture.server.process.pid(), "KILL");
    fixture.server.process.wait(Duration::from_secs(10)).expect("an end");
    tab.await_true("document.querySelector('#wrong').textContent.includes('does not answer')");
    assert!(
        text_of(&tab).contains("What is wrong")
            && tab.value("document.querySelector('main').className") == "old"
    );
}

/// By keys alone: views, fields, rows and pages, what waits, and the list of them, where they are turned off.
#[test]
fn by_keys() {
    let bed = Bed::new().paged();
    let fixture = bed.start();
    let (_browser, tab, origin) = browser(&fixture);
    tab.open(&format!("{origin}/"));
    await_view(&tab, "Sign in");
    // In a field they are letters; nobody has views yet.
    tab.write("p?1");
    assert_eq!(tab.value("document.querySelector('#key').value"), "p?1");
    tab.press("Control+a");
    tab.write(&bed.watcher);
    tab.press("Enter");
    await_view(&tab, "Now");
    tab.await_true("document.querySelector('#now h2') !== null");
    // Paused, it stays while the server goes on; then it takes up what came.
    tab.press("p");
    assert_eq!(tab.value("document.querySelector('#pause').textContent"), "Go on");
    let queries = "[...document.querySelectorAll('tbody tr')].find(row => row.cells[0].textContent === 'AAAA')?.cells[2].textContent ?? null";
    assert_eq!(tab.value(queries), Value::Null);
    ask(fixture.server.address, Transport::Udp, &Query::new("www.a.test.", rtype::AAAA));
    // Two answers that were told meanwhile.
    let polls = || tab.requests().iter().filter(|one| one.address.contains("/zonda/v1/now")).count();
    let before = polls();
    await_that("two polls", || polls() >= before + 2);
    tab.settle();
    assert_eq!(tab.value(queries), Value::Null);
    tab.press("p");
    tab.await_true(&format!("({queries}) === '1'"));
    // Each view by its number.
    tab.press("3");
    await_view(&tab, "Zones");
    tab.press("j");
    let first = tab.focused().name;
    tab.press("j");
    assert!(tab.focused().role == "link" && tab.focused().name != first, "{:?}", tab.focused());
    tab.press("k");
    assert_eq!(tab.focused().name, first);
    tab.press("/");
    assert_eq!(tab.focused().role, "searchbox");
    tab.write("j");
    assert_eq!(tab.value("document.querySelector('#word').value"), "j");
    tab.press("Shift+Tab");
    tab.press("j");
    tab.press("Enter");
    await_view(&tab, &first);
    tab.press("Control+4");
    assert_eq!(tab.value("document.querySelector('h1').textContent"), first.as_str());
    // A view without a field leads to zones.
    tab.press("8");
    await_view(&tab, "ns1 (test)");
    tab.press("/");
    await_view(&tab, "Zones");
    // What they are, over the view; it goes back to where it was.
    tab.press("?");
    tab.await_true("document.querySelector('dialog[open]') !== null");
    assert_sound_in_all(&tab, &origin);
    tab.press("8");
    assert_eq!(tab.value("document.querySelector('h1').textContent"), "Zones");
    tab.press("Escape");
    tab.await_true("document.querySelector('dialog') === null");
    // Off, all but the list of them do nothing; on again, they act.
    let turn = |view: &str| {
        tab.press("?");
        tab.click("#keys-on");
        tab.press("Escape");
        tab.await_true("document.querySelector('dialog') === null");
        tab.press("8");
        tab.settle();
        await_view(&tab, view);
    };
    turn("Zones");
    turn("ns1 (test)");
    assert!(fixture.told(&["api-key", "revoke", "watcher"]).1);
    tab.press("?");
    tab.hide(true);
    tab.hide(false);
    // Nothing is left of it, the list of keys neither.
    await_view(&tab, "Sign in");
    assert_eq!(tab.value("document.querySelectorAll('dialog, footer button').length"), 0);
}

/// All other views, each by its link: sound in each window, with what commands say.
#[test]
fn what_is_inside() {
    let bed = Bed::new().paged();
    let fixture = bed.start_with("\n[resolver]\nenabled = true\n");
    let (_browser, tab, origin) = browser(&fixture);
    tab.open(&format!("{origin}/"));
    await_view(&tab, "Sign in");
    tab.write(&bed.watcher);
    tab.press("Enter");
    await_view(&tab, "Now");
    let nav = "[...document.querySelectorAll('nav a')].map(one => one.textContent)";
    assert_eq!(
        tab.value(nav),
        json!(["Now", "Asked", "Zones", "Why", "Resolver", "Journals", "Locks", "Session"])
    );
    let visit = |view: &str, words: &str| {
        tab.click(&format!("nav a[href='#/{}']", view.to_lowercase()));
        await_view(&tab, view);
        await_that(words, || {
            ask(fixture.server.address, Transport::Udp, &Query::new("www.a.test.", rtype::A));
            text_of(&tab).contains(words)
        });
        assert_sound_in(&tab, &origin, &LOOKS[1..3]);
    };
    visit("Asked", "www.a.test.");
    visit("Resolver", "from the cache");
    tab.click("#name-of");
    tab.write("<b>.example");
    tab.press("Enter");
    tab.await_true("document.querySelector('main').textContent.includes('Who would be asked')");
    assert_eq!(tab.value("document.querySelectorAll('main b').length"), 0);
    assert_sound_in(&tab, &origin, &LOOKS[1..3]);
    tab.click("nav a[href='#/why']");
    await_view(&tab, "Why this answer");
    tab.click("#why-name");
    tab.write("www.a.test");
    tab.click("#why-dnssec");
    tab.click("main button");
    tab.await_true("document.querySelector('main').textContent.includes('the nearest zone is a.test.')");
    assert!(text_of(&tab).contains("www.a.test. 60 IN A 192.0.2.2") && text_of(&tab).contains("NOERROR"));
    assert_eq!(tab.value("location.hash"), "#/why?name=www.a.test&type=A&dnssec=true");
    assert_sound_in(&tab, &origin, &LOOKS[1..3]);
    // What is copied into a shell stays one word there.
    tab.value("location.hash = \"#/why?name=$(reboot)'x.a.test.\"");
    tab.await_true(r"document.querySelector('main').textContent.includes('no such name')");
    assert!(text_of(&tab).contains(r"dig +notcp -q '$(reboot)'\''x.a.test.' -t A"), "{}", text_of(&tab));
    visit("Journals", "zones-changed");
    assert!(text_of(&tab).contains("Neither dnstap nor a query log"), "{}", text_of(&tab));
    visit("Locks", "zonda ctl locks --on");
    assert!(fixture.told(&["locks", "--on"]).1);
    tab.click("nav a[href='#/session']");
    await_view(&tab, "ns1 (test)");
    visit("Locks", "waited for longest");
    tab.click("nav a[href='#/zones']");
    await_view(&tab, "Zones");
    tab.click("tbody a[href='#/zones/a.test.']");
    await_view(&tab, "a.test.");
    // Of who sees how the server is, also where the text is.
    assert!(text_of(&tab).contains("How it stands") && text_of(&tab).contains("texts/a.test."));
    assert_sound_in(&tab, &origin, &LOOKS[1..3]);
}
