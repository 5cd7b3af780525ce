//! Texts of zones that change in place: written back, frozen, and held against what they were. `docs/design/texts.md` is the design.
//!
//! ```text
//! texts/HASH.state       what is known of a zone's text: frozen, marks, sums
//! texts/HASH-SUM.zone    T0, the text as it was read or written last, where no pack has it
//! ```
//!
//! * [`state`]: what is known, in memory and on the disk; [`kept`]: copies of texts.
//! * [`print`]: a zone as text; [`sync`]: texts written; [`edited`]: texts that were edited; [`freeze`]: zones that take no updates meanwhile.

mod edited;
mod freeze;
mod kept;
mod print;
mod state;
mod sync;

pub(crate) use edited::Edited;
pub(crate) use state::Texts;
pub(crate) use sync::Written;

use std::path::PathBuf;

use wire::Name;
use zone::catalog::View;

use crate::controller::{Controller, is_beside_text};
use crate::dynamic::Told;
use crate::sources::Source;

/// How long a command waits for the changer: some syncs of a busy disk.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

impl Controller {
    /// The file that a zone was read from, which the operator owns. The error: it has none, in words.
    fn text_path(&self, name: &Name) -> Result<PathBuf, String> {
        self.expect_of_no_store(name)?;
        let zones = self.zones.read();
        let found = self.catalog.reader().with(|view| {
            let slot = zones.slot(view, name)?;
            let is_pack = zones.is_operators_pack(view, slot);
            let has_data = matches!(view.view_of(slot), Some(View::Zone(_)));
            Some((zones.source(slot, name), is_pack, has_data))
        });
        match found {
            None => Err(format!("there is no zone {name}")),
            Some((_, _, false)) => Err(format!("zone {name} has no data")),
            Some((_, true, _)) => Err(format!("zone {name} comes from a pack, and has no text")),
            Some((Some(Source::File(path)), ..)) => Ok(path),
            Some((Some(source), ..)) => Err(format!("zone {name} comes from {source}, and has no text")),
            Some((None, ..)) => Err(format!("zone {name}: it is not known yet where it comes from")),
        }
    }

    /// Whether a zone has changed in place since its pack was made.
    pub(crate) fn has_changed(&self, name: &Name) -> bool {
        self.catalog.reader().with(|view| {
            let slot = view.slot_named(name);
            matches!(slot.and_then(|slot| view.view_of(slot)), Some(View::Zone(zone)) if is_beside_text(&zone))
        })
    }

    /// Has the changer do something, and waits for it. The error: it did not, or not in time.
    fn ask_changer(&self, ask: impl FnOnce(Told)) -> Result<(), String> {
        let (tell, told) = std::sync::mpsc::channel();
        ask(Told::new(move |result| {
            let _ = tell.send(result.is_ok());
        }));
        match told.recv_timeout(PATIENCE) {
            Ok(true) => Ok(()),
            Ok(false) if !self.dynamic.is_running() => {
                Err("no zone can be changed: there is no `pack-directory` that can be written".into())
            }
            Ok(false) => Err("changes cannot be stored now; see the log".into()),
            Err(_) => Err("the disk has not written what waits for it; try again".into()),
        }
    }
}
