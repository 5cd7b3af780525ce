//! What the catalog takes of memory for each zone, packs left out.
#![allow(unsafe_code)] // a counting allocator
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use wire::NameBuf;
use wire::iana::rtype;
use zone::catalog::ViewSource;
use zone::contents::SourcePosition;
use zone::{Catalog, ContentsBuilder, Pack, PackBuilder, TextStamp, ZoneView};

static HEAP: AtomicI64 = AtomicI64::new(0);

struct Counting;

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HEAP.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's duties are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HEAP.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// So many that what is taken in chunks is little.
const ZONES: usize = 100_000;

fn pack(apex: impl Fn(usize) -> String) -> Arc<Pack> {
    let mut builder = PackBuilder::new(1);
    for at in 0..ZONES {
        let apex: NameBuf = apex(at).parse().unwrap();
        let mut contents = ContentsBuilder::new(&apex);
        let soa = [&[0; 2][..], &[0; 20]].concat();
        for (rtype, rdata) in [(rtype::SOA, &soa[..]), (rtype::NS, &[0][..])] {
            contents.push(&apex, false, rtype, 60, rdata, SourcePosition::default()).unwrap();
        }
        builder.add_zone(&contents.finish(), TextStamp::default()).map_err(|_| "a zone").unwrap();
    }
    Arc::new(Pack::open(builder.finish().unwrap()).unwrap())
}

/// Octets a zone when all zones are added at once, and when they are added one by one.
fn octets(pack: &Arc<Pack>, together: usize) -> f64 {
    let catalog = Catalog::new(1);
    let before = HEAP.load(Ordering::Relaxed);
    let hold = catalog.add_pack(Arc::clone(pack));
    let zones: Vec<u32> = (0..pack.zone_count()).collect();
    for some in zones.chunks(together) {
        let shown = some
            .iter()
            .map(|&zone| (ZoneView::new(pack, zone).unwrap().apex(), ViewSource::Pack(hold.number(), zone)));
        catalog.insert(&shown.collect::<Vec<_>>());
        catalog.domain().collect();
    }
    (HEAP.load(Ordering::Relaxed) - before) as f64 / ZONES as f64
}

#[test]
fn forty_octets_a_zone() {
    for pack in [pack(|at| format!("z{at}.test")), pack(|at| format!("z.p{at}.test"))] {
        for together in [ZONES, 997] {
            let octets = octets(&pack, together);
            assert!((25.0..=40.0).contains(&octets), "{octets} octets a zone, {together} together");
        }
    }
}
