//! Texts that were edited while their zones changed: what was edited goes on top of what is served.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, mpsc};

use change::serial::is_greater;
use change::{Edit, EditFault};
use wire::Name;
use zone::ZoneView;

use super::PATIENCE;
use super::kept::Old;
use super::state::Base;
use crate::controller::Controller;
use crate::dynamic::{EditDone, EditJob, NotEdited};
use crate::load::Loaded;
use crate::stamp::sum_of_file;

/// Octets of RDATA that differ, on both sides: what is more does not fit into one record of the log (journal.md 8) with names and heads.
const EDIT_OCTETS_MAX: usize = 8 << 20;

/// What became of a text that is not the one of before.
pub(crate) enum Edited {
    /// It says the same.
    Same,
    /// What was edited, of so many names, is served.
    Taken(usize),
    /// It is to be taken as a whole: nothing has changed since the one before.
    Whole,
}

impl Controller {
    /// Holds a text that was read against what it was, and has what was edited served. `name`: lower-case. The error: why not, and nothing is changed then.
    pub(crate) fn hold_against(&self, name: &Name, path: &Path, loaded: &Loaded) -> Result<Edited, String> {
        let known = self.texts.of(name);
        let mark = loaded.stamp.mark;
        let sum = match loaded.includes.is_empty() {
            true => File::open(path).and_then(|file| sum_of_file(&file)).unwrap_or(0),
            // It says nothing of those.
            false => 0,
        };
        // Written by us, before a crash perhaps, or touched.
        let same = [known.next, known.base].into_iter().flatten().find(|base| sum != 0 && base.sum == sum);
        if let Some(same) = same {
            self.note_same(name, Base { mark, ..same });
            return Ok(Edited::Same);
        }
        let unreadable = || "the zone cannot be read".to_owned();
        let new = ZoneView::new(&loaded.pack.pack, loaded.number).ok_or_else(unreadable)?;
        let serial = new.row().serial;
        // What was being written when the server was killed may be there or not.
        let base = known.next.filter(|next| !is_greater(next.serial, serial)).or(known.base);
        let old = self.old_text(name, base)?;
        let before = old.view().ok_or_else(unreadable)?;
        let edit = match Edit::between(&before, &new, EDIT_OCTETS_MAX) {
            Ok(edit) => edit,
            Err(fault) => return self.whole_instead(name, &old, &new, &NotEdited::Fault(fault)),
        };
        if edit.is_empty() && edit.serials().0 == edit.serials().1 {
            let (copy, serial) = base.map_or((0, before.row().serial), |base| (base.copy, base.serial));
            self.note_same(name, Base { mark, sum, copy, serial });
            return Ok(Edited::Same);
        }
        let names = edit.name_count();
        let copy = self.keep_copy(name, &new)?;
        match self.put_on_top(name, edit, Base { mark, sum, copy, serial }) {
            Ok(()) => Ok(Edited::Taken(names)),
            Err(why) => {
                self.drop_copy(name, copy);
                self.whole_instead(name, &old, &new, &why)
            }
        }
    }

    /// The text says what it said. Where that cannot be noted, as on a full disk, it is read again at the next look, and nothing is lost.
    fn note_same(&self, name: &Name, base: Base) {
        if let Err(error) = self.texts.change(name, |text| (text.base, text.next) = (Some(base), None)) {
            tracing::warn!(zone = %name, error, "zone {name}: {error}; its text, which says what it said, is read once more at the next reload");
        }
    }

    /// Has the changer do an edit. Once that is served it is what the text is held against.
    fn put_on_top(&self, name: &Name, edit: Edit, base: Base) -> Result<(), NotEdited> {
        let (tell, told) = mpsc::channel();
        let (texts, zone) = (Arc::clone(&self.texts), name.to_owned());
        let done = EditDone::new(move |result| {
            if result.is_ok()
                && let Err(error) = texts.change(&zone, |text| (text.base, text.next) = (Some(base), None))
            {
                tracing::error!(zone = %zone, error, "zone {zone}: {error}; after a restart what was edited in its text is done once more");
            }
            let _ = tell.send(result);
        });
        self.dynamic.edit(EditJob { zone: name.to_owned(), edit, done });
        told.recv_timeout(PATIENCE).unwrap_or(Err(NotEdited::NotNow))
    }

    /// Whether a text that cannot be one change is taken as a whole: nothing has changed since it was written, nothing can, and its serial is greater.
    fn whole_instead(
        &self,
        name: &Name,
        old: &Old,
        new: &ZoneView<'_>,
        why: &NotEdited,
    ) -> Result<Edited, String> {
        let is_one = matches!(why, NotEdited::Structure | NotEdited::TooLarge)
            || matches!(why, NotEdited::Fault(EditFault::TooLarge));
        let serial = new.row().serial;
        let old = old.view().map(|old| old.row().serial);
        let served = self.catalog.reader().with(|view| match view.view_of(view.slot_named(name)?)? {
            zone::catalog::View::Zone(zone) => Some(zone.row().serial),
            _ => None,
        });
        let is_frozen = self.texts.of(name).is_frozen;
        if is_one && is_frozen && served.is_some() && old == served && is_greater(serial, served.unwrap_or(0))
        {
            return Ok(Edited::Whole);
        }
        let way = match is_one {
            true => "; freeze the zone, edit its text with a greater serial, and thaw it",
            false => "",
        };
        Err(format!("{}{way}", words(why)))
    }

    /// A copy that nothing is known of goes.
    pub(super) fn drop_copy(&self, name: &Name, copy: u64) {
        let known = self.texts.of(name);
        let is_needed = [known.base, known.next].into_iter().flatten().any(|base| base.copy == copy);
        if let Some(path) = self.texts.copy_path(name, copy).filter(|_| !is_needed) {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn words(why: &NotEdited) -> String {
    match why {
        NotEdited::Fault(fault) => fault.to_string(),
        NotEdited::Structure => {
            "what was edited changes by what the zone proves that names are not there".into()
        }
        NotEdited::TooLarge => EditFault::TooLarge.to_string(),
        NotEdited::NotNow => "changes of the zone cannot be stored now".into(),
    }
}
