//! Which log the history is of, and how far it has what that has: what a start need not bring again.
//!
//! ```text
//! 0..8 ZONDAHM\n | 8..24 identity of the log, zeros: none | 24..32 sum          written and synced when that is another
//! 512..520 group: all before it is in files | 520..528 sum                      written often and not synced; damaged, it says 0
//! ```

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{Disk, File};
use crate::octets::{Reader, put};
use crate::sum::{Identity, Key};

const MAGIC: [u8; 8] = *b"ZONDAHM\n";
const HEAD_OCTETS: usize = 32;
/// Where the group is: in another sector, so that writing it does no harm to the head.
const GROUP_AT: usize = 512;
const OCTETS: usize = GROUP_AT + 16;

pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("mark")
}

fn key() -> Key {
    Key::new(b"zonda's history ").at(1)
}

/// What the mark says: the log, and the group before which all is there. `None`: there is none, or it is damaged.
pub(super) fn read(disk: &dyn Disk, folder: &Path) -> io::Result<Option<(Identity, u64)>> {
    let file = match disk.open(&path(folder)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if file.octets()? < OCTETS as u64 {
        return Ok(None);
    }
    let mut octets = [0; OCTETS];
    file.read_at(&mut octets, 0)?;
    let (head, group) = (&octets[..HEAD_OCTETS], &octets[GROUP_AT..]);
    let is_sound = |octets: &[u8], sum_at: usize| {
        Reader::new(&octets[sum_at..]).u64() == Some(key().sum(&octets[..sum_at]))
    };
    let identity = head[8..].first_chunk::<16>();
    if !head.starts_with(&MAGIC) || !is_sound(head, HEAD_OCTETS - 8) {
        return Ok(None);
    }
    let group = Reader::new(group).u64().filter(|_| is_sound(group, 8)).unwrap_or(0);
    Ok(identity.map(|identity| (*identity, group)))
}

/// Makes one that says `identity` and group 0, durably, in place of the one that may be there.
pub(super) fn make(disk: &dyn Disk, folder: &Path, identity: &Identity) -> io::Result<Arc<dyn File>> {
    disk.make_folder(folder)?;
    let (path, new) = (path(folder), folder.join("mark.new"));
    match disk.remove(&new) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let file = disk.create(&new)?;
    let mut octets = vec![0; OCTETS];
    put(&mut octets, 0, &MAGIC);
    put(&mut octets, 8, identity);
    let sum = key().sum(&octets[..HEAD_OCTETS - 8]);
    put(&mut octets, HEAD_OCTETS - 8, &sum.to_le_bytes());
    put(&mut octets, GROUP_AT, &group_octets(0));
    file.write_at(&octets, 0)?;
    file.sync()?;
    disk.rename(&new, &path)?;
    disk.sync_folder(folder)?;
    Ok(file)
}

/// Says that all before `group` is in files.
pub(super) fn raise(file: &dyn File, group: u64) -> io::Result<()> {
    file.write_at(&group_octets(group), GROUP_AT as u64)
}

fn group_octets(group: u64) -> [u8; 16] {
    let mut octets = [0; 16];
    put(&mut octets, 0, &group.to_le_bytes());
    let sum = key().sum(&octets[..8]);
    put(&mut octets, 8, &sum.to_le_bytes());
    octets
}
