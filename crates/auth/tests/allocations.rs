//! Answering allocates nothing, whatever is asked.
#![allow(unsafe_code)] // a counting allocator

use auth::access::{Access, Kind, List, ListSource, Prefix, Rule};
use auth::{Client, Responder, Server, Transport, inspect};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use wire::NameBuf;
use zone::Catalog;
use zone::catalog::Group;

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

#[test]
fn none() {
    let zones = [
        ("nsec.test", include_str!("../../../tests/data/zones/nsec.test.zone")),
        ("optout.test", include_str!("../../../tests/data/zones/optout.test.zone")),
    ];
    let catalog = inspect::catalog(&zones).unwrap_or_else(|error| panic!("{error}"));
    let mut queries = Vec::new();
    for (origin, _) in zones {
        for name in [
            "www",
            "absent",
            "a.b.c.absent",
            "x.cut",
            "x.signed",
            "q.wild",
            "q.walias",
            "x.dname",
            "ent",
            "chain1",
        ] {
            let name: NameBuf = format!("{name}.{origin}").parse().unwrap_or_else(|_| unreachable!());
            for qtype in [1, 2, 15, 28, 43, 65, 255] {
                queries.push(inspect::query(0, &name, qtype, Some((1232, true))));
                queries.push(inspect::query(0, &name, qtype, None));
            }
        }
    }
    let mut responder = Responder::new();
    let mut reader = catalog.reader();
    let servers = [Server::default(), restricted(&catalog)];
    let mut buffer = vec![0; 65535];
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let mut octets = 0;
    for (query, server) in queries.iter().flat_map(|query| servers.iter().map(move |server| (query, server)))
    {
        for transport in [Transport::Udp, Transport::Tcp] {
            octets += reader
                .with(|view| responder.answer(query, view, server, &Client::unknown(transport), &mut buffer));
        }
    }
    let counted = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert!(octets > 100 * queries.len(), "{octets}");
    assert_eq!(counted, 0, "allocations in {} answers", 4 * queries.len());
    assert!(responder.counters().refused_by_access_lists > 100);
}

/// A server with lists that have to be looked at, for all zones and for one, which keeps everybody out.
fn restricted(catalog: &Catalog) -> Server {
    let prefix = |text: &str, length| {
        let address = text.parse().unwrap_or_else(|_| unreachable!());
        Prefix::new(address, length).unwrap_or_else(|fault| panic!("{fault:?}"))
    };
    let prefixes = [("0.0.0.0", 0, false), ("10.0.0.0", 8, true), ("2001:db8::", 32, false)];
    let prefixes = prefixes.map(|(text, length, is_excluded)| (prefix(text, length), is_excluded)).into();
    let source = ListSource { prefixes, must_be_proved: false, ..ListSource::default() };
    let list = List::new(&source).unwrap_or_else(|fault| panic!("{fault:?}"));
    let mut defaults = [const { Rule::Nobody }; Kind::COUNT];
    defaults[Kind::Query as usize] = Rule::Lists([0].into());
    let groups = vec![[Some(Rule::Nobody), None, None, None, None]];
    let access = Access::new(vec![list], defaults, groups).unwrap_or_else(|fault| panic!("{fault:?}"));
    let name: NameBuf = "optout.test".parse().unwrap_or_else(|_| unreachable!());
    let slot = catalog.reader().with(|view| view.slot_named(&name)).unwrap_or_else(|| unreachable!());
    catalog.set_group(slot, Group::new(1, true));
    Server { access, ..Server::default() }
}
