//! Zones that take no updates while their texts are edited by hand.

use wire::Name;

use super::sync::Written;
use crate::controller::{By, Changing, Controller, Scope};

impl Controller {
    /// Refuses updates of a zone from now on, and writes its text. The error: it is as it was before.
    pub(crate) fn freeze(
        &self,
        changing: &mut Changing,
        name: &Name,
        force: bool,
    ) -> Result<Written, String> {
        let name = &*name.to_lowercase();
        self.text_path(name)?;
        let was_frozen = self.texts.of(name).is_frozen;
        if !was_frozen {
            self.texts.change(name, |text| text.is_frozen = true)?;
            // What was edited before is taken in before anything is written over it.
            self.texts.set_thawing(Some(name.to_owned()));
        }
        let written = self
            .ask_changer(|told| self.dynamic.barrier(name.to_owned(), told))
            .and_then(|()| self.freeze_text(changing, name, was_frozen, force));
        self.texts.set_thawing(None);
        match written {
            Ok(written) => {
                if !was_frozen {
                    tracing::info!(zone = %name, "zone {name}: frozen; it takes no updates until it is thawed");
                }
                Ok(written)
            }
            Err(error) if was_frozen => Err(error),
            Err(error) => match self.texts.change(name, |text| text.is_frozen = false) {
                Ok(()) => Err(format!("{error}; zone {name} is not frozen")),
                Err(more) => Err(format!("{error}; {more}; zone {name} is frozen")),
            },
        }
    }

    fn freeze_text(
        &self,
        changing: &mut Changing,
        name: &Name,
        was_frozen: bool,
        force: bool,
    ) -> Result<Written, String> {
        if !was_frozen {
            let change = self.look_again(changing, &[name], Scope::All, By::Command);
            if !change.failed.is_empty() && !force {
                return Err(change.errors.join("\n"));
            }
        }
        self.sync_text(changing, name, force)
    }

    /// Reads the text of a frozen zone, serves what was edited, and lets updates in again. The error: it stays frozen.
    pub(crate) fn thaw(
        &self,
        changing: &mut Changing,
        name: &Name,
    ) -> Result<crate::controller::Change, String> {
        let name = &*name.to_lowercase();
        if !self.texts.of(name).is_frozen {
            return Err(match self.has_zone(name) {
                true => format!("zone {name} is not frozen"),
                false => format!("there is no zone {name}"),
            });
        }
        let mut change = crate::controller::Change::default();
        // One that the settings have no more has no text.
        if self.has_zone(name) {
            self.texts.set_thawing(Some(name.to_owned()));
            change = self.look_again(changing, &[name], Scope::All, By::Command);
            self.texts.set_thawing(None);
        }
        if !change.failed.is_empty() {
            change.errors.push(format!("zone {name} stays frozen"));
            return Ok(change);
        }
        self.texts.change(name, |text| text.is_frozen = false)?;
        tracing::info!(zone = %name, "zone {name}: thawed; it takes updates again");
        Ok(change)
    }

    /// Goes on with a zone whose changes in the log do not fit together, as it is served.
    pub(crate) fn accept_loss(&self, name: &Name) -> Result<(), String> {
        let name = &*name.to_lowercase();
        if !self.has_zone(name) {
            return Err(format!("there is no zone {name}"));
        }
        if self.fault_of(name).is_none() {
            return Err(format!("zone {name} has lost nothing"));
        }
        self.ask_changer(|told| self.dynamic.accept_loss(name.to_owned(), told))?;
        tracing::warn!(zone = %name, "zone {name}: what the log lost of it is accepted; it takes updates again, as it is served");
        Ok(())
    }
}
