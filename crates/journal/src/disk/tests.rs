//! The simulated disk loses what it should and nothing else; the system's does what the trait says.

use std::path::Path;

use super::simulated::{Faults, Simulated};
use super::{Disk, File, PAGE_OCTETS, System};

fn read(file: &dyn File) -> Vec<u8> {
    let mut octets = vec![0; file.octets().expect("a length") as usize];
    file.read_at(&mut octets, 0).expect("its content");
    octets
}

#[test]
fn the_system_keeps_to_the_trait() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| scratch.path().join(name);
    let file = System.create(&path("a")).expect("a file");
    assert!(System.create(&path("a")).is_err(), "one is there");
    file.write_at(b"hello", 3).expect("written");
    file.sync().expect("synced");
    assert_eq!(read(&*file), b"\0\0\0hello");
    file.reserve(8192).expect("room");
    file.set_octets(4).expect("cut off");
    System.rename(&path("a"), &path("b")).expect("renamed");
    System.sync_folder(scratch.path()).expect("synced");
    System.sync_all(scratch.path()).expect("synced");
    assert_eq!(System.names(scratch.path()).expect("names"), ["b"]);
    assert_eq!(read(&*System.open(&path("b")).expect("the file")), b"\0\0\0h");
    System.remove(&path("b")).expect("removed");
    assert!(System.open(&path("b")).is_err());
}

/// Past the system's cache or through it, whole pages or not: what is read is what was written last.
#[test]
fn what_is_written_and_synced_at_once_is_read() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let file = System.create(&scratch.path().join("a")).expect("a file");
    let mut expected = vec![0; 64 * PAGE_OCTETS];
    file.write_synced(&expected, 0).expect("written");
    let pages = [(0, 1), (3, 2), (3, 1), (17, 17), (2, 30)];
    let octets = pages.map(|(at, octets)| (at * PAGE_OCTETS, octets * PAGE_OCTETS));
    for (number, (at, octets)) in octets.into_iter().chain([(5, 7), (4096, 100), (9000, 4096)]).enumerate() {
        let new = vec![number as u8 + 1; octets];
        file.write_synced(&new, at as u64).expect("written");
        expected[at..at + octets].copy_from_slice(&new);
        assert_eq!(read(&*file), expected, "octets {at} to {}", at + octets);
        if number % 2 == 0 {
            file.write_at(b"beside", at as u64 + 1).expect("written");
            expected[at + 1..at + 7].copy_from_slice(b"beside");
        }
        file.forget();
    }
}

#[test]
fn what_is_synced_is_kept_and_the_rest_is_lost_at_times() {
    let (mut torn, mut lost, mut named) = (0, 0, 0);
    for seed in 0..200 {
        let disk = Simulated::new(seed);
        let file = disk.create(Path::new("f/a")).expect("a file");
        file.write_at(&[1; 2048], 0).expect("written");
        file.sync().expect("synced");
        disk.sync_folder(Path::new("f")).expect("synced");
        file.write_at(&[2; 1024], 512).expect("written");
        let _ = disk.create(Path::new("f/b"));
        let disk = disk.crash();
        let found = disk.content(Path::new("f/a")).expect("the synced file");
        assert!(found[..512].iter().chain(&found[1536..]).all(|octet| *octet == 1), "what was synced stays");
        let new = found.iter().filter(|octet| **octet == 2).count();
        torn += usize::from(new % 512 != 0);
        lost += usize::from(new < 1024);
        named += usize::from(disk.content(Path::new("f/b")).is_some());
    }
    assert!(torn > 20 && lost > 100 && named > 20 && named < 180, "{torn} {lost} {named}");
}

#[test]
fn after_a_sync_that_failed_the_next_one_lies() {
    let mut lost = 0;
    for seed in 0..100 {
        let disk = Simulated::new(seed);
        let file = disk.create(Path::new("f/a")).expect("a file");
        disk.sync_folder(Path::new("f")).expect("synced");
        disk.set_faults(Faults { sync: 1.0, ..Faults::default() });
        file.write_at(&[3; 512], 0).expect("written");
        assert!(file.sync().is_err());
        disk.set_faults(Faults::default());
        file.sync().expect("says it is there");
        assert_eq!(read(&*file), [3; 512], "and it is, in memory");
        let found = disk.crash().content(Path::new("f/a")).expect("the file");
        lost += usize::from(found != [3; 512]);
    }
    assert!(lost > 20, "{lost}");
}
