//! Memory does not depend on how many records are read: counted by an allocator that counts.
#![allow(unsafe_code)] // An allocator that counts and hands on; tests only.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use wire::Name;
use zonefile::{Buffers, NoIncludes, Options, Record, Source};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is handed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's duty is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, octets: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, octets) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations while `text` is read.
fn allocations(text: &str, buffers: &mut Buffers) -> u64 {
    let mut records = 0;
    let mut sink = |_: &Record<'_>| {
        records += 1;
        Ok(())
    };
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let source = Source { name: String::new(), input: Box::new(text.as_bytes()) };
    let summary =
        zonefile::read_with(buffers, source, &Options::new(Name::root()), &mut NoIncludes, &mut sink);
    let after = ALLOCATIONS.load(Ordering::Relaxed);
    assert_eq!(summary.unwrap().records, records);
    after - before
}

/// One test, because tests of one program run side by side and would count each other's allocations.
#[test]
fn records_cost_no_allocation() {
    let root = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/root.zone")).unwrap();
    let lines = "x.example. 60 TXT \"a\" b\\\"c ( ; comment\n d )\n 60 A 192.0.2.1\n 60 MX 10 mail\n 60 CAA 0 issue \"a\"\n\
                 y 60 NSEC z A CAA\n 60 SRV 1 2 3 a\n 60 SOA a b 1 2 3 4 5\n 60 AAAA ::1\n";
    for text in [&root[..], lines] {
        let few = allocations(text, &mut Buffers::new());
        assert!(few > 0 && few < 40, "{few}");
        assert_eq!(allocations(&text.repeat(20), &mut Buffers::new()), few);
    }
    // The name, a list of one file, and what reads the text: all else is there.
    let mut buffers = Buffers::new();
    allocations(lines, &mut buffers);
    assert!(allocations(lines, &mut buffers) <= 6);
}
