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

use std::{
    thread,
    time::{Duration, Instant},
};

use bench::{
    query,
    transfer::{Feeder, History, drain},
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
/// How long an answer is waited for.
const ANSWER: Duration = Duration::from_millis(200);
/// How often a secondary that does not come is told again that a zone has changed: notices may be lost, and a server may have been
/// busy with the one before.
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

    /// Waits until a server has these serials: of each zone at least the one beside it. With a feeder it is told again of those
    /// of which it took no notice, and of the one that is waited for. Returns when the last one was there.
    pub fn wait_current(
        &self,
        server: &mut Server,
        wanted: &[(NameBuf, u32)],
        feeder: Option<&Feeder>,
    ) -> Result<Instant, Error> {
        let socket = contender::socket(&self.bed, server.address)?;
        let cause = |cause| Error::System { action: "set a time-out", cause };
        socket.set_read_timeout(Some(ANSWER)).map_err(cause)?;
        let until = Instant::now() + Duration::from_secs_f64(self.effort.load_seconds);
        let mut told = Instant::now();
        for (at, (apex, serial)) in wanted.iter().enumerate() {
            // Serials of experiments never turn over.
            while drain::serial(&socket, apex).is_none_or(|found| found < *serial) {
                self.go_on()?;
                if let Some(status) = server.process.ended() {
                    return Err(server.fault(ServerProblem::Ended(status.code())));
                }
                if Instant::now() > until {
                    return Err(server.fault(ServerProblem::Silent(self.effort.load_seconds)));
                }
                if let Some(feeder) = feeder.filter(|_| told.elapsed() > NOTIFY_AGAIN) {
                    let others = wanted[at + 1..].iter().map(|(apex, _)| apex);
                    let untold = others.filter(|apex| !feeder.is_told(apex));
                    [apex].into_iter().chain(untold).for_each(|apex| feeder.notify(server.address, apex));
                    told = Instant::now();
                }
                thread::sleep(ASK_EVERY);
            }
        }
        Ok(Instant::now())
    }
}
