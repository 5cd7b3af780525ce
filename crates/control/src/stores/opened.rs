//! A feeder has opened its database: whether that is the one of before, and what the server holds of it.

use std::io;
use std::time::{Duration, Instant};

use feed::frame::{Frame, Mark, Version};
use wire::NameBuf;

use super::Stands;
use super::batch::Batch;
use super::owned::Known;
use super::session::Session;
use super::settle::escaped;
use super::turn::Turn;
use crate::settings::StorePlace;

/// From one time that the file was opened to the next, at least; the feeder itself looks once a second whether it is another one.
const OPENED_PAUSE: Duration = Duration::from_secs(1);
/// Zones that the feeder is told of at a time.
const HELD_A_TIME: usize = 1_000;

impl Session {
    /// The feeder begins, or begins anew.
    pub(super) fn take_opened(&mut self, identity: String, is_writable: bool) -> io::Result<()> {
        // It is a word of a file.
        Mark::from_text(&identity).ok_or(io::ErrorKind::InvalidData)?;
        // Telling what is held goes over all zones, and others wait for the lock of that.
        let early = self.opened_at.map_or(Duration::ZERO, |at| OPENED_PAUSE.saturating_sub(at.elapsed()));
        std::thread::sleep(early);
        self.opened_at = Some(Instant::now());
        self.forget_pushes();
        self.end_writes(false);
        self.about(|about| {
            about.begin_anew();
            about.is_read_only = !is_writable;
        });
        // Of PowerDNS's tables nothing is ever written.
        let is_writable = is_writable || self.terms.powerdns.is_some();
        if !is_writable && matches!(self.terms.place, StorePlace::Postgres(_)) {
            tracing::debug!(
                "store {}: its role may not raise serials (zonda.touch), or it is a replica",
                self.key.0
            );
        } else if !is_writable && self.may_say() {
            tracing::warn!(
                "store {}: it cannot be written by the server's user: what others change by plain SQL is served once `zonda store history` has made versions of it",
                self.key.0
            );
        }
        self.opened = Some((identity.clone(), false));
        self.go(&identity)
    }

    /// What was on its way is forgotten by both.
    fn forget_pushes(&mut self) {
        self.push = None;
        (self.batch, self.turn) = (Batch::default(), Turn::default());
        self.gone.clear();
    }

    /// Tells the feeder what is held, unless its database is another one than that of before, which an operator has to say.
    pub(super) fn go(&mut self, identity: &str) -> io::Result<()> {
        let (name, url) = (self.key.0.as_str().into(), escaped(&self.terms.url).into());
        let known = Known { identity: identity.into(), name, url };
        let zones = self.controller.stores.with(self.key, |store, owned, _| {
            let taken = owned.with_identity(identity).filter(|number| Some(*number) != store.number);
            if taken.is_some_and(|number| owned.count(number) > 0) {
                return Err("its database is that of another store, or a copy of it");
            }
            let held = store.number.map_or(0, |number| owned.count(number));
            let is_other = store
                .number
                .and_then(|number| owned.known(number))
                .is_some_and(|was| *was.identity != *identity);
            if is_other && held > 0 && store.about.accepted.as_deref() != Some(identity) {
                return Err("");
            }
            store.number = owned.note(store.number, known);
            let Some(number) = store.number else { return Err("there were too many stores") };
            store.about.stands = Stands::Listing;
            Ok(owned
                .iter()
                .filter(|(_, own)| *own == number)
                .map(|(zone, _)| zone.to_owned())
                .collect::<Vec<_>>())
        });
        match zones {
            None => Ok(()),
            Some(Err("")) => {
                self.is_another(identity);
                Ok(())
            }
            Some(Err(why)) => {
                self.away(why.into());
                Ok(())
            }
            Some(Ok(zones)) => {
                self.controller.stores.keep_owned(self.controller.place_of_stores().as_ref());
                self.tell_held(&zones, identity)
            }
        }
    }

    /// There is another database than before.
    fn is_another(&self, identity: &str) {
        let stands = Stands::Another(identity.to_owned());
        let was = self.about(|about| std::mem::replace(&mut about.stands, stands.clone()));
        if was.is_some_and(|was| was != stands) && self.may_say() {
            let name = self.key.0;
            tracing::error!(
                "store {name}: another database is at its address (identity {identity}); its zones are served as they are until `zonda ctl store confirm {name}`"
            );
        }
    }

    fn tell_held(&mut self, zones: &[NameBuf], identity: &str) -> io::Result<()> {
        for some in zones.chunks(HELD_A_TIME) {
            let serials = self.controller.serials_of(some.iter().map(|zone| &**zone));
            let frames = self.controller.stores.with(self.key, |_, _, followed| {
                let held = |(zone, serial): (&NameBuf, Option<u32>)| {
                    let version = serial.map(|serial| Version {
                        serial,
                        mark: followed.mark(zone, serial).unwrap_or(Mark::NONE),
                    });
                    Frame::Held(zone.clone(), version)
                };
                some.iter().zip(serials).map(held).collect::<Vec<_>>()
            });
            self.line.say(&frames.unwrap_or_default())?;
        }
        self.line.say(&[Frame::Go])?;
        self.opened = Some((identity.to_owned(), true));
        Ok(())
    }
}
