use sync::tap::{Reader, ring};

use super::*;
use crate::context::{Now, PLAIN, Transport};
use crate::driver::Source;
use crate::later::Later;
use crate::queries::{Batch, Outcome, Rooms, Span};

const WHOLE: Wants = Wants { one_in: 1, query_octets: u16::MAX, response_octets: u16::MAX, others: false };

/// Octets of each query: its number.
const QUERY_OCTETS: usize = 4;

fn context() -> Context {
    Context {
        client: Address::v4([192, 0, 2, 1], 1053),
        local: Address::v6([7; 16], 53, 0),
        transport: Transport::Tls,
        is_proved: true,
        is_early: false,
        idle_left: NO_IDLE,
    }
}

fn tap() -> (Tap, sync::tap::Tap) {
    let (writer, handle) = ring(1 << 20);
    (Tap { sample: Sample::new(Random::new(11)), ..Tap::new(writer).unwrap() }, handle)
}

/// Has `act` answer a batch of queries with the numbers from `first` on, and the tap told of it; returns how many were offered.
fn batch(
    tap: &mut Tap,
    (first, count): (u32, usize),
    (rooms, area_octets): (Rooms, usize),
    act: impl FnOnce(&mut Queries<'_>, &mut Tap),
) -> usize {
    let received: Vec<u8> = (first..).take(count).flat_map(u32::to_le_bytes).collect();
    let span = |index: usize| Span { start: (index * QUERY_OCTETS) as u32, octets: QUERY_OCTETS as u32 };
    let spans: Vec<Span> = (0..count).map(span).collect();
    let (mut area, mut outcomes): (_, Vec<Outcome>) = (vec![0; area_octets], vec![DROPPED; count]);
    let contexts = [context()];
    let mut queries = Queries::new(Batch {
        now: Now::read(),
        session: &PLAIN,
        received: &received,
        spans: &spans,
        contexts: &contexts,
        area: &mut area,
        rooms,
        outcomes: &mut outcomes,
        source: Source::Datagrams(0),
    });
    tap.begin(count);
    act(&mut queries, tap);
    tap.end(&queries);
    queries.offered().0
}

/// A room a query, as datagrams have it.
fn datagrams(count: usize) -> (Rooms, usize) {
    (Rooms { stride: 64, prefix: 0, octets: 32 }, 64 * count)
}

/// Echoes all that there is room for.
fn echo(queries: &mut Queries<'_>, _: &mut Tap) {
    while let Some(item) = queries.next() {
        let octets = item.query.len();
        item.room[..octets].copy_from_slice(item.query);
        item.answer(octets);
    }
}

/// The number of the query of each record that waits, and what became of it; responses are those of their queries.
fn read(reader: &mut Reader) -> Vec<(u32, Tapped)> {
    let mut octets = Vec::new();
    let records = std::iter::from_fn(|| reader.read(&mut octets).then(|| octets.clone()));
    let told = records.map(|octets| {
        let record = TapRecord::read(&octets).unwrap();
        assert!(record.outcome != Tapped::Answered || record.query == record.response);
        (u32::from_le_bytes(record.query.try_into().unwrap()), record.outcome)
    });
    told.collect()
}

fn numbers(told: &[(u32, Tapped)]) -> Vec<u32> {
    told.iter().map(|(number, _)| *number).collect()
}

#[test]
fn batches_of_any_length_are_sampled_as_one() {
    const QUERIES: u32 = 20_000;
    for one_in in [1, 3, 100] {
        let (mut tap, handle) = tap();
        let mut expected = tap.sample.clone();
        expected.begin(one_in);
        let expected: Vec<u32> = (0..QUERIES).filter(|number| expected.has(u64::from(*number))).collect();
        let mut reader = handle.attach(Wants { one_in, ..WHOLE }).unwrap();
        let (mut first, mut told) = (0, Vec::new());
        for length in (1..=64).cycle() {
            let count = length.min((QUERIES - first) as usize);
            batch(&mut tap, (first, count), datagrams(count), echo);
            told.append(&mut read(&mut reader));
            first += count as u32;
            if first == QUERIES {
                break;
            }
        }
        assert_eq!(numbers(&told), expected);
        assert!(told.iter().all(|(_, outcome)| *outcome == Tapped::Answered));
    }
}

/// Rooms are cut one after another there, and what finds none comes again.
#[test]
fn what_is_put_off_is_counted_once() {
    for one_in in [1, 5] {
        let (mut tap, handle) = tap();
        let mut expected = tap.sample.clone();
        expected.begin(one_in);
        let expected: Vec<u32> = (0..1000).filter(|number| expected.has(u64::from(*number))).collect();
        let mut reader = handle.attach(Wants { one_in, ..WHOLE }).unwrap();
        let (mut first, mut told) = (0, Vec::new());
        while first < 1000 {
            let rooms = Rooms { stride: 0, prefix: 2, octets: 20 };
            let offered = batch(&mut tap, (first, (1000 - first as usize).min(50)), (rooms, 100), echo);
            assert!(offered < 50 || first >= 950, "{offered} had room");
            told.append(&mut read(&mut reader));
            first += offered as u32;
        }
        // Put off for want of room, what would have been drawn behind the next one is drawn again.
        match one_in {
            1 => assert_eq!(numbers(&told), expected),
            _ => assert!((150..250).contains(&told.len()), "{} of 1,000", told.len()),
        }
        assert!(told.is_sorted_by(|one, other| one.0 < other.0), "nothing is told twice: {told:?}");
    }
}

#[test]
fn what_is_answered_later_is_told_as_it_is_drawn() {
    let (mut tap, handle) = tap();
    let mut reader = handle.attach(Wants { one_in: 4, ..WHOLE }).unwrap();
    let mut expected = tap.sample.clone();
    expected.begin(4);
    let expected: Vec<u32> = (0..64).filter(|number| expected.has(u64::from(*number))).collect();
    let mut later = Later::new();
    let row = later.add(crate::later::Asker::of_test(1), 0, std::time::Instant::now()).unwrap();
    let mut marked = Vec::new();
    batch(&mut tap, (0, 64), datagrams(64), |queries, tap| {
        // From the last on backwards, as if the batch were rewound each time; some are not asked for.
        for index in (0..64_usize).rev().filter(|index| index % 8 != 0) {
            let mark = tap.later(index, row, &context(), queries.query(index));
            marked.extend(mark.map(|mark| (index as u32, mark)));
        }
        echo(queries, tap);
    });
    let asked = expected.iter().copied().filter(|number| number % 8 != 0);
    assert_eq!(marked.iter().rev().map(|(number, _)| *number).collect::<Vec<_>>(), asked.collect::<Vec<_>>());
    assert!(marked.iter().all(|(_, mark)| (mark.one_in, mark.transport) == (4, Transport::Tls)));
    let told = read(&mut reader);
    let later = told.iter().filter(|(_, outcome)| *outcome == Tapped::Later).count();
    assert_eq!(later, marked.len());
}

/// Whatever comes while a batch is answered.
#[test]
fn a_batch_is_told_as_it_was_wanted_when_it_began() {
    let (mut tap, handle) = tap();
    let mut later = Later::new();
    let row = later.add(crate::later::Asker::of_test(1), 0, std::time::Instant::now()).unwrap();
    let mut reader = None;
    batch(&mut tap, (0, 2), datagrams(2), |queries, tap| {
        reader = handle.attach(WHOLE);
        assert_eq!(tap.later(0, row, &context(), queries.query(0)), None, "it goes past the worker");
        echo(queries, tap);
    });
    let mut reader = reader.unwrap();
    assert_eq!(read(&mut reader), []);
    batch(&mut tap, (2, 2), datagrams(2), |queries, tap| {
        assert!(tap.later(0, row, &context(), queries.query(0)).is_some());
        reader.change(Wants { query_octets: 1, ..WHOLE });
        echo(queries, tap);
    });
    // The first by its ticket, and by what is said of it in this test, though not through it.
    assert_eq!(numbers(&read(&mut reader)), [2, 2, 3]);
}

#[test]
fn a_query_that_finds_no_room_marks_nothing() {
    let (writer, handle) = ring(128);
    let mut tap = Tap::new(writer).unwrap();
    let mut reader = handle.attach(WHOLE).unwrap();
    let mut later = Later::new();
    let row = later.add(crate::later::Asker::of_test(1), 0, std::time::Instant::now()).unwrap();
    batch(&mut tap, (0, 2), datagrams(2), |queries, tap| {
        assert!(tap.later(0, row, &context(), queries.query(0)).is_some());
        assert_eq!(tap.later(1, row, &context(), queries.query(1)), None, "the ring is full");
    });
    assert_eq!(reader.dropped(), 3, "that one, and the two that were answered in this test");
    assert_eq!(read(&mut reader), [(0, Tapped::Later)]);
}

#[test]
fn a_lost_batch_is_told_as_dropped() {
    let (mut tap, handle) = tap();
    let mut reader = handle.attach(WHOLE).unwrap();
    batch(&mut tap, (0, 3), (Rooms { stride: 0, prefix: 2, octets: 20 }, 70), |queries, _| {
        let item = queries.next().unwrap();
        item.answer(QUERY_OCTETS);
        assert_eq!(queries.lose(), 3);
    });
    assert_eq!(read(&mut reader), [0, 1, 2].map(|number| (number, Tapped::Dropped)));
}

/// Every kind of record, as it was told; and octets that are none.
#[test]
fn records_are_read_as_they_were_written() {
    let (mut tap, handle) = tap();
    let mut reader = handle.attach(Wants { query_octets: 3, ..WHOLE }).unwrap();
    let mut later = Later::new();
    let row = later.add(crate::later::Asker::of_test(1), 0, std::time::Instant::now()).unwrap();
    let mark = Mark { row, one_in: 77, transport: Transport::Quic };
    let before = wall_nanoseconds();
    batch(&mut tap, (1, 1), datagrams(1), echo);
    tap.late(mark, 123_456_789_012, b"late");
    for end in [TapEnd::Dropped, TapEnd::Gone, TapEnd::Stream] {
        tap.ended(Some(mark), end);
    }
    tap.ended(None, TapEnd::Gone);
    let mut octets = Vec::new();
    let records: Vec<Vec<u8>> =
        std::iter::from_fn(|| reader.read(&mut octets).then(|| octets.clone())).collect();
    let told: Vec<TapRecord<'_>> = records.iter().map(|record| TapRecord::read(record).unwrap()).collect();
    assert_eq!(told.len(), 5);
    let (answered, of_context) = (&told[0], context());
    assert_eq!((answered.client, answered.local), (of_context.client, of_context.local));
    assert_eq!((answered.outcome, answered.end, answered.row), (Tapped::Answered, None, None));
    assert_eq!((answered.transport, answered.is_proved, answered.is_early), (Transport::Tls, true, false));
    assert_eq!((answered.query, answered.query_octets), (&[1, 0, 0][..], 4));
    assert_eq!((answered.response, answered.response_octets), (&[1, 0, 0, 0][..], 4));
    assert_eq!(answered.one_in, 1);
    let after = wall_nanoseconds();
    assert!(before <= answered.taken && answered.taken + u64::from(answered.took) <= after);
    let of_row = TapRow { index: row.index(), generation: row.generation() };
    for (record, end) in
        told[1..].iter().zip([None, Some(TapEnd::Dropped), Some(TapEnd::Gone), Some(TapEnd::Stream)])
    {
        let outcome = if end.is_some() { Tapped::Ended } else { Tapped::LateResponse };
        assert_eq!((record.outcome, record.end, record.row), (outcome, end, Some(of_row)));
        assert_eq!((record.transport, record.one_in, record.took), (Transport::Quic, 77, 0));
        assert_eq!((record.client, record.local, record.query), (Address::NONE, Address::NONE, &[][..]));
    }
    assert_eq!(
        (told[1].taken, told[1].response, told[1].response_octets),
        (123_456_789_012, &b"late"[..], 4)
    );
    assert!(before <= told[2].taken && told[2].taken <= after && told[2].response.is_empty());

    for record in &records {
        assert!((0..record.len()).all(|octets| TapRecord::read(&record[..octets]).is_none()));
    }
    for (at, octet) in [(0, 8), (1, 5), (3, 1), (32, 0xff)] {
        let mut record = records[0].clone();
        record[at] = octet;
        assert!(TapRecord::read(&record).is_none(), "octet {at} is {octet}");
    }
}

/// A question to another server and what came of it: both or none, whatever the rate; and nothing for who does not want it.
#[test]
fn what_is_asked_of_others() {
    const ONE_IN: u32 = 100;
    let (mut tap, handle) = tap();
    let server: SocketAddr = "[2001:db8::53]:853".parse().unwrap();
    let exchange = |tap: &mut Tap| {
        for id in 0..=u16::MAX {
            tap.question(server, Transport::Tls, &id.to_be_bytes());
            tap.arrival(server, Transport::Tls, &id.to_be_bytes());
        }
        tap.question(server, Transport::Udp, b"!");
        tap.publish();
    };
    let mut reader = handle.attach(WHOLE).unwrap();
    tap.look();
    exchange(&mut tap);
    let mut octets = Vec::new();
    assert!(!reader.read(&mut octets), "it was not wanted");
    reader.change(Wants { one_in: ONE_IN, others: true, ..WHOLE });
    tap.look();
    let before = wall_nanoseconds();
    exchange(&mut tap);
    let (mut asked, mut came) = (Vec::new(), Vec::new());
    while reader.read(&mut octets) {
        let record = TapRecord::read(&octets).unwrap();
        assert_eq!((record.local, record.client), (server.into(), Address::NONE));
        assert_eq!((record.transport, record.row, record.one_in), (Transport::Tls, None, ONE_IN));
        assert!((before..=wall_nanoseconds()).contains(&record.taken));
        match record.outcome {
            Tapped::Question => asked.push(record.query.to_vec()),
            Tapped::Arrival => came.push(record.response.to_vec()),
            outcome => panic!("{outcome:?}"),
        }
    }
    assert_eq!(asked, came);
    assert_eq!(asked.len(), 65_536_usize.div_ceil(ONE_IN as usize));
    reader.change(Wants { others: true, ..WHOLE });
    tap.look();
    tap.question(server, Transport::Udp, b"!");
    tap.publish();
    assert!(reader.read(&mut octets), "one without an ID, where all are told");
}
