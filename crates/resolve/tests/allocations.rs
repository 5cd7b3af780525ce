//! Reading responses allocates nothing once there is room.
#![allow(unsafe_code)] // a counting allocator
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};

use resolve::response::{Asked, NEVER_SERVERS, Reader, Reply, Source};
use wire::header::{HEADER_OCTETS, u16_at};
use wire::question::Question;
use wire::{Name, NameBuf, Places};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's duties are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Messages of networks, each with the name that it asks for in lower case.
fn messages() -> Vec<(Vec<u8>, NameBuf)> {
    let packed: &[u8] = include_bytes!("../../../tests/data/packets.bin.zst");
    let mut octets = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(packed).unwrap().read_to_end(&mut octets).unwrap();
    let (mut rest, mut messages) = (octets.as_slice(), Vec::new());
    while let [high, low, tail @ ..] = rest {
        let (message, next) = tail.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        rest = next;
        if let Ok(question) = Question::read(message, &mut Places::new()) {
            let qname = Name::trusted(&message[HEADER_OCTETS..question.end - 4]).to_lowercase();
            messages.push((message.to_vec(), qname));
        }
    }
    messages
}

fn read_all(messages: &[(Vec<u8>, NameBuf)], reader: &mut Reader, reply: &mut Reply) -> usize {
    let mut sets = 0;
    for (octets, name) in messages {
        let qname = Name::trusted(&octets[HEADER_OCTETS..HEADER_OCTETS + name.octets().len()]);
        let asked = Asked {
            zone: Name::root(),
            qname,
            qtype: u16_at(octets, HEADER_OCTETS + name.octets().len()),
            full: name,
            id: u16_at(octets, 0),
            source: Source::Authority,
            has_edns: true,
            cookie: None,
            is_case_random: true,
            is_stream: false,
            not_servers: NEVER_SERVERS,
        };
        let _ = reader.read(&asked, octets, reply);
        sets += reply.answer.list().iter().count() + reply.referral.list().iter().count();
    }
    sets
}

#[test]
fn none() {
    let messages = messages();
    let (mut reader, mut reply) = (Reader::new(1), Reply::new());
    let sets = read_all(&messages, &mut reader, &mut reply);
    assert!(sets > 1_000, "responses are among them: {sets} sets");
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    assert_eq!(read_all(&messages, &mut reader, &mut reply), sets);
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
}
