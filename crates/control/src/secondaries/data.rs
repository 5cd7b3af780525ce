//! The thread that makes data of what was transferred: a pack of a zone as a whole, work for the changer of differences.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

use transfer::incoming::{Done, Fault, Outcome, Place, Soa, Stop};
use transfer::refresh::{Answer, Job};
use zone::{Contents, Pack, PackBuilder, TextStamp};

use super::Message;
use crate::controller::Controller;
use crate::dynamic::{Incoming, NotTaken, Told, What};
use crate::load::{SEEDS_MAX, SMALL_PACK_OCTETS, store};
use crate::packs::StoredPack;
use crate::secondary::Report;
use crate::system::random;

/// Starts the thread. It ends when nobody can send reports any more.
pub(super) fn start(
    controller: &Arc<Controller>,
    done: Sender<Message>,
) -> io::Result<(Sender<Report>, JoinHandle<()>)> {
    let (sender, reports) = channel::<Report>();
    let owner = Arc::downgrade(controller);
    let thread = std::thread::Builder::new().name("transferred".into()).spawn(move || {
        for report in reports {
            let job = report.job;
            match take(&owner, report, &done) {
                // Nobody is there to be told at the very end.
                Some(answer) => drop(done.send(Message::Done(job, answer))),
                None => continue,
            }
        }
    })?;
    Ok((sender, thread))
}

/// An answer that says that nothing came of it.
fn stopped(fault: Fault) -> Answer {
    Answer::Stopped(Stop { fault, place: Place::default() })
}

/// Takes what was transferred. `None`: somebody else tells when it is served.
fn take(owner: &Weak<Controller>, report: Report, done: &Sender<Message>) -> Option<Answer> {
    if let Some(answer) = report.answer() {
        return Some(answer);
    }
    let Report { job, zone, result, contents } = report;
    let (Ok(Done { outcome, soa: Some(soa), expire, .. }), Some(controller)) = (result, owner.upgrade())
    else {
        return Some(stopped(Fault::Ended));
    };
    match (outcome, contents) {
        (Outcome::Changes(changes), _) => {
            let told = told(done.clone(), job, soa, expire);
            controller
                .dynamic
                .incoming(Incoming { zone: zone.to_lowercase(), what: What::Changes(changes, told) });
            None
        }
        (Outcome::Whole, Some(contents)) => {
            let begun = Instant::now();
            let Some(pack) = keep(&controller, &contents) else { return Some(stopped(Fault::NoZone)) };
            drop(contents);
            let octets = pack.pack.octets().len();
            let is_taken = controller.take_transferred(&zone, pack, "a primary");
            tracing::debug!(zone = %zone, octets, "zone {zone}: a pack of {octets} octets made of it in {:?}", begun.elapsed());
            if is_taken {
                crate::serve::tidy_on_a_thread(&controller);
                Some(Answer::Transferred { soa, expire })
            } else {
                Some(stopped(Fault::NoZone))
            }
        }
        _ => Some(stopped(Fault::Ended)),
    }
}

/// Who hears from the changer.
fn told(done: Sender<Message>, job: Job, soa: Soa, expire: Option<u32>) -> Told {
    Told::new(move |result| {
        let answer = match result {
            Ok(()) => Answer::Transferred { soa, expire },
            Err(NotTaken::DoesNotFit) => stopped(Fault::Mismatch),
            Err(NotTaken::NotNow) => stopped(Fault::Full),
        };
        drop(done.send(Message::Done(job, answer)));
    })
}

/// Makes a pack of a zone: in the folder if it is large, else in memory, to be stored with others soon. `None`: it is no zone that can be served.
fn keep(controller: &Controller, contents: &Contents) -> Option<Arc<StoredPack>> {
    for _ in 0..SEEDS_MAX {
        let mut builder = PackBuilder::new(random());
        builder.add_zone(contents, TextStamp::default()).ok()?;
        let Ok(backing) = builder.finish() else { continue };
        let pack = Pack::open(backing).ok()?;
        let is_small = pack.octets().len() < SMALL_PACK_OCTETS;
        return Some(store(controller.writable_folder().filter(|_| !is_small), pack));
    }
    None
}
