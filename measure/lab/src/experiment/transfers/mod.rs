//! Zones from server to server (RFC 5936, RFC 1995, RFC 1996).
//!
//! * [`beside`]: queries beside changes that come in.
//! * [`replay`]: real changes of real zones, each version compared.
//! * [`speed`]: a zone out of a server and into one, changes of it, and many zones at once.
//!
//! The other end is ours: a primary that has all ready (`bench::transfer::Feeder`), on the generator's core, or a client that does no more
//! than take and count.

pub mod beside;
pub mod replay;
pub mod speed;

use std::time::{Duration, Instant};

use bench::{
    query,
    transfer::{Feeder, History, Notices, drain},
};
use wire::NameBuf;

use super::Lab;
use crate::{
    Error,
    contender::{self, Role, Server},
    data::Zones,
    error::ServerProblem,
    recipe::Name,
};

/// How often a secondary is asked for a serial.
const ASK_EVERY: Duration = Duration::from_millis(1);
/// Zones that are asked for at once when one was there, and how long their answers are waited for.
const ASKED_AT_ONCE: usize = 64;
const ANSWERS: Duration = Duration::from_millis(5);
/// How often a secondary that does not come is told again of the zone that is waited for, though it has answered: it may have been busy with the version
/// before.
const NOTIFY_AGAIN: Duration = Duration::from_millis(500);

/// Names of zones, in lower case.
pub fn apexes(zones: &Zones) -> Vec<NameBuf> {
    let name = |(apex, _): &(String, std::path::PathBuf)| query::name_from_text(apex);
    zones.list.iter().filter_map(name).map(|name| name.to_lowercase()).collect()
}

/// Zones as the feeder has them, from their files.
pub fn histories(zones: &Zones) -> Result<Vec<History>, Error> {
    zones.list.iter().map(|(_, path)| History::read(path, None).map_err(Error::from)).collect()
}

impl Lab {
    /// Starts a primary of ours at the generator's end, with all of its zones ready.
    pub fn feed(&mut self, histories: Vec<History>) -> Result<Feeder, Error> {
        let address = self.bed.load_address()?;
        let feeder = self.bed.load().enter(move || Feeder::start(address, histories))?;
        feeder.render();
        Ok(feeder)
    }

    /// Starts a server that has its zones from there, without waiting for it.
    pub fn start_secondary(
        &mut self,
        name: Name,
        feeder: &Feeder,
        zones: &Zones,
        keeps: bool,
    ) -> Result<Server, Error> {
        let role = Role::Secondary { primary: feeder.address(), keeps };
        let subject = self.subject_as(name, 1, role);
        self.launch(&subject, zones, None)
    }

    /// Waits until a server has these serials: of each zone at least the one beside it. `notices`: what it is told meanwhile; of the zone that is waited
    /// for it is told again and again. Returns when the last one was there.
    pub fn wait_current(
        &self,
        server: &mut Server,
        wanted: &[(NameBuf, u32)],
        mut notices: Option<&mut Notices<'_>>,
    ) -> Result<Instant, Error> {
        let socket = contender::socket(&self.bed, server.address)?;
        let until = Instant::now() + Duration::from_secs_f64(self.effort.load_seconds);
        let (mut left, mut told, mut is_first_there) = (wanted.to_vec(), Instant::now(), false);
        while let Some((first, _)) = left.first() {
            self.go_on()?;
            if let Some(status) = server.process.ended() {
                return Err(server.fault(ServerProblem::Ended(status.code())));
            }
            if Instant::now() > until {
                let (have, all) = (wanted.len() - left.len(), wanted.len());
                if all > 1 {
                    self.say(&format!(
                        "{}: {have} of {all} zones were seen to be current",
                        server.name.text()
                    ));
                }
                return Err(server.fault(ServerProblem::Silent(self.effort.load_seconds)));
            }
            if let Some(notices) = &mut notices {
                notices.go_on();
                if told.elapsed() > NOTIFY_AGAIN {
                    notices.repeat(first);
                    told = Instant::now();
                }
            }
            // One zone each millisecond, as asking costs the server time; once it is there, the next ones all at once.
            let (count, wait) = if is_first_there { (ASKED_AT_ONCE, ANSWERS) } else { (1, ASK_EVERY) };
            let asked = count.min(left.len());
            let reached = drain::reached(&socket, &left[..asked], wait);
            is_first_there = reached[0];
            let mut is_there = reached.into_iter();
            left.retain(|_| !is_there.next().unwrap_or(false));
        }
        Ok(Instant::now())
    }
}
