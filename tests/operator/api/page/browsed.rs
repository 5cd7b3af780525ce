//! The page in a browser: signed in by the address that `zonda ctl page` prints, by a key, and out again; what is there of a session, and what is left of it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Bed, Fixture};
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
    for (width, scheme) in LOOKS {
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
fn text(tab: &Tab) -> String {
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
    await_view(&tab, "ns1 (test)");
    assert_sound_in_all(&tab, &origin);
    assert!(text(&tab).contains("the operator") && text(&tab).contains("zones and their records"));
    let (cookies, stored) = kept(&tab);
    let names: Vec<(&str, &str)> =
        cookies.iter().map(|cookie| (cookie.name.as_str(), cookie.attributes.as_str())).collect();
    let port = fixture.at.port();
    assert_eq!(names, [(&*format!("zonda-{port}"), "Path=/; HttpOnly; SameSite=Strict")]);
    let half = stored["local"]["zonda-half"].as_str().expect("a half");
    assert!(half.len() == cookies[0].value.len() && half != cookies[0].value, "{stored}");
    assert!(!text(&tab).contains(&cookies[0].value) && !text(&tab).contains(half));
    // It is there when the page is loaded anew, and in a tab beside it.
    tab.open(&format!("{origin}/"));
    await_view(&tab, "ns1 (test)");
    tab.click("#who button");
    await_view(&tab, "Sign in");
    assert!(text(&tab).contains("Signed out.") && !text(&tab).contains("ns1 (test)"));
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
    let said = text(&tab);
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
    tab.press("Tab");
    assert_eq!(tab.focused().name, "Sign out");
    tab.press("Enter");
    await_view(&tab, "Sign in");
    beside.await_true("document.querySelector('h1')?.textContent === 'Sign in'");
    assert!(!text(&beside).contains("ns1 (test)"));
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
    assert!(fixture.told(&["api-key", "revoke", "reader"]).1);
    // As somebody comes back to it.
    tab.hide(true);
    tab.hide(false);
    await_view(&tab, "Sign in");
    assert!(text(&tab).contains("The session is over.") && !text(&tab).contains("ns1 (test)"));
    assert_eq!(tab.stored()["local"], json!({}));
}
