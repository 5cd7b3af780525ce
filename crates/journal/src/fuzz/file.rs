//! A sound checkpoint file with octets changed and its checksums made right again: it is read to its end, or to where it is damaged. For fuzzing.
//!
//! The input is a list of changes of three octets: place (16 bits, little-endian, taken modulo the length), new octet. The octet in front of them says
//! whether checksums are made right.

use std::io::{Read, Write};
use std::sync::{Arc, OnceLock};

use super::{IDENTITY, folder, put, zone};
use crate::anchor::{FileMark, Kind};
use crate::checkpoint::{Checkpoint, Head, Writer, file_name, mend};
use crate::disk::Disk;
use crate::disk::simulated::Simulated;

const NUMBER: u64 = 3;
/// Octets of what each entry has: less than a chunk, and none.
const OCTETS: [usize; 3] = [300, 0, 1000];

/// The octets of a file with some entries.
fn sound() -> &'static [u8] {
    static SOUND: OnceLock<Vec<u8>> = OnceLock::new();
    SOUND.get_or_init(|| {
        let simulated = Simulated::new(1);
        let disk: Arc<dyn Disk> = Arc::new(simulated.clone());
        disk.make_folder(&folder()).expect("a disk that works");
        let mut writer = Writer::create(disk, &folder(), NUMBER, &IDENTITY).expect("a new file");
        for (at, octets) in OCTETS.into_iter().enumerate() {
            let head = Head { zone: zone(at), kind: 1, pack: 1, pack_checksum: 2, group: 3, serial: 4 };
            let mut entry = writer.begin(head);
            entry.write_all(&vec![at as u8; octets]).expect("a disk that works");
            entry.end().expect("a disk that works");
        }
        writer.finish().expect("a disk that works");
        simulated.content(&folder().join(file_name(NUMBER))).expect("a file")
    })
}

/// Entries that can be read, and octets that these have.
fn read(octets: &[u8]) -> (usize, usize) {
    let disk = Simulated::new(1);
    disk.make_folder(&folder()).expect("a disk that works");
    put(&disk, &folder().join(file_name(NUMBER)), octets);
    let mark = FileMark { kind: Kind::Checkpoint, number: NUMBER, checksum: 0, octets: 0, last_group: 0 };
    let (mut entries, mut count) = (0, 0);
    let Ok(mut file) = Checkpoint::open(&disk, &folder(), &mark, &IDENTITY) else { return (0, 0) };
    std::hint::black_box(file.file_checksum());
    while let Ok(Some(mut entry)) = file.next_entry() {
        let mut content = Vec::new();
        std::hint::black_box(entry.head.zone.to_string());
        if entry.read_to_end(&mut content).is_ok() {
            (entries, count) = (entries + 1, count + content.len());
        }
    }
    std::hint::black_box(file.checksum());
    (entries, count)
}

/// One input.
pub(super) fn fuzz_file(data: &[u8]) {
    let Some((how, changes)) = data.split_first() else { return };
    let mut octets = sound().to_vec();
    for change in changes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % octets.len();
        octets[place] = change[2];
    }
    if how % 2 == 1 {
        mend(&mut octets, NUMBER, &IDENTITY);
    }
    let (entries, count) = read(&octets);
    assert!(entries <= octets.len() / 48 && count <= octets.len(), "no octet is given twice");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn any_change_of_a_file_is_survived(how in 0u8..2, changes in proptest::collection::vec((any::<u16>(), any::<u8>()), 0..6)) {
            let mut data = vec![how];
            for (at, octet) in changes {
                data.extend(at.to_le_bytes());
                data.push(octet);
            }
            fuzz_file(&data);
        }
    }

    #[test]
    fn a_sound_file_has_all_and_a_changed_one_is_mended() {
        let all = (OCTETS.len(), OCTETS.iter().sum());
        assert_eq!(read(sound()), all);
        let mut octets = sound().to_vec();
        let at = octets.len() - 60;
        octets[at] ^= 1;
        assert_ne!(read(&octets), all);
        mend(&mut octets, NUMBER, &IDENTITY);
        assert_eq!(read(&octets), all, "another content, with its checksum");
    }
}
