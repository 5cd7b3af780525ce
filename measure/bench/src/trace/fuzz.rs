//! The fuzzer's way in: any octets as a capture.

use std::{
    io::{self, Read},
    path::Path,
};

use super::{
    DNS_PORT, Message, Reader, Source, capture::Nanoseconds, message::Parts, report::Report, tally::Tally,
};
use crate::query::Query;

/// Most octets that the second reading gets at once: fewer than a header has, so that everything is cut somewhere.
const PIECE_OCTETS: usize = 7;

/// A message, kept.
type Seen = (Nanoseconds, Source, Vec<u8>, bool);

/// What a reading brought.
struct Outcome {
    reader: Reader,
    messages: Vec<Seen>,
    /// Where reading could not go on.
    fault: Option<String>,
}

/// Octets as a pipe gives them: some at a time.
struct Pieces<'a>(&'a [u8]);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(PIECE_OCTETS);
        self.0.read(&mut buffer[..room])
    }
}

fn read(input: impl Read + Send) -> Outcome {
    let mut reader = Reader::new(&[DNS_PORT]);
    let mut messages = Vec::new();
    let mut take = |message: &Message<'_>| {
        messages.push((message.time, message.source, message.octets.to_vec(), message.is_whole));
    };
    let fault = reader.read_from(input, Path::new("fuzz"), &mut take).err();
    reader.end(&mut take);
    Outcome { reader, messages, fault: fault.map(|fault| fault.to_string()) }
}

/// Reads `data` as a capture and checks what must hold of any octets: it matters not in what pieces they come, every
/// message is counted once and captured within the time of the trace, queries read back from their lines, and the
/// report has a text and JSON.
pub fn fuzz_capture(data: &[u8]) {
    let Outcome { reader, messages, fault } = read(data);
    let pieces = read(Pieces(data));
    assert!(messages == pieces.messages && fault == pieces.fault, "pieces differ");
    let (mut tally, packets) = (Tally::default(), reader.packets);
    for &(time, source, ref octets, is_whole) in &messages {
        assert!((packets.first..=packets.last).contains(&time), "a message of no packet");
        let start = packets.origin.expect("a message of a packet");
        let message = Message { start, time, source, octets, is_whole };
        let parts = Parts::read(&message);
        tally.add(&message, parts.as_ref());
        for query in parts.iter().flat_map(|parts| [parts.query(), parts.rebuilt_query()]).flatten() {
            let line = query.to_string();
            assert_eq!(Query::from_line(line.as_bytes()), Ok(Some(query)), "{line}");
        }
    }
    let counted = tally.requests.all.count + tally.responses.all.count + tally.short;
    assert_eq!(counted, messages.len() as u64, "messages that are not counted");
    for rebuild in [false, true] {
        let report = Report::new(&reader, &tally, rebuild, fault.iter().cloned().collect());
        assert!(!report.to_string().is_empty() && report.json().is_object());
    }
}
