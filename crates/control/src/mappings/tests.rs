use std::collections::HashMap;
use std::io::Write;
use std::sync::Barrier;

use super::*;
use zone::{ContentsBuilder, Pack, PackBuilder, TextStamp, ZoneView};

/// A file of so many octets, none of them zero, and where it is.
fn file(octets: usize) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("file");
    File::create(&path).and_then(|mut file| file.write_all(&vec![7; octets])).expect("a file");
    (folder, path)
}

fn mapped(path: &Path) -> (Mapped, *const u8, usize) {
    let file = File::open(path).expect("the file");
    let Ok(Backing::Mapped(mapped)) = map(&file, path) else { panic!("not mapped") };
    let (start, octets) = (mapped.octets().as_ptr(), mapped.octets().len());
    (mapped, start, octets)
}

/// Reads octets that the compiler may think nothing of.
fn sum(mapped: &Mapped) -> u64 {
    std::hint::black_box(mapped.octets()).iter().map(|octet| u64::from(*octet)).sum()
}

#[test]
fn what_is_cut_off_is_zeros_and_says_so() {
    for left in [0, 1, 4096, 70_000] {
        let ((_folder, path), (_other_folder, other)) = (file(100_000), file(100_000));
        let ((one, ..), (two, ..)) = (mapped(&path), mapped(&other));
        let before = begun();
        assert_eq!((sum(&one), one.mapping().is_damaged()), (700_000, false));
        File::options().write(true).open(&path).and_then(|file| file.set_len(left)).expect("a shorter file");
        assert_eq!((sum(&one) < 700_000, one.mapping().is_damaged()), (true, true), "{left}");
        // All of it, also what the file still has.
        assert_eq!(sum(&one), 0, "{left}");
        assert!(begun() > before && settled().is_some_and(|now| now > before));
        assert_eq!((sum(&two), two.mapping().is_damaged()), (700_000, false), "{left}");
    }
}

#[test]
fn what_no_signal_says_the_length_does() {
    let (_folder, path) = file(100_000);
    let (map, ..) = mapped(&path);
    map.mapping().look();
    assert!(!map.mapping().is_damaged());
    // Within the last page.
    File::options().write(true).open(&path).and_then(|file| file.set_len(99_999)).expect("a shorter file");
    assert_eq!((sum(&map), map.mapping().is_damaged()), (699_993, false));
    map.mapping().look();
    assert_eq!((sum(&map), map.mapping().is_damaged()), (0, true));
    // Another file of this name is none of ours.
    let (_folder, path) = file(100_000);
    let (map, ..) = mapped(&path);
    let other = path.with_file_name("other");
    std::fs::write(&other, "short").and_then(|()| std::fs::rename(&other, &path)).expect("another file");
    map.mapping().look();
    assert_eq!((sum(&map), map.mapping().is_damaged()), (700_000, false));
}

#[test]
fn a_mapping_that_goes_leaves_no_row() {
    let (_folder, path) = file(10_000);
    for _ in 0..1000 {
        let (map, start, octets) = mapped(&path);
        let used = &ROWS[..USED.load(Ordering::Acquire)];
        assert!(
            row_of(used, start as usize).is_some() && row_of(used, start as usize + octets - 1).is_some()
        );
        drop(map);
    }
    // Of this thread's maps one at a time; other tests have a few.
    assert!(USED.load(Ordering::Acquire) < 200);
}

/// The table finds what a list of ranges does, whatever comes and goes meanwhile, and nothing made of two ranges.
#[test]
fn rows_are_found_like_in_a_list() {
    let rows: Vec<Row> = (0..8).map(|_| Row::empty()).collect();
    let mut model: HashMap<usize, (usize, usize)> = HashMap::new();
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    for _ in 0..20_000 {
        let at = random(8);
        // Ranges of different rows never overlap, as those of maps do not.
        let (start, octets) = (at * 1000 + random(500), random(500));
        rows[at].set(start, octets);
        model.insert(at, (start, octets));
        let address = random(9000);
        let found = row_of(&rows, address).map(|row| row.range().expect("nobody writes"));
        let expected = model.values().find(|(start, octets)| (*start..start + octets).contains(&address));
        assert_eq!(found, expected.copied(), "{address}");
    }
}

#[test]
fn no_range_is_made_of_two() {
    const ROUNDS: usize = 200_000;
    let (row, begin) = (Row::empty(), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            begin.wait();
            // As many octets as its begin says.
            (0..ROUNDS).for_each(|round| row.set(round % 7 + 1, round % 7 + 1));
        });
        begin.wait();
        for _ in 0..ROUNDS {
            assert!(row.range().is_none_or(|(start, octets)| start == octets));
        }
    });
}

/// A pack of a zone whose file is cut off is looked through: nothing is found, and nothing panics.
#[test]
fn a_pack_that_is_cut_off_has_no_zone() {
    use wire::NameBuf;
    use wire::iana::rtype;
    let apex: NameBuf = "lost.example".parse().expect("a name");
    let mut contents = ContentsBuilder::new(&apex);
    contents.push(&apex, false, rtype::SOA, 9, &[0; 22], Default::default()).expect("a record");
    let mut builder = PackBuilder::new(7);
    builder.add_zone(&contents.finish(), TextStamp::default()).expect("a zone");
    let built = Pack::open(builder.finish().expect("a pack")).expect("a pack");
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("pack");
    std::fs::write(&path, built.octets()).expect("a file");
    let (pack, _) = crate::system::map_pack(&path).expect("a pack");
    assert!(ZoneView::new(&pack, 0).is_some() && !pack.is_damaged());
    File::options().write(true).open(&path).and_then(|file| file.set_len(0)).expect("an empty file");
    assert!(ZoneView::new(&pack, 0).is_none() && pack.is_damaged());
    assert!(pack.apex(&pack.zone_row(0)).is_none());
}
