use super::super::kept::Kept;
use super::*;
use journal::disk::Disk;
use journal::disk::simulated::Simulated;
use std::path::PathBuf;
use std::sync::Arc;

/// What it is of, with its file: each change is kept at once.
struct Beside {
    owned: Owned,
    file: Kept,
}

impl std::ops::Deref for Beside {
    type Target = Owned;

    fn deref(&self) -> &Owned {
        &self.owned
    }
}

impl Beside {
    fn none() -> Beside {
        Beside { owned: Owned::default(), file: Kept::new("owned", LinesFile::new(NAMES), true) }
    }

    fn read(place: &Place) -> io::Result<(Beside, Found)> {
        let (owned, file, found) = Owned::read(place)?;
        Ok((Beside { owned, file: Kept::new("owned", file, true) }, found))
    }

    fn keep(&mut self, place: &Place) {
        let (waiting, lines) = (self.owned.take_waiting(), self.owned.lines());
        let kept = self.file.keep(Some(place), || waiting, || lines);
        self.owned.kept(place, kept);
    }

    fn note(&mut self, place: &Place, number: Option<u8>, known: Known) -> Option<u8> {
        let number = self.owned.note(number, known);
        self.keep(place);
        number
    }

    fn add<'n>(&mut self, place: &Place, number: u8, zones: impl Iterator<Item = &'n Name>) {
        self.owned.add(number, zones);
        self.keep(place);
    }

    fn strike<'n>(&mut self, place: &Place, zones: impl Iterator<Item = &'n Name>) {
        self.owned.strike(zones);
        self.keep(place);
    }
}

fn place(disk: &Simulated) -> Place {
    Place { disk: Arc::new(disk.clone()), folder: PathBuf::from("packs") }
}

fn known(name: &str) -> Known {
    let identity = "0123456789abcdef0123456789abcdef".into();
    Known { identity, name: name.into(), url: format!("sqlite:/a path/{name}").into() }
}

fn name(number: usize) -> NameBuf {
    NameBuf::from_text(&format!("z{number}.example")).unwrap()
}

fn zones(owned: &Owned) -> Vec<String> {
    let mut zones: Vec<String> = owned.iter().map(|(zone, number)| format!("{number} {zone}")).collect();
    zones.sort();
    zones
}

#[test]
fn what_is_noted_is_found_again() {
    let disk = Simulated::new(1);
    let place = place(&disk);
    let (mut owned, found) = Beside::read(&place).unwrap();
    assert_eq!(found, Found::default());
    assert_eq!(owned.note(&place, None, known("a")), Some(0));
    assert_eq!(owned.note(&place, None, Known { identity: "f".into(), ..known("b") }), Some(1));
    owned.add(&place, 0, [name(1), name(2)].iter().map(|name| &**name));
    owned.add(&place, 1, [name(3)].iter().map(|name| &**name));
    owned.strike(&place, [name(2), name(9)].iter().map(|name| &**name));
    let (again, found) = Beside::read(&place).unwrap();
    assert_eq!(zones(&again), ["0 z1.example.", "1 z3.example."]);
    assert_eq!((found.lines, found.unreadable), (6, 0));
    assert_eq!((again.count(0), again.count(1), again.of(&name(3))), (1, 1, Some(1)));
    assert_eq!(again.with_identity("f"), Some(1));
    // By their addresses, or by their names.
    let section = |(name, path): &(&str, &str)| (StoreName::new(name).unwrap(), format!("sqlite:/{path}"));
    let sections = |all: &[(&str, &str)]| again.sections(&all.iter().map(section).collect::<Vec<_>>());
    assert_eq!(sections(&[("a", "other"), ("renamed", "a path/b"), ("c", "c")]), [Some(0), Some(1), None]);
    assert_eq!(
        sections(&[("a", "a path/b"), ("b", "a path/a")]),
        [Some(1), Some(0)],
        "names that were exchanged"
    );
    assert_eq!(
        sections(&[("a", "new"), ("old", "a path/a")]),
        [None, Some(0)],
        "one that has the name of another"
    );
    assert_eq!(sections(&[("a", "a path/b")]), [Some(1)]);
    owned.note(&place, None, Known { identity: "c".into(), ..known("c") });
    assert_eq!(
        owned.sections(&[section(&("a", "a path/c"))]),
        [Some(0)],
        "nothing is left of what was there"
    );
}

/// Whatever a crash leaves, at any call: what was acknowledged is there, and of what was not nothing but whole lines.
#[test]
fn power_that_fails() {
    for calls in 0..60 {
        let disk = Simulated::new(calls as u64);
        let before = place(&disk);
        let mut owned = Beside::none();
        disk.fail_after(calls);
        let mut acknowledged = Vec::new();
        owned.note(&before, None, known("a"));
        for number in 0..12 {
            match number % 4 {
                3 => owned.strike(&before, [&*name(number - 1)].into_iter()),
                _ => owned.add(&before, 0, [&*name(number)].into_iter()),
            }
            if owned.problem().is_none() && !disk.has_failed() {
                acknowledged = zones(&owned);
            }
        }
        let left = disk.crash();
        let after = place(&left);
        let (mut again, found) = Beside::read(&after).unwrap();
        assert!(!found.is_aside, "{calls}");
        let found = zones(&again);
        let last = found.len().abs_diff(acknowledged.len());
        let is_next = found != acknowledged && last <= 1;
        assert!(found == acknowledged || is_next, "{calls}: {found:?}, acknowledged {acknowledged:?}");
        // And it goes on.
        again.note(&after, again.with_identity(&known("a").identity), known("a"));
        again.add(&after, 0, [&*name(99)].into_iter());
        let expected = zones(&again);
        let (once_more, found) = Beside::read(&after).unwrap();
        assert_eq!((zones(&once_more), found.unreadable), (expected, 0), "{calls}");
    }
}

#[test]
fn damaged_lines_and_files_of_others() {
    let put = |text: &str| {
        let disk = Simulated::new(3);
        let file = disk.create("packs/owned".as_ref()).unwrap();
        file.write_at(text.as_bytes(), 0).unwrap();
        disk
    };
    let disk = put(
        "zonda owned 1\n= 0 id a url\n+ 0 one.example.\n+ 7 two.example.\n+ 0 a..b\n\u{7}\n= 9 x y z\n+ 0 two.example.\n+ 0 half",
    );
    let (mut owned, found) = Beside::read(&place(&disk)).unwrap();
    assert_eq!((found.lines, found.unreadable), (3, 4));
    assert_eq!(zones(&owned), ["0 one.example.", "0 two.example."]);
    owned.keep(&place(&disk));
    let (_, found) = Beside::read(&place(&disk)).unwrap();
    assert_eq!((found.lines, found.unreadable), (3, 0));
    let disk = put("zonda owned 2\n? what\n");
    let (owned, found) = Beside::read(&place(&disk)).unwrap();
    assert!(found.is_aside && zones(&owned).is_empty());
    assert!(disk.content("packs/owned.damaged".as_ref()).unwrap().ends_with(b"? what\n"));
    let (_, found) = Beside::read(&place(&put("zonda ow"))).unwrap();
    assert_eq!(found, Found::default());
}
