use std::sync::atomic::AtomicU32;
use std::sync::mpsc::{Receiver, Sender, channel};

use net::TapEnd;
use sync::tap::{Writer, ring};

use super::*;
use crate::told::{Exchanged, Outcome};

const RING_OCTETS: usize = 1 << 16;

/// A record, as workers write them: see the layout in `net::tap`.
fn record(
    outcome: u8,
    end: u8,
    row: Option<(u32, u32)>,
    one_in: u32,
    query: &[u8],
    response: &[u8],
) -> Vec<u8> {
    let mut head = vec![0; 72];
    (head[0], head[2], head[3]) = (outcome, 4 | 8, end);
    let (index, generation) = row.unwrap_or((u32::MAX, 0));
    head[4..8].copy_from_slice(&index.to_le_bytes());
    head[8..12].copy_from_slice(&generation.to_le_bytes());
    head[12..16].copy_from_slice(&one_in.to_le_bytes());
    head[16..24].copy_from_slice(&1000_u64.to_le_bytes());
    for at in [28, 32] {
        head[at..at + 2].copy_from_slice(&(query.len() as u16).to_le_bytes());
        head[at + 2..at + 4].copy_from_slice(&(response.len() as u16).to_le_bytes());
    }
    head[36..38].copy_from_slice(&53_u16.to_le_bytes());
    let padded = |octets: &[u8]| [octets, &[0; 7][..octets.len().wrapping_neg() % 8]].concat();
    [head, padded(query), padded(response)].concat()
}

fn write(writer: &mut Writer, octets: &[u8]) {
    writer.write([], [octets]);
    writer.publish();
}

fn answered(writer: &mut Writer, one_in: u32, query: &[u8]) {
    write(writer, &record(1, 0, None, one_in, query, b"response"));
}

/// A consumer that passes on what it is told.
struct Passes {
    one_in: u32,
    to: Sender<(Outcome, Vec<u8>, Vec<u8>)>,
}

impl Consumer for Passes {
    fn wants(&self) -> Wants {
        Wants { one_in: self.one_in, query_octets: 100, response_octets: 100, others: false }
    }

    fn is_urgent(&self) -> bool {
        true
    }

    fn take(&mut self, told: &Told<'_>) {
        let _ = self.to.send((told.outcome, told.query.to_vec(), told.response.to_vec()));
    }

    fn hand_over(&mut self, _: Instant) {}

    fn flush(&mut self) {}
}

type Heard = Receiver<(Outcome, Vec<u8>, Vec<u8>)>;

fn passes(one_in: u32) -> (Option<Box<dyn Consumer>>, Heard) {
    let (to, heard) = channel();
    (Some(Box::new(Passes { one_in, to })), heard)
}

fn observer() -> (Observer, Writer) {
    let (writer, tap) = ring(RING_OCTETS);
    let observer = Observer::new(|| ());
    observer.begin(&[tap], RING_OCTETS).unwrap();
    (observer, writer)
}

fn end(observer: &Observer) {
    observer.end(Instant::now() + Duration::from_secs(5));
}

#[test]
fn a_late_response_has_its_query() {
    let (observer, mut writer) = observer();
    let (consumer, heard) = passes(1);
    observer.set(Slot::Dnstap, consumer).unwrap();
    for (outcome, end, generation, query, response) in [
        (2, 0, 1, b"first".as_slice(), b"".as_slice()),
        (5, 1, 1, b"", b""),
        (2, 0, 2, b"second", b""),
        (4, 0, 2, b"", b"late"),
        (4, 0, 3, b"", b"alone"),
        (5, 0, 4, b"", b""),
    ] {
        write(&mut writer, &record(outcome, end, Some((7, generation)), 1, query, response));
    }
    end(&observer);
    let told: Vec<_> = heard.try_iter().collect();
    let expected: [(Outcome, &[u8], &[u8]); 5] = [
        (Outcome::Waits, b"first", b""),
        (Outcome::Ended(TapEnd::Gone), b"first", b""),
        (Outcome::Waits, b"second", b""),
        (Outcome::AnsweredLate, b"second", b"late"),
        (Outcome::AnsweredLate, b"", b"alone"),
    ];
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(outcome, query, response)| (outcome, query.to_vec(), response.to_vec()))
        .collect();
    assert_eq!(told, expected);
    let counts = observer.counts();
    assert_eq!((counts.read, counts.without_query, counts.lost_queries), (6, 2, 0));
}

/// One that wants one in ten of a ring that has one in two is told a fifth, and late responses as their queries.
#[test]
fn consumers_thin_by_chance() {
    const QUERIES: u32 = 20_000;
    let (observer, mut writer) = observer();
    let (seldom, heard) = passes(10);
    let (often, all) = passes(2);
    observer.set(Slot::Dnstap, seldom).unwrap();
    observer.set(Slot::QueryLog, often).unwrap();
    assert_eq!(writer.wants().unwrap().one_in, 2, "the denser of both");
    let mut written = 0;
    for index in 0..QUERIES {
        let row = Some((index % 100, index));
        for octets in [record(2, 0, row, 2, b"query", b""), record(4, 0, row, 2, b"", b"late")] {
            // The ring is small, and the observer sleeps.
            while written > 100 + observer.counts().read {
                std::thread::sleep(Duration::from_micros(100));
            }
            write(&mut writer, &octets);
            written += 1;
        }
    }
    end(&observer);
    assert_eq!(observer.counts().lost_in_rings, 0);
    assert_eq!(all.try_iter().count() as u32, 2 * QUERIES);
    let told: Vec<_> = heard.try_iter().collect();
    let late = told.iter().filter(|(outcome, ..)| *outcome == Outcome::AnsweredLate).count();
    assert_eq!(2 * late, told.len(), "a response for each query, and for no other");
    // Standard deviation 57.
    assert!((late as i64 - 4000).abs() < 300, "{late} of 20,000");
}

/// A consumer of messages to other servers and from them.
struct Hears {
    wants: Wants,
    to: Sender<(bool, Vec<u8>)>,
}

impl Consumer for Hears {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn is_urgent(&self) -> bool {
        false
    }

    fn take(&mut self, told: &Told<'_>) {
        panic!("{told:?} is no such message")
    }

    fn take_exchanged(&mut self, exchanged: &Exchanged<'_>) {
        let _ = self.to.send((exchanged.is_response, exchanged.message.to_vec()));
    }

    fn hand_over(&mut self, _: Instant) {}

    fn flush(&mut self) {}
}

/// Who wants what is asked of other servers has its sample of it, and nobody else is told.
#[test]
fn what_is_asked_of_other_servers() {
    let (observer, mut writer) = observer();
    let hears = |one_in, others| {
        let (to, heard) = channel();
        let wants = Wants { one_in, query_octets: 100, response_octets: 100, others };
        (Box::new(Hears { wants, to }), heard)
    };
    let (half, heard) = hears(2, true);
    let (other, nothing) = hears(1, false);
    observer.set(Slot::Dnstap, Some(half)).unwrap();
    observer.set(Slot::Top, Some(other)).unwrap();
    let wants = writer.wants().unwrap();
    assert_eq!((wants.one_in, wants.others), (1, true), "the denser of both, and what one of them wants");
    for id in [0, 0x7fff_u16, 0x8000, 0xffff] {
        write(&mut writer, &record(6, 0, None, 1, &id.to_be_bytes(), b""));
        write(&mut writer, &record(7, 0, None, 1, b"", &id.to_be_bytes()));
    }
    end(&observer);
    let told: Vec<_> = heard.try_iter().collect();
    let lower = [0, 0x7fff_u16].map(u16::to_be_bytes);
    let expected = lower.iter().flat_map(|id| [false, true].map(|is_response| (is_response, id.to_vec())));
    assert_eq!(told, expected.collect::<Vec<_>>());
    assert_eq!(nothing.try_iter().count(), 0);
    assert_eq!(observer.counts().read, 8);
}

/// A consumer that wants more or fewer queries from time to time, and passes on how many each stands for.
struct Weighs {
    one_in: Arc<AtomicU32>,
    to: Sender<u32>,
}

impl Consumer for Weighs {
    fn wants(&self) -> Wants {
        Wants {
            one_in: self.one_in.load(Ordering::Relaxed),
            query_octets: 100,
            response_octets: 100,
            others: false,
        }
    }

    fn is_urgent(&self) -> bool {
        true
    }

    fn take(&mut self, told: &Told<'_>) {
        let _ = self.to.send(told.one_in);
    }

    fn hand_over(&mut self, _: Instant) {}

    fn flush(&mut self) {}
}

/// A late response stands for as many as its query did, whatever is wanted by then.
#[test]
fn a_late_response_weighs_what_its_query_did() {
    let (observer, mut writer) = observer();
    let (to, heard) = channel();
    let one_in = Arc::new(AtomicU32::new(8));
    observer.set(Slot::Top, Some(Box::new(Weighs { one_in: Arc::clone(&one_in), to }))).unwrap();
    // The ring has others still.
    for octets in [record(2, 0, Some((7, 1)), 8, b"query", b""), record(1, 0, None, 64, b"query", b"")] {
        write(&mut writer, &octets);
    }
    assert_eq!([heard.recv().unwrap(), heard.recv().unwrap()], [8, 64]);
    one_in.store(512, Ordering::Relaxed);
    let until = Instant::now() + Duration::from_secs(5);
    while writer.wants().unwrap().one_in != 512 {
        assert!(Instant::now() < until, "it wants what it wanted");
        std::thread::sleep(Duration::from_millis(1));
    }
    write(&mut writer, &record(4, 0, Some((7, 1)), 8, b"", b"late"));
    end(&observer);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [8]);
}

/// Whoever comes or goes costs others nothing.
#[test]
fn consumers_come_and_go() {
    let (observer, mut writer) = observer();
    let (lines, heard) = passes(1);
    observer.set(Slot::QueryLog, lines).unwrap();
    for round in 0..20_u8 {
        answered(&mut writer, 1, &[round]);
        let (other, _) = passes(1);
        observer.set(Slot::Dnstap, other).unwrap();
        answered(&mut writer, 1, &[round]);
        observer.set(Slot::Dnstap, None).unwrap();
    }
    observer.set(Slot::QueryLog, None).unwrap();
    assert_eq!(heard.try_iter().count(), 40);
    assert_eq!(writer.wants(), None, "nobody wants anything");
    answered(&mut writer, 1, b"unheard");
    end(&observer);
    assert_eq!(observer.counts().read, 40);
}

/// One whose fault it is.
struct Panics;

impl Consumer for Panics {
    fn wants(&self) -> Wants {
        Wants { one_in: 1, query_octets: 100, response_octets: 100, others: false }
    }

    fn is_urgent(&self) -> bool {
        false
    }

    fn take(&mut self, _: &Told<'_>) {
        panic!("a fault, on purpose");
    }

    fn hand_over(&mut self, _: Instant) {}

    fn flush(&mut self) {}
}

/// Workers tell nobody afterwards, it is counted, and there can be consumers again.
#[test]
fn a_fault_ends_consumers_and_is_counted() {
    let (observer, mut writer) = observer();
    observer.set(Slot::QueryLog, Some(Box::new(Panics))).unwrap();
    answered(&mut writer, 1, b"query");
    let until = Instant::now() + Duration::from_secs(5);
    while observer.faults() == 0 {
        assert!(Instant::now() < until, "it goes on");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(writer.wants(), None);
    let (consumer, heard) = passes(1);
    observer.set(Slot::QueryLog, consumer).unwrap();
    answered(&mut writer, 1, b"again");
    end(&observer);
    assert_eq!(heard.try_iter().count(), 1);
    assert_eq!(observer.counts().faults, 1);
}

#[test]
fn what_the_ring_has_no_room_for_is_counted() {
    let (observer, mut writer) = observer();
    let (consumer, heard) = passes(1);
    observer.set(Slot::Dnstap, consumer).unwrap();
    let query = [0; 4000];
    // All at once, a hundred times what there is room for.
    let count = 100 * RING_OCTETS / query.len();
    for _ in 0..count {
        answered(&mut writer, 1, &query);
    }
    end(&observer);
    let counts = observer.counts();
    assert!(counts.lost_in_rings > 0);
    assert_eq!(counts.read + counts.lost_in_rings, count as u64);
    assert_eq!(heard.try_iter().count() as u64, counts.read);
}
