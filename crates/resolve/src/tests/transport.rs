//! What comes cut off, changed, guessed or without EDNS and cookies: what is asked over a stream then.

use std::cell::Cell;
use std::rc::Rc;

use super::example::{WWW, check_fails, check_www, scene};
use super::scripted::{Response, address, lines, name};
use wire::iana::{ede, rcode, rtype};

#[test]
fn truncated_over_udp() {
    let mut scene =
        scene(|question, response| Some(Response { is_truncated: !question.is_stream, ..response }));
    check_www(&mut scene);
    assert_eq!((scene.seen(3), scene.net.connected), (2, 1));
    // The stream is used again.
    assert_eq!(scene.resolve("txt.example.test.", rtype::TXT).rcode, 0);
    assert_eq!((scene.seen(3), scene.net.connected), (4, 1));
    scene.check_nothing_held();
}

#[test]
fn truncated_and_no_tcp() {
    let mut scene = scene(|_, response| Some(Response { is_truncated: true, ..response }));
    scene.server(3).has_tcp = false;
    check_fails(&mut scene, "www.example.test.", ede::NO_REACHABLE_AUTHORITY);
    scene.check_nothing_held();
}

#[test]
fn no_edns() {
    for code in [rcode::FORMERR, rcode::NOTIMP] {
        let mut scene = scene(move |question, response| {
            let refused = Response { edns: None, ..Response::rcode(code) };
            Some(if question.has_edns { refused } else { response })
        });
        check_www(&mut scene);
        assert_eq!(scene.seen(3), 2);
        // It is remembered.
        scene.resolve("txt.example.test.", rtype::TXT);
        assert_eq!(scene.seen(3), 3);
        assert_eq!(scene.resolver.counters().timeouts, 0);
    }
}

/// Silence is no reason to leave EDNS out (DNS flag day 2019).
#[test]
fn silence_to_edns_is_silence() {
    let mut scene = scene(|question, response| (!question.has_edns).then_some(response));
    check_fails(&mut scene, "www.example.test.", ede::NO_REACHABLE_AUTHORITY);
    assert!(scene.server(3).seen.iter().all(|question| question.has_edns));
}

#[test]
fn case_is_lost() {
    let mut scene =
        scene(|question, response| Some(Response { name: Some(question.name.to_lowercase()), ..response }));
    check_www(&mut scene);
    assert_eq!((scene.seen(3), scene.net.connected), (2, 1));
    scene.resolve("txt.example.test.", rtype::TXT);
    assert_eq!((scene.seen(3), scene.net.connected), (3, 1), "asked without from then on");
}

#[test]
fn case_is_lost_and_no_tcp() {
    let mut scene =
        scene(|question, response| Some(Response { name: Some(question.name.to_lowercase()), ..response }));
    scene.server(3).has_tcp = false;
    check_www(&mut scene);
}

/// A forger who knows the path but not the ID gets three tries, not 65,536.
#[test]
fn guesses_lead_to_tcp() {
    let mut scene = scene(|question, response| Some(Response { wrong_id: !question.is_stream, ..response }));
    // Each wrong one is an answer to a datagram of its own here: the time-outs make the next.
    check_www(&mut scene);
    assert_eq!((scene.seen(3), scene.resolver.counters().guessed), (4, 1));
}

#[test]
fn three_guesses_on_one_path() {
    let count = Rc::new(Cell::new(0));
    let counted = count.clone();
    let mut scene = scene(move |question, response| {
        counted.set(counted.get() + 1);
        question.is_stream.then_some(response)
    });
    let waiter = scene.ask("www.example.test.", rtype::A).unwrap();
    while count.get() == 0 {
        assert!(scene.step(u64::MAX));
    }
    let path = scene.last_path();
    for id in 0..3 {
        scene.forge(path, address(3), super::scripted::forged(&name("www.example.test."), id));
    }
    assert_eq!(lines(&scene.outcome(waiter)), [WWW]);
    assert_eq!((scene.resolver.counters().guessed, scene.net.connected), (1, 1));
}

#[test]
fn from_elsewhere_is_nothing() {
    let mut scene = scene(|_, response| Some(response));
    let waiter = scene.ask("www.example.test.", rtype::A).unwrap();
    let path = scene.last_path();
    for id in 0..100 {
        scene.forge(path, address(9), super::scripted::forged(&name("www.example.test."), id));
    }
    assert_eq!(lines(&scene.outcome(waiter)), [WWW]);
    assert_eq!((scene.resolver.counters().strays, scene.resolver.counters().mismatches), (100, 0));
}

#[test]
fn cookies() {
    let mut scene = scene(|question, response| {
        let sent = question.cookie.clone().unwrap();
        let cookie = [&sent[..8], b"servercookie"].concat();
        let code = if sent.len() == 8 { 23 } else { response.rcode };
        Some(Response { rcode: code, cookie: Some(cookie), ..response })
    });
    check_www(&mut scene);
    assert_eq!((scene.seen(3), scene.net.connected), (2, 0));
    scene.resolve("txt.example.test.", rtype::TXT);
    assert_eq!(scene.seen(3), 3, "known from then on");
    assert_eq!(scene.net.with_cookie, 2, "those that have the server's part");
}

#[test]
fn a_cookie_that_does_not_come_back() {
    let first = Cell::new(true);
    let mut scene = scene(move |question, response| {
        let sent = question.cookie.clone().unwrap();
        let cookie = [&sent[..8], b"servercookie"].concat();
        let has_cookie = first.replace(false) || question.is_stream;
        Some(Response { cookie: has_cookie.then_some(cookie), ..response })
    });
    check_www(&mut scene);
    scene.resolve("txt.example.test.", rtype::TXT);
    assert_eq!((scene.seen(3), scene.net.connected), (3, 1));
}

#[test]
fn a_cookie_that_is_never_liked() {
    let mut scene = scene(|question, response| {
        let sent = question.cookie.clone().unwrap();
        let cookie = [&sent[..8], b"servercookie"].concat();
        let code = if question.is_stream { response.rcode } else { 23 };
        Some(Response { rcode: code, cookie: Some(cookie), ..response })
    });
    check_www(&mut scene);
    assert_eq!((scene.seen(3), scene.net.connected), (3, 1));
}
