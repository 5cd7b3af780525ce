//! Zones that have been changed beside their texts, and whose changes are in no pack any more: it was damaged, or removed by hand. Of a zone at rest the log has nothing
//! that a start needs, so what is left of it looks like a zone that never changed.
//!
//! ```text
//! T0 of a zone is kept beside the packs (texts)     and what is served is its text, read anew: what updates had done is gone
//! the log or the history ends with a serial         and what is served is an older one: an older pack has the zone too
//! ```
//!
//! Such a zone is served as it can be, and is a fault: no updates, which would use serials a second time, until an operator has accepted that.

use std::collections::HashMap;

use change::serial::is_greater;
use wire::{Name, NameBuf};
use zone::catalog::View;

use super::Controller;
use super::zones::{Zones, is_beside_text};
use crate::load::Job;
use crate::packs::PackFolder;
use crate::sources::Source;

const IS_TEXT: &str = "the pack that had what updates changed of it is damaged or gone";

impl Controller {
    /// Zones that are served without what they were changed by, and why; they take no updates from now on. To be called once what the log has is shown. `rested`: serials
    /// with which the log says that zones are at rest.
    pub(crate) fn find_missing(&self, rested: &HashMap<NameBuf, u32>) -> HashMap<NameBuf, String> {
        let mut missing = HashMap::new();
        let mut served_below = |name: &NameBuf, serial: u32| {
            if self.fault_of(name).is_none()
                && self.at_rest_with(name).is_some_and(|served| is_greater(serial, served))
            {
                let why = format!("{IS_TEXT}: it had serial {serial}, and an older pack is served");
                missing.insert(name.clone(), why);
            }
        };
        rested.iter().for_each(|(name, serial)| served_below(name, *serial));
        let beside = self.texts.beside();
        // Reading histories takes its time, and where no pack is known to be damaged there is none to be missed but by hand.
        if self.folder().is_some_and(PackFolder::has_damaged) {
            for name in &beside {
                self.historian.last_serial(name).into_iter().for_each(|serial| served_below(name, serial));
            }
        }
        for name in beside {
            let is_known = self.fault_of(&name).is_some() || self.is_secondary(&name);
            if !is_known && self.has_data(&name) && !self.has_changed(&name) {
                missing.insert(name, IS_TEXT.to_owned());
            }
        }
        for (name, why) in &missing {
            say(name, why);
            self.set_fault(name, Some(why.clone()));
        }
        missing
    }

    /// The serial of a zone that has a text, and is at rest with changes beside that.
    fn at_rest_with(&self, name: &Name) -> Option<u32> {
        // Of others nothing is kept.
        if self.is_secondary(name) || self.texts.of(name).base.is_none() {
            return None;
        }
        self.catalog.reader().with(|view| match view.view_of(view.slot_named(name)?)? {
            View::Zone(zone) if is_beside_text(&zone) && !zone.is_changed() => Some(zone.row().serial),
            _ => None,
        })
    }

    /// The text of a zone is about to be served, as nothing else of it is: all is well if it never was anything else. What was known of the text is forgotten only then.
    pub(super) fn look_for_missing(&self, zones: &mut Zones, job: &Job) {
        let name = job.name.to_lowercase();
        let was_changed = self.texts.of(&name).base.is_some();
        let is_expected = matches!(job.source, Source::Primaries(_)) || zones.gone.has(&name);
        if !was_changed || is_expected {
            return self.forget_text(&name);
        }
        zones.faults.entry(name).or_insert_with_key(|name| {
            say(name, IS_TEXT);
            IS_TEXT.to_owned()
        });
    }

    /// An operator goes on with what is served of a zone, which is all there is.
    pub(crate) fn accept_missing(&self, name: &Name) {
        if !self.has_changed(name) {
            self.forget_text(name);
        }
        self.historian.begin_anew(name);
        self.set_fault(name, None);
    }
}

fn say(name: &Name, why: &str) {
    tracing::error!(zone = %name, "zone {name}: {why}; it is served as it can be read, and not updated until `zonda ctl thaw --accept-loss {name}`");
}
