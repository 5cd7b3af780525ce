//! A query costs no allocation: counted by an allocator that counts, over everything the process does.
#![allow(unsafe_code)] // An allocator that counts and hands on; tests only.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use common::{address, framed, serve, tcp, udp};
use net::{Backend, Listen};

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

/// Allocations of the whole process while `act` runs, which makes none itself.
fn allocations(act: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    act();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// One test, because tests of one program run side by side and would count each other's allocations.
#[test]
fn queries_cost_no_allocation() {
    assert!(allocations(|| drop(std::hint::black_box(vec![1_u8; 100]))) > 0, "the counter counts");
    for (backend, wildcard) in [(Backend::Mmsg, false), (Backend::Mmsg, true), (Backend::Portable, false)] {
        let at = if wildcard { "0.0.0.0:0" } else { "127.0.0.1:0" };
        let running = serve(&Listen { backend, ..common::on(at) });
        let client = udp(([127, 0, 0, 1], address(&running).port()).into());
        let mut buffer = [0; 512];
        let mut rounds = |count: usize| {
            for _ in 0..count {
                for number in 0..20_u8 {
                    client.send(&[number; 40]).unwrap();
                }
                for _ in 0..20 {
                    assert_eq!(client.recv(&mut buffer).unwrap(), 40);
                }
            }
        };
        // The first datagram may meet things that are set up lazily, in the standard library for instance.
        rounds(1);
        assert_eq!(
            allocations(|| rounds(500)),
            0,
            "10,000 queries over UDP, {backend:?}, wildcard: {wildcard}"
        );
    }

    let running = serve(&common::local());
    let mut client = tcp(address(&running));
    let octets = framed(&[7; 40]).repeat(20);
    let mut buffer = [0; 20 * 42];
    let mut rounds = |count: usize| {
        for _ in 0..count {
            client.write_all(&octets).unwrap();
            client.read_exact(&mut buffer).unwrap();
        }
    };
    rounds(1);
    assert_eq!(allocations(|| rounds(500)), 0, "10,000 queries over one TCP connection");
}
