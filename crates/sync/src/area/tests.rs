#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn parts_are_disjoint_aligned_and_bounded() {
    let areas = Areas::with_limit(1);
    let mut area = areas.take().unwrap();
    assert!(areas.take().is_none());
    for round in 0..3u8 {
        let first = area.copy(b"abc").unwrap();
        let numbers = area.slice(5, 7u64).unwrap();
        let one = area.value(0x0102_0304u32).unwrap();
        let nothing = area.copy::<u64>(&[]).unwrap();
        let all = [first.as_ptr().addr(), numbers.as_ptr().addr(), std::ptr::from_ref(one).addr()];
        assert!(all[1].is_multiple_of(8) && all[2].is_multiple_of(4));
        assert!(all[0] + 3 <= all[1] && all[1] + 40 <= all[2], "{all:?}");
        first.fill(round);
        numbers[4] += 1;
        *one += 1;
        assert_eq!((&*first, &*numbers, *one), (&[round; 3][..], &[7, 7, 7, 7, 8][..], 0x0102_0305));
        assert!(nothing.is_empty());
        assert_eq!(area.slice(BLOCK_OCTETS, 0u8).unwrap_err(), Full);
        assert_eq!(area.slice(usize::MAX, 0u64).unwrap_err(), Full);
        let rest = area.free_octets();
        assert_eq!(area.slice(rest, 1u8).unwrap().len(), rest);
        assert_eq!((area.value(1u8).unwrap_err(), area.free_octets()), (Full, 0));
        area.clear();
    }
    drop(area);
    assert_eq!(areas.take().unwrap().free_octets(), BLOCK_OCTETS);
    assert_eq!(areas.made(), 1);
}

#[test]
fn one_thread_has_an_area() {
    let areas = Areas::with_limit(3);
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let areas = &areas;
            scope.spawn(move || {
                for _ in 0..2000 {
                    let Some(area) = areas.take() else { continue };
                    let part = area.slice(100, thread).unwrap();
                    std::hint::black_box(&mut *part);
                    assert!(part.iter().all(|&octet| octet == thread));
                }
            });
        }
    });
    assert!((1..=3).contains(&areas.made()));
    let all: Vec<_> = (0..3).map(|_| areas.take().unwrap()).collect();
    assert!(areas.take().is_none());
    drop(all);
    assert_eq!(Areas::new().0.take(Block::new).unwrap().0.len() * 16, BLOCK_OCTETS);
}

#[test]
fn an_area_that_lasts_keeps_its_pool() {
    let areas = Arc::new(Areas::with_limit(1));
    let area = areas.take_shared().unwrap();
    assert!(areas.take().is_none() && areas.take_shared().is_none());
    let other = Arc::clone(&areas);
    let thread = std::thread::spawn(move || {
        area.copy(b"moved").unwrap()[0] = b'M';
        area.free_octets()
    });
    assert_eq!(thread.join().unwrap(), BLOCK_OCTETS - 5);
    let again = other.take_shared().expect("given back by the other thread");
    drop((areas, other));
    assert_eq!(again.slice(3, 1u8).unwrap(), [1; 3]);
}
