//! Images of deltas as people look at them, without the server: which of them a start takes, and what is wrong with the others.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use journal::Recovery;
use journal::checkpoint::file_name;

use super::images::{Images, folder_of};
use crate::packs::StoredPack;
use crate::text::count;

/// Takes lines of text.
type Lines<'l> = &'l mut dyn FnMut(String);

/// Reads the images beside the log in `journal` as a start does. `faults`: a line for each that is damaged; `notes`: one for each zone that has some. The
/// error: the log cannot be read.
pub(crate) fn verify_images(
    journal: &Path,
    recovery: &Recovery,
    packs: Vec<Arc<StoredPack>>,
    faults: Lines<'_>,
    notes: Lines<'_>,
) -> std::io::Result<()> {
    let packs: HashMap<u64, Arc<StoredPack>> =
        packs.into_iter().map(|stored| (stored.pack.checksum(), stored)).collect();
    let mut images = Images::find(journal, recovery.identity());
    let path = |number| folder_of(journal).join(file_name(number)).display().to_string();
    for number in images.unread() {
        faults(format!("{}: damaged, or of another log: no start takes it", path(*number)));
    }
    let beginnings = images.look_through(recovery, &mut |checksum| packs.contains_key(&checksum))?;
    let is_whole = recovery.lost().is_empty();
    let mut zones: Vec<_> = images.put_in(&beginnings, &packs).collect();
    zones.sort_by_key(|(zone, _)| zone.to_string());
    for (zone, put) in zones {
        for number in &put.damaged {
            faults(format!(
                "{}: damaged: a start takes the changes of zone {zone} that it has from the log",
                path(*number)
            ));
        }
        let files = count(put.files, "image");
        notes(match &put.loaded {
            Some(loaded) if is_whole => format!(
                "zone {zone}: {files}; a start takes {} names that differ from them, serial {}, and what came behind from the log",
                loaded.chain.mark.rows(),
                loaded.writer.newest().row().serial
            ),
            Some(_) => format!("zone {zone}: {files}; no start takes them, as the log has lost something"),
            None if put.damaged.is_empty() => format!(
                "zone {zone}: {files}; none is of what the log comes by, all its changes are taken from there"
            ),
            None => format!("zone {zone}: {files}; all its changes are taken from the log"),
        });
    }
    Ok(())
}
