//! The thread that makes data of what was transferred: packs of zones as a whole, work for the changer of differences.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use transfer::incoming::{Done, Fault, Outcome, Place, Soa, Stop};
use transfer::refresh::{Answer, Job};
use wire::{Name, NameBuf};
use zone::Change;

use super::Message;
use super::former::Former;
use super::past::Came;
use crate::controller::Controller;
use crate::dynamic::{Incoming, NotTaken, Told, What};
use crate::findings::{Digest, Findings, examine_digest, examine_transferred};
use crate::joined::{one, pack};
use crate::load::{OWN_PACK_OCTETS, store};
use crate::read::ZoneText;
use crate::secondary::Report;

/// Zones as a whole that are put into one pack: what waits while the disk is at work comes together.
const ZONES_A_PACK: usize = 256;

/// Starts the thread. It ends when nobody can send reports any more.
pub(super) fn start(
    controller: &Arc<Controller>,
    done: Sender<Message>,
    former: Former,
) -> io::Result<(Sender<Report>, JoinHandle<()>)> {
    let (sender, reports) = channel::<Report>();
    let owner = Arc::downgrade(controller);
    let thread = std::thread::Builder::new().name("transferred".into()).spawn(move || {
        while let Ok(first) = reports.recv() {
            let Some(controller) = owner.upgrade() else { return };
            let all = std::iter::once(first).chain(reports.try_iter().take(ZONES_A_PACK - 1));
            let tell = Tell { done: &done, former: &former };
            // Waits as long as another server is about to take over.
            let _serving = controller.secondaries.serving.read();
            if controller.upgrade.handed_to().is_some() {
                // It has: what came is not ours to serve, as it does not know of it.
                return;
            }
            let whole: Vec<Whole> = all.filter_map(|report| take(&controller, report, &tell)).collect();
            if whole.is_empty() {
                continue;
            }
            let (kept, passing): (Vec<_>, Vec<_>) =
                whole.into_iter().partition(|whole| controller.persists(&whole.zone));
            take_whole(&controller, kept, true, &tell);
            take_whole(&controller, passing, false, &tell);
            crate::serve::tidy_on_a_thread(&controller);
        }
    })?;
    Ok((sender, thread))
}

/// All of a zone, and what wanted it.
struct Whole {
    job: Job,
    zone: NameBuf,
    soa: Soa,
    expire: Option<u32>,
    came: Option<Came>,
    text: ZoneText,
    findings: Findings,
}

/// Who wants jobs done.
struct Tell<'d> {
    done: &'d Sender<Message>,
    former: &'d Former,
}

impl Tell<'_> {
    /// Tells what came of a job. Nobody is there to be told at the very end.
    fn tell(&self, job: Job, answer: Answer) {
        drop(self.done.send(Message::Done(job, answer, None)));
    }
}

/// An answer that says that nothing came of it.
fn stopped(fault: Fault) -> Answer {
    Answer::Stopped(Stop { fault, place: Place::default() })
}

/// Takes what was transferred; gives back what came as a whole.
fn take(controller: &Controller, report: Report, tell: &Tell<'_>) -> Option<Whole> {
    let is_former = tell.former.has(report.job.zone);
    let answer = report.answer().or_else(|| is_former.then(|| stopped(Fault::Ended)));
    if let Some(answer) = answer {
        tell.tell(report.job, answer);
        return None;
    }
    let came = Came::of(&report);
    let Report { job, zone, result, contents, from, .. } = report;
    let (outcome, soa, expire, counts) = match result {
        Ok(Done { outcome, soa: Some(soa), expire, counts, .. }) => (outcome, soa, expire, counts),
        _ => {
            tell.tell(job, stopped(Fault::Ended));
            return None;
        }
    };
    match (outcome, contents) {
        (Outcome::Changes(changes), _) => {
            let changes = match digested(controller, &zone, changes, &from) {
                Ok(changes) => changes,
                Err(fault) => {
                    tell.tell(job, stopped(fault));
                    return None;
                }
            };
            controller.catalogs.coming(&zone, &changes);
            let told = told(tell.done.clone(), (job, came), soa, expire);
            let former = tell.former.clone();
            let what = What::Changes(changes, told.while_wanted(move || !former.has(job.zone)));
            controller.dynamic.incoming(Incoming { zone: zone.to_lowercase(), what });
            None
        }
        (_, Some(contents)) => {
            let text = ZoneText::transferred(contents, &from, counts.out_of_zone);
            let digest = controller.digest_of(&zone);
            let anchors = if digest == Digest::Ignore { Arc::default() } else { controller.anchors() };
            match examine_transferred(&text, (digest, &anchors)) {
                Ok(findings) => Some(Whole { job, zone, soa, expire, came, text, findings }),
                Err((check, lines)) => {
                    lines.iter().for_each(|line| tracing::debug!(zone = %zone, "zone {zone}: {line}"));
                    tell.tell(job, stopped(Fault::Unservable(check)));
                    None
                }
            }
        }
        _ => {
            tell.tell(job, stopped(Fault::Ended));
            None
        }
    }
}

/// What is served of differences of a zone whose digest is looked at: one difference, as versions on the way are no more verified than any other, and only if what they lead to is what
/// its publisher digested. All of the zone is read for that. `from`: who sent them.
fn digested(
    controller: &Controller,
    zone: &Name,
    changes: Vec<Change>,
    from: &dyn Display,
) -> Result<Vec<Change>, Fault> {
    let digest = controller.digest_of(zone);
    if digest == Digest::Ignore {
        return Ok(changes);
    }
    let change = one(changes).ok_or(Fault::Mismatch)?;
    let mut apart = controller.apart(zone).ok_or(Fault::NotNow)?;
    apart.apply(&change).map_err(|_| Fault::Mismatch)?;
    match examine_digest(&apart.newest(), from, (digest, &controller.anchors())) {
        // Zeros in the place of octets are in no digest that is right by them.
        Ok(()) => Ok(vec![change]),
        Err((None, _)) => Err(Fault::NotNow),
        Err((Some(check), line)) => {
            tracing::debug!(%zone, "zone {zone}: serial {}: {line}", change.serial_after());
            Err(Fault::Misleading(check))
        }
    }
}

/// Puts zones into packs, which are stored before anybody sees them if the zones persist, and serves them.
fn take_whole(controller: &Controller, whole: Vec<Whole>, persists: bool, tell: &Tell<'_>) {
    let folder = controller.writable_folder().filter(|_| persists);
    let mut rest = whole;
    while !rest.is_empty() {
        let count = rest.len();
        let zones = rest.iter().map(|whole| (&whole.text.contents, &whole.findings));
        let packed = pack(zones, OWN_PACK_OCTETS);
        let later = rest.split_off(packed.taken);
        let stored = packed.pack.map(|pack| store(folder, pack));
        for (Whole { job, zone, soa, expire, came, findings, .. }, number) in
            rest.into_iter().zip(packed.numbers)
        {
            let stored = stored.as_ref().filter(|_| !tell.former.has(job.zone));
            let is_served = stored.zip(number).is_some_and(|(pack, number)| {
                controller.take_transferred((&zone, None), (Arc::clone(pack), number), findings, persists)
            });
            let answer = match is_served {
                true => Answer::Transferred { soa, expire },
                false => stopped(Fault::NoZone),
            };
            drop(tell.done.send(Message::Done(job, answer, came)));
        }
        tracing::debug!(zones = count - later.len(), "a pack made of zones that were transferred");
        rest = later;
    }
}

/// Who hears from the changer.
fn told(done: Sender<Message>, (job, came): (Job, Option<Came>), soa: Soa, expire: Option<u32>) -> Told {
    Told::new(move |result| {
        let answer = match result {
            Ok(()) => Answer::Transferred { soa, expire },
            Err(NotTaken::DoesNotFit) => stopped(Fault::Mismatch),
            Err(NotTaken::NotNow) => stopped(Fault::NotNow),
        };
        drop(done.send(Message::Done(job, answer, came)));
    })
}
