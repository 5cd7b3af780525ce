#![allow(clippy::unwrap_used)] // A test fails by panicking.

use super::*;
use wire::tsig::{Algorithm, verify};

const WALL: u64 = 1_800_000_000;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

fn remotes(names: &[&str]) -> impl Iterator<Item = RemoteName> {
    names.iter().map(|name| Arc::from(*name)).collect::<Vec<RemoteName>>().into_iter()
}

fn at(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

/// The response to what was sent with this ID.
fn response(zone: &str, id: u16, rcode: u8) -> Vec<u8> {
    let mut octets = request(&name(zone), 60, &[0; 22], id);
    octets[2] |= 0x80;
    octets[3] |= rcode;
    octets
}

/// Sends all that is due, with IDs counted from `first`; says what that was.
fn send(notices: &mut Notices, now: f64, first: u16) -> Vec<(String, String, u8)> {
    let mut sent = Vec::new();
    while let Some(due) = notices.next(seconds(now), &mut Vec::new()) {
        notices.sent(&due, at(53), first + sent.len() as u16, None, seconds(now));
        sent.push((due.zone.to_string(), due.remote.to_string(), due.sendings));
    }
    sent
}

#[test]
fn sent_again_until_there_is_a_response() {
    let mut notices = Notices::default();
    assert_eq!(notices.idle(seconds(0.0)), None);
    notices.publish(&name("Example"), 7, remotes(&["a", "b"]), seconds(1.0));
    assert_eq!(notices.idle(seconds(1.0)), Some(seconds(0.001)), "nothing was saved up yet");
    let line = |remote: &str, sendings| ("example.".to_owned(), remote.to_owned(), sendings);
    assert_eq!(send(&mut notices, 2.0, 10), [line("a", 0), line("b", 0)]);
    assert!(notices.is_waiting());
    assert_eq!(notices.idle(seconds(2.0)), Some(FIRST_WAIT));
    // What is not the response: another ID, sender, question, operation, no response.
    let mut receive = |from, message: &[u8]| notices.receive(from, message, seconds(2.5), WALL);
    assert_eq!(receive(at(53), &response("example", 12, 0)), None);
    assert_eq!(receive(at(54), &response("example", 10, 0)), None);
    assert_eq!(receive(at(53), &response("example.org", 10, 0)), None);
    let mut other = response("example", 10, 0);
    other[2] = 0x80;
    assert_eq!(receive(at(53), &other), None);
    assert_eq!(receive(at(53), &request(&name("example"), 60, &[0; 22], 10)), None);
    for end in 0..HEADER {
        assert_eq!(receive(at(53), &response("example", 10, 0)[..end]), None);
    }
    let ended = receive(at(53), &response("EXAMPLE", 10, 0)).unwrap();
    assert_eq!((&*ended.told.remote, ended.told.serial, ended.told.state), ("a", 7, State::Told));
    assert_eq!(receive(at(53), &response("example", 10, 0)), None, "it is over");
    assert_eq!(send(&mut notices, 3.9, 20), []);
    assert_eq!(send(&mut notices, 4.1, 20), [line("b", 1)]);
    let ended = notices.receive(at(53), &response("example", 20, 5), seconds(4.2), WALL).unwrap();
    assert_eq!(ended.told.state, State::Refused(5));
    assert_eq!((notices.idle(seconds(5.0)), notices.is_waiting()), (None, false));
    assert_eq!(notices.counts(), Counts { sent: 3, told: 1, refused: 1, ..Counts::default() });
    assert_eq!(notices.of(&name("EXAMPLE")).len(), 2);
}

const HEADER: usize = 12;

#[test]
fn given_up_after_a_minute() {
    let mut notices = Notices::default();
    notices.publish(&name("a"), 1, remotes(&["x"]), seconds(0.0));
    let (mut times, mut ended) = (Vec::new(), Vec::new());
    for tenth in 0..1000 {
        let now = f64::from(tenth) / 10.0;
        while let Some(due) = notices.next(seconds(now), &mut ended) {
            notices.sent(&due, at(53), tenth as u16, None, seconds(now));
            times.push(tenth);
        }
    }
    assert_eq!(times, [1, 21, 61, 141, 301]);
    assert_eq!((ended.len(), ended[0].told.state, notices.is_waiting()), (1, State::GivenUp(None), false));
    assert_eq!(notices.receive(at(53), &response("a", 301, 0), seconds(99.0), WALL), None);
    // A new serial begins anew.
    notices.publish(&name("a"), 2, remotes(&["x"]), seconds(100.0));
    assert_eq!(send(&mut notices, 101.0, 1).len(), 1);
}

#[test]
fn a_newer_serial_takes_the_place() {
    let mut notices = Notices::default();
    notices.publish(&name("a"), 1, remotes(&["x"]), seconds(0.0));
    assert_eq!(send(&mut notices, 1.0, 1).len(), 1);
    notices.publish(&name("a"), 2, remotes(&["x"]), seconds(1.1));
    notices.publish(&name("a"), 3, remotes(&["x"]), seconds(1.2));
    assert_eq!(
        notices.receive(at(53), &response("a", 1, 0), seconds(1.3), WALL),
        None,
        "that was of another serial"
    );
    assert_eq!(send(&mut notices, 1.4, 2).len(), 1);
    let ended = notices.receive(at(53), &response("a", 2, 0), seconds(1.5), WALL).unwrap();
    assert_eq!((ended.told.serial, notices.counts().sent), (3, 2));
    notices.publish(&name("a"), 4, remotes(&["x"]), seconds(2.0));
    notices.forget(&name("A"));
    assert_eq!((send(&mut notices, 3.0, 3).len(), notices.of(&name("a")).len(), notices.entries), (0, 0, 0));
    assert!(notices.turns.is_empty() && notices.ids.is_empty());
}

/// A remote that is gone takes no other with it.
/// What is sent is made from what was served when it became due: a response to that says nothing of what came meanwhile.
#[test]
fn published_while_it_is_sent() {
    let mut notices = Notices::default();
    notices.publish(&name("example"), 7, remotes(&["a"]), seconds(0.0));
    let due = notices.next(seconds(1.0), &mut Vec::new()).unwrap();
    notices.publish(&name("example"), 8, remotes(&["a"]), seconds(1.0));
    notices.sent(&due, at(53), 10, None, seconds(1.0));
    assert_eq!(notices.receive(at(53), &response("example", 10, 0), seconds(1.0), WALL), None);
    assert_eq!(send(&mut notices, 1.0, 11), [("example.".to_owned(), "a".to_owned(), 0)]);
    let ended = notices.receive(at(53), &response("example", 11, 0), seconds(1.0), WALL).unwrap();
    assert_eq!((ended.told.serial, ended.told.state), (8, State::Told));
    // Nor is it given up as there were no data.
    notices.publish(&name("example"), 9, remotes(&["a"]), seconds(2.0));
    let due = notices.next(seconds(2.0), &mut Vec::new()).unwrap();
    notices.publish(&name("example"), 10, remotes(&["a"]), seconds(2.0));
    notices.leave(&due);
    assert_eq!(send(&mut notices, 2.0, 12).len(), 1);
}

#[test]
fn remotes_that_are_gone() {
    let mut notices = Notices::default();
    notices.publish(&name("a"), 1, remotes(&["x", "y"]), seconds(0.0));
    let due = notices.next(seconds(1.0), &mut Vec::new()).unwrap();
    notices.leave(&due);
    assert_eq!((notices.of(&name("a")).len(), notices.entries), (1, 1));
    assert_eq!(send(&mut notices, 1.0, 1), [("a.".to_owned(), "y".to_owned(), 0)]);
    assert!(notices.receive(at(53), &response("a", 1, 0), seconds(1.1), WALL).is_some());
}

/// Two thousand zones leave at the rate, each once, whatever becomes of them.
#[test]
fn no_more_than_the_rate() {
    let mut notices = Notices::default();
    for number in 0..2000 {
        notices.publish(&name(&format!("z{number}")), 1, remotes(&["x"]), seconds(0.0));
    }
    let (mut sent, mut by_second) = (0, Vec::new());
    for millisecond in 0..2000u16 {
        let now = f64::from(millisecond) / 1000.0;
        sent += send(&mut notices, now, sent as u16).len();
        if millisecond % 1000 == 999 {
            by_second.push(sent);
        }
    }
    assert!((990..=1000).contains(&by_second[0]) && (1990..=2000).contains(&by_second[1]), "{by_second:?}");
}

#[test]
fn responses_are_signed_where_the_message_was() {
    let key = Arc::new(Key::new(&name("k"), Algorithm::HmacSha256, b"secret"));
    let mut notices = Notices::default();
    notices.publish(&name("a"), 1, remotes(&["x"]), seconds(0.0));
    let due = notices.next(seconds(1.0), &mut Vec::new()).unwrap();
    let mut message = request(&due.zone, 60, &[0; 22], 7);
    let octets = message.len();
    message.resize(octets + key.octets(), 0);
    let (octets, mac) = key.sign(&mut message, octets, WALL).unwrap();
    notices.sent(&due, at(53), 7, Some((Arc::clone(&key), mac)), seconds(1.0));
    assert_eq!(
        notices.receive(at(53), &response("a", 7, 0), seconds(1.1), WALL),
        None,
        "anybody can say that"
    );
    let verified = verify(&message[..octets], &*key, WALL).map_err(|rejected| rejected.fault).unwrap();
    let mut answer = response("a", 7, 0);
    let octets = answer.len();
    answer.resize(octets + key.octets(), 0);
    let octets = verified.reply.append(&mut answer, octets, WALL).unwrap();
    assert!(notices.receive(at(53), &answer[..octets], seconds(1.2), WALL).is_some());
}

/// What a server with another key, or another clock, says is told, though it does not count as heard.
#[test]
fn what_is_wrong_with_the_signature_is_told() {
    let key = Arc::new(Key::new(&name("k"), Algorithm::HmacSha256, b"secret"));
    let other = |text: &str, secret: &[u8]| Key::new(&name(text), Algorithm::HmacSha256, secret);
    for (theirs, clock, expected) in [
        (other("k", b"another"), WALL, State::GivenUp(Some(Fault::Refused(wire::tsig::BADSIG)))),
        (other("l", b"secret"), WALL, State::GivenUp(Some(Fault::Refused(wire::iana::rcode::BADKEY)))),
        (other("k", b"secret"), WALL + 1000, State::Refused(wire::iana::rcode::BADTIME)),
    ] {
        let mut notices = Notices::default();
        notices.publish(&name("a"), 1, remotes(&["x"]), seconds(0.0));
        let (mut ended, mut received) = (Vec::new(), None);
        for second in 1..100u16 {
            let now = seconds(second.into());
            while let Some(due) = notices.next(now, &mut ended) {
                let mut message = request(&due.zone, 60, &[0; 22], second);
                let octets = message.len();
                message.resize(octets + key.octets(), 0);
                let (octets, mac) = key.sign(&mut message, octets, WALL).unwrap();
                notices.sent(&due, at(53), second, Some((Arc::clone(&key), mac)), now);
                let rejected = verify(&message[..octets], &theirs, clock).unwrap_err();
                let mut answer = response("a", second, 9);
                let octets = answer.len();
                answer.resize(octets + 2 * key.octets(), 0);
                let octets = rejected.append(&mut answer, octets, clock).unwrap();
                received = received.or(notices.receive(at(53), &answer[..octets], now, WALL));
            }
        }
        let ended = received.or(ended.pop()).map(|ended| ended.told.state);
        assert_eq!(ended, Some(expected));
    }
}

#[test]
fn ids_are_unique_for_an_address() {
    let mut notices = Notices::default();
    notices.publish(&name("a"), 1, remotes(&["x", "y"]), seconds(0.0));
    let due = notices.next(seconds(1.0), &mut Vec::new()).unwrap();
    notices.sent(&due, at(53), 7, None, seconds(1.0));
    let mut numbers = [7, 7, 9].into_iter();
    assert_eq!(notices.id(at(53), || numbers.next().unwrap()), Some(9));
    assert_eq!(notices.id(at(53), || 7), None);
    assert_eq!(notices.id(at(54), || 7), Some(7));
}

/// Whoever was told takes no place of those that are to be; what has ended is remembered as long as there is room.
#[test]
fn only_what_is_under_way_counts() {
    let mut notices = Notices::bounded(4);
    let zone = |number: usize| name(&format!("z{number}.example"));
    let publish = |notices: &mut Notices, zones: std::ops::Range<usize>, now: f64| {
        zones.for_each(|number| notices.publish(&zone(number), 1, remotes(&["a"]), seconds(now)));
    };
    publish(&mut notices, 0..5, 1.0);
    assert_eq!(notices.counts().left_out, 1);
    assert_eq!(send(&mut notices, 2.0, 0).len(), 4);
    for number in 0..4 {
        let octets = response(&zone(number).to_string(), number as u16, 0);
        assert!(notices.receive(at(53), &octets, seconds(2.5), WALL).is_some());
    }
    // As many again, and more than are remembered.
    publish(&mut notices, 4..8, 3.0);
    assert_eq!((notices.counts().left_out, send(&mut notices, 4.0, 10).len()), (1, 4));
    for number in 4..8 {
        let octets = response(&zone(number).to_string(), 6 + number as u16, 0);
        let ended = notices.receive(at(53), &octets, seconds(4.5), WALL).unwrap();
        assert_eq!(ended.told.state, State::Told);
    }
    let known = (0..8).filter(|number| !notices.of(&zone(*number)).is_empty()).count();
    assert_eq!((known, notices.entries, notices.idle(seconds(5.0))), (4, 4, None));
}

/// One for which no ID is free waits, and takes no other's place: both are told.
#[test]
fn no_id_is_free() {
    let mut notices = Notices::default();
    notices.publish(&name("one.example"), 7, remotes(&["a"]), seconds(1.0));
    assert_eq!(send(&mut notices, 2.0, 10).len(), 1);
    notices.publish(&name("two.example"), 7, remotes(&["a"]), seconds(2.0));
    let due = notices.next(seconds(2.0), &mut Vec::new()).unwrap();
    assert_eq!(notices.id(at(53), || 10), None);
    notices.put_off(&due, seconds(2.0));
    assert!(notices.next(seconds(2.5), &mut Vec::new()).is_none());
    let is_told = |notices: &mut Notices, zone, id, now| {
        let ended = notices.receive(at(53), &response(zone, id, 0), seconds(now), WALL);
        ended.map(|ended| ended.told.state) == Some(State::Told)
    };
    assert!(is_told(&mut notices, "one.example", 10, 2.6));
    let line = ("two.example.".to_owned(), "a".to_owned(), 0);
    assert_eq!(send(&mut notices, 3.0, 10), [line], "it was not sent before");
    assert!(is_told(&mut notices, "two.example", 10, 3.1));
    assert_eq!((notices.counts().sent, notices.counts().told), (2, 2));
}
