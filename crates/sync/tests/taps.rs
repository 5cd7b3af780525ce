//! Taps: records as they were written, dropped as a whole or there as a whole, with readers that come and go.

use std::thread;

use sync::tap::{Reader, Wants, ring};

const ALL: Wants = Wants { one_in: 1, query_octets: 512, response_octets: 4096, others: true };

fn read(reader: &mut Reader) -> Option<Vec<u8>> {
    let mut record = vec![0xff; 3];
    reader.read(&mut record).then_some(record)
}

/// Octets as they are in a record.
fn padded(octets: &[u8]) -> Vec<u8> {
    let mut octets = octets.to_vec();
    octets.resize(octets.len().next_multiple_of(8), 0);
    octets
}

/// What is read of a record of one part.
fn of(octets: &[u8]) -> Option<Vec<u8>> {
    Some(padded(octets))
}

#[test]
fn nobody_is_told_before_somebody_asks_or_after() {
    let (mut writer, tap) = ring(1024);
    assert_eq!(writer.wants(), None);
    let mut reader = tap.attach(ALL).expect("the first");
    assert!(tap.attach(ALL).is_none(), "one at a time");
    assert_eq!(writer.wants(), Some(ALL));
    assert!(writer.write([], [b"one"]));
    assert_eq!(read(&mut reader), None, "not published");
    writer.publish();
    assert!(writer.write([], [b"two"]));
    assert_eq!((read(&mut reader), read(&mut reader)), (of(b"one"), None));
    reader.change(Wants { one_in: 0, query_octets: 0, response_octets: u16::MAX, others: false });
    let wants = Wants { one_in: 1, query_octets: 0, response_octets: u16::MAX, others: false };
    assert_eq!(writer.wants(), Some(wants));
    drop(reader);
    assert_eq!(writer.wants(), None);
    assert!(writer.write([], [b"three"]));
    writer.publish();
    let mut reader = tap.attach(ALL).expect("the only one");
    assert_eq!(read(&mut reader), None, "what nobody was there for is not kept");
    assert!(writer.write([], [b"four"]));
    writer.publish();
    assert_eq!(read(&mut reader), of(b"four"));
}

/// The ring is no multiple of the records, so that each begins and ends at all its places.
#[test]
fn heads_and_parts_of_any_length_are_put_together() {
    let (mut writer, tap) = ring(256);
    let mut reader = tap.attach(ALL).expect("the first");
    let octets: Vec<u8> = (1..=60).collect();
    let head = [u64::MAX, 0x0807_0605_0403_0201];
    for (first, second) in (0..30).flat_map(|first| (first..60).map(move |second| (first, second))) {
        let parts = [&octets[..first], &octets[first..second], &octets[second..]];
        assert!(writer.write(head, parts));
        writer.publish();
        let expected = [vec![0xff; 8], (1..=8).collect(), parts.map(padded).concat()].concat();
        assert_eq!(read(&mut reader), Some(expected), "{first}, {second}");
    }
    assert!(writer.write([], []));
    writer.publish();
    assert_eq!((read(&mut reader), read(&mut reader)), (Some(Vec::new()), None));
}

#[test]
fn what_does_not_fit_is_dropped_as_a_whole_and_counted() {
    let (mut writer, tap) = ring(64);
    assert!(!writer.write([], [b"nobody is there"]));
    let mut reader = tap.attach(ALL).expect("the first");
    assert_eq!((reader.dropped(), tap.dropped()), (0, 1));
    assert!(!writer.write([], [&[1; 57]]), "a word of length and 57 octets");
    assert!(!writer.write([7], [&[1; 49]]) && !writer.write([], [&[1; 9], &[1; 41]]));
    assert!(writer.write([7; 6], [&[2]]));
    assert!(!writer.write([], []));
    writer.publish();
    assert!(!writer.write([], []), "not read yet");
    assert_eq!((read(&mut reader).map(|record| record.len()), read(&mut reader)), (Some(56), None));
    assert!(writer.write([], [&[3; 24]]) && writer.write([], [&[4; 24]]) && !writer.write([], []));
    writer.publish();
    assert_eq!((read(&mut reader), reader.dropped(), tap.dropped()), (of(&[3; 24]), 6, 7));
    assert!(writer.write([], [&[5; 9]]), "room of the one that was read");
    writer.publish();
    assert_eq!((read(&mut reader), read(&mut reader)), (of(&[4; 24]), of(&[5; 9])));
}

/// Records of a number and as many octets as it says, of which none is torn, doubled or out of order.
#[test]
fn readers_come_and_go_beside_a_writer() {
    const RECORDS: u32 = 200_000;
    let (mut writer, tap) = ring(4096);
    let (written, missed) = thread::scope(|scope| {
        let writing = scope.spawn(move || {
            let mut written = 0;
            for number in 0..RECORDS {
                let octets = [number as u8; 100];
                let part = &octets[..number as usize % 100];
                written += u32::from(writer.wants().is_some() && writer.write([number.into()], [part]));
                if number % 16 == 0 {
                    writer.publish();
                    thread::yield_now();
                }
            }
            writer.publish();
            written
        });
        let (mut last, mut seen, mut readers) = (None, 0, 0);
        while !writing.is_finished() {
            let mut reader = tap.attach(ALL).expect("one at a time");
            readers += 1;
            for _ in 0..5000 {
                let Some(record) = read(&mut reader) else {
                    thread::yield_now();
                    continue;
                };
                let (number, octets) = record.split_first_chunk().expect("a number");
                let number = u64::from_le_bytes(*number) as u32;
                assert!(last < Some(number), "{number} after {last:?}");
                assert_eq!(octets, padded(&vec![number as u8; number as usize % 100]));
                (last, seen) = (Some(number), seen + 1);
            }
        }
        println!("{seen} records seen by {readers} readers, {} dropped", tap.dropped());
        let written = writing.join().expect("no panic");
        (written, written - seen)
    });
    assert!(written > 0 && missed < written, "{missed} of {written} missed");
}
