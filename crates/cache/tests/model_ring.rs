//! The ring under the model checker: whoever copies an entry while others are written over it finds out.

#![allow(dead_code)]

/// The checker's atomics in place of those of the standard library.
mod primitives {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

    /// The fence that is left out: the fault that must be found.
    pub(crate) static LEFT_OUT: std::sync::Mutex<Option<Ordering>> = std::sync::Mutex::new(None);

    pub(crate) fn fence(order: Ordering) {
        let left_out = *LEFT_OUT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if left_out.is_none_or(|left_out| format!("{left_out:?}") != format!("{order:?}")) {
            loom::sync::atomic::fence(order);
        }
    }

    pub(crate) fn zeroed(count: usize) -> Box<[AtomicU64]> {
        (0..count).map(|_| AtomicU64::new(0)).collect()
    }
}

#[path = "../src/ring.rs"]
mod ring;

use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use primitives::{LEFT_OUT, Ordering};
use ring::Ring;

/// Two words: the length with a number, the number.
fn entry(number: u64) -> Vec<u8> {
    [2 | number << 16, number].iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A ring of two entries: the first is read through its slot while the third is written over it.
fn overwritten_while_read() {
    let (ring, mut head) = Ring::new(4);
    let first = ring.append(&mut head, &entry(1));
    ring.append(&mut head, &entry(2));
    let shared = Arc::new((ring, AtomicU64::new(first)));
    let reader = {
        let shared = Arc::clone(&shared);
        loom::thread::spawn(move || {
            let (ring, slot) = &*shared;
            let mut copied = Vec::new();
            let place = slot.load(Ordering::Acquire);
            if let Some(octets) = ring.copy(place, &mut copied) {
                assert!([entry(1), entry(3)].contains(&copied[..octets].to_vec()), "torn");
                assert_eq!(copied[..octets] == entry(1)[..], place == first, "another entry's place");
            }
        })
    };
    let (ring, slot) = &*shared;
    ring.advance_tail(ring.beyond(first, 2));
    let third = ring.append(&mut head, &entry(3));
    slot.store(third, Ordering::Release);
    assert!(reader.join().is_ok());
}

#[test]
fn readers_never_see_two_entries() {
    loom::model(overwritten_while_read);
    for order in [Ordering::Release, Ordering::Acquire] {
        *LEFT_OUT.lock().expect("nobody panics with it") = Some(order);
        let found = std::panic::catch_unwind(|| loom::model(overwritten_while_read));
        assert!(found.is_err(), "without the fence {order:?}");
        *LEFT_OUT.lock().expect("nobody panics with it") = None;
    }
}
