use net::{TapEnd, Transport};
use wire::{Name, NameBuf};

use super::*;
use crate::observer::{Observer, Slot};
use crate::told::Asked;

/// Every name below `example.` is in it.
struct Example;

impl Zones for Example {
    fn find(&mut self, name: &Name, _: u16, zone: &mut NameRoom) -> bool {
        let example = Name::from_wire(b"\x07example\0").unwrap();
        zone.set(example);
        name.is_at_or_below(example)
    }
}

fn message(flags: u16, answers: u16, name: &str) -> Vec<u8> {
    let counts = [[0, 7], flags.to_be_bytes(), [0, 1], answers.to_be_bytes(), [0; 2], [0; 2]].concat();
    [&counts[..], NameBuf::from_text(name).unwrap().octets(), b"\0\x01\0\x01"].concat()
}

fn asked(client: Address) -> Asked {
    Asked { client, local: Address::NONE, at: 0 }
}

fn told<'t>(outcome: Outcome, query: &'t [u8], response: &'t [u8]) -> Told<'t> {
    Told {
        outcome,
        transport: Transport::Udp,
        asked: Some(asked(Address::v4([192, 0, 2, 7], 53))),
        answered: 0,
        one_in: 1,
        query_octets: query.len() as u16,
        response_octets: response.len() as u16,
        query,
        response,
    }
}

fn keys(most: &Most) -> Vec<(&str, u64)> {
    most.each.iter().map(|one| (&*one.key, one.count.round() as u64)).collect()
}

#[test]
fn names_clients_zones_and_what_is_above_names_that_do_not_exist() {
    let (lookout, now) = (Lookout::default(), Instant::now());
    assert_eq!(lookout.look(10, now), None, "nobody looks");
    let mut top = lookout.begin(Box::new(Example), now);
    let nothing = message(header::QR | 3, 0, "a.sub.example.");
    top.take(&told(Outcome::Answered, &message(0, 0, "A.Sub.Example."), &nothing[..12]));
    top.take(&told(Outcome::Answered, &message(0, 0, "b.sub.example."), &nothing[..12]));
    // The end of its chain of aliases does not exist, the name does.
    top.take(&told(Outcome::Answered, &message(0, 0, "www.example."), &message(3, 1, "www.example.")));
    top.take(&told(Outcome::Dropped, &message(0, 0, "other.test."), b""));
    // No message: somebody sent it all the same.
    top.take(&told(Outcome::Dropped, b"none", b""));
    let looked = lookout.look(10, now).unwrap();
    assert_eq!(looked.samples, 5);
    assert_eq!(looked.names.each.len(), 4);
    assert!(keys(&looked.names).contains(&("a.sub.example.", 1)), "in lower case");
    assert_eq!(keys(&looked.missing), [("sub.example.", 2)]);
    assert_eq!(keys(&looked.zones), [("example.", 3)]);
    assert_eq!(keys(&looked.clients), [("192.0.2.7", 5)]);
    assert_eq!(looked.zones.sum, 3.0);
    assert_eq!(lookout.look(2, now).unwrap().names.each.len(), 2, "no more than are wanted");
}

/// What got SERVFAIL, at once or late; and how long answers took that waited for nobody.
#[test]
fn names_that_fail_and_time_in_the_server() {
    let (lookout, now) = (Lookout::default(), Instant::now());
    let mut top = lookout.begin(Box::new(Example), now);
    let (broken, sound) = (message(0, 0, "Broken.Test."), message(0, 0, "sound.test."));
    let servfail = message(header::QR | 2, 0, "broken.test.");
    top.take(&Told { answered: 1_500, ..told(Outcome::Answered, &broken, &servfail[..12]) });
    top.take(&Told {
        answered: 1_500,
        one_in: 8,
        ..told(Outcome::Answered, &sound, &message(0, 1, "sound.test."))
    });
    top.take(&told(Outcome::Waits, &broken, b""));
    top.take(&Told { answered: 9_000_000_000, ..told(Outcome::AnsweredLate, &broken, &servfail) });
    top.take(&told(Outcome::Dropped, &broken, &servfail[..11]));
    let looked = lookout.look(10, now).unwrap();
    assert_eq!(keys(&looked.failed), [("broken.test.", 2)]);
    assert_eq!((looked.failed.sum, looked.took.count), (2.0, 9.0));
    assert_eq!(looked.took.percentiles, [Some(Duration::from_nanos(1_536)); 4]);
}

/// A query that waits is counted once; what came of it may be that its name does not exist.
#[test]
fn what_is_answered_late_counts_once() {
    let (lookout, now) = (Lookout::default(), Instant::now());
    let mut top = lookout.begin(Box::new(Example), now);
    let query = message(0, 0, "x.test.");
    top.take(&told(Outcome::Waits, &query, b""));
    top.take(&told(Outcome::AnsweredLate, &query, &message(3, 0, "x.test.")));
    top.take(&told(Outcome::Waits, &query, b""));
    top.take(&told(Outcome::Ended(TapEnd::Gone), &query, b""));
    let looked = lookout.look(10, now).unwrap();
    assert_eq!((looked.samples, keys(&looked.names)), (2, vec![("x.test.", 2)]));
    assert_eq!(keys(&looked.missing), [("test.", 1)]);
}

#[test]
fn a_sample_stands_for_as_many_as_were_left_out() {
    let (lookout, now) = (Lookout::default(), Instant::now());
    let mut top = lookout.begin(Box::new(Example), now);
    let query = message(0, 0, "x.test.");
    top.take(&Told { one_in: 64, ..told(Outcome::Answered, &query, b"") });
    assert_eq!(keys(&lookout.look(1, now).unwrap().names), [("x.test.", 64)]);
}

/// A sample of the first moment, which stands for 128, is no eighth of what a quiet server is asked in a second.
#[test]
fn what_is_taken_before_the_rate_is_known_is_forgotten() {
    let (lookout, begin) = (Lookout::default(), Instant::now());
    let mut top = lookout.begin(Box::new(Example), begin);
    let query = message(0, 0, "x.test.");
    let mut at = begin;
    for one_in in [128, 16, 2] {
        assert_eq!(top.wants().one_in, one_in);
        top.take(&Told { one_in, ..told(Outcome::Answered, &query, b"") });
        at += Duration::from_millis(100);
        top.hand_over(at);
        assert_eq!(lookout.look(1, at).unwrap().samples, 0);
    }
    for _ in 0..3 {
        top.take(&told(Outcome::Answered, &query, b""));
        at += Duration::from_millis(100);
        top.hand_over(at);
    }
    let looked = lookout.look(1, at).unwrap();
    assert_eq!((looked.samples, keys(&looked.names)), (3, vec![("x.test.", 3)]));
    assert_eq!(looked.counted_for, Duration::from_millis(300));
}

#[test]
fn clients_are_networks() {
    let of =
        |text: &str| Client::of(&Address::from(text.parse::<std::net::SocketAddr>().unwrap())).to_string();
    assert_eq!(of("192.0.2.7:53"), "192.0.2.7");
    assert_eq!(of("[2001:db8:1:2:3:4:5:6]:53"), "2001:db8:1:2::/64");
    assert_eq!(of("[::ffff:192.0.2.7]:53"), "192.0.2.7");
}

/// It ends by itself once nobody looks any more, and with it the thread; whoever looks then begins anew.
#[test]
fn it_ends_when_nobody_looks() {
    let (lookout, begin) = (Lookout::default(), Instant::now());
    let mut top = lookout.begin(Box::new(Example), begin);
    top.hand_over(begin + LOOK_PATIENCE);
    assert!(!top.is_over());
    assert!(lookout.octets() > 0);
    lookout.look(1, begin + LOOK_PATIENCE);
    top.hand_over(begin + 2 * LOOK_PATIENCE);
    assert!(!top.is_over(), "somebody has looked since");
    top.hand_over(begin + 3 * LOOK_PATIENCE);
    assert!(top.is_over());
    assert_eq!((lookout.look(1, begin), lookout.octets()), (None, 0));
}

#[test]
fn the_rings_have_no_reader_afterwards() {
    let (writer, tap) = sync::tap::ring(1 << 16);
    let observer = Observer::new(|| ());
    observer.begin(&[tap], 1 << 16).unwrap();
    let lookout = Lookout::default();
    // The last look was long ago, as far as it knows.
    let Some(long_ago) = Instant::now().checked_sub(LOOK_PATIENCE + Duration::from_millis(1)) else { return };
    let top = lookout.begin(Box::new(Example), long_ago);
    observer.set(Slot::Top, Some(Box::new(top))).unwrap();
    let until = Instant::now() + Duration::from_secs(5);
    while writer.wants().is_some() {
        assert!(Instant::now() < until, "it still reads");
        std::thread::sleep(Duration::from_millis(1));
    }
    // And again.
    observer.set(Slot::Top, Some(Box::new(lookout.begin(Box::new(Example), Instant::now())))).unwrap();
    assert_eq!(writer.wants().unwrap().response_octets, 12);
    drop(observer);
    assert_eq!(lookout.look(1, Instant::now()), None);
}
