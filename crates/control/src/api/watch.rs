//! The thread that has the API's process run, one after the other, as long as there is a server, and does what it asks.

use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use web::certificate::Certificate;
use web::pair::{Beat, Terms};

use super::Keys;
use super::audit::Audit;
use super::certificate::{LOOK_PAUSE, Shown};
use super::inbox::{Event, Inbox};
use super::session::{Around, Session};
use super::sessions::Sessions;
use super::{look, make, now as of_now, search};
use crate::child::Child;
use crate::controller::Controller;
use crate::expiry::now;
use crate::http::{Started, start as start_child};
use crate::text::Span;

/// Before a process that has died is started again: twice as long each time.
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// The longest such pause.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// One that has run for so long dies of something else than those before.
const IS_WELL_AFTER: Duration = Duration::from_secs(60);
/// How long a process may take to end once it has closed its end of the pair.
const LAST_WAIT: Duration = Duration::from_millis(200);
/// How often it is looked whose time is over, while anything is under way.
const TICK: Duration = Duration::from_secs(1);
/// A tenth of a processor that workers want.
const NICENESS: i32 = 10;

/// What the thread knows for one process after the other.
#[derive(Default)]
struct Known {
    keys: Arc<Keys>,
    /// What is shown over TLS, if that is spoken.
    shown: Option<Arc<Certificate>>,
    /// When its files are to be read again.
    look_at: Option<Instant>,
}

impl Known {
    /// Takes what is of no process; gives what else there is.
    fn take(&mut self, around: &Around, event: Event) -> Option<Event> {
        match event {
            Event::Code(code) => {
                around.sessions.take_code(code);
                return None;
            }
            Event::EndSessions(tell) => {
                // Who waits for it no more needs no answer.
                let _ = tell.try_send(around.sessions.end_all(Instant::now()));
                return None;
            }
            Event::Keys(ref newer) => {
                self.keys = Arc::clone(newer);
                around.sessions.look_at_keys(newer, now());
            }
            Event::Shown(ref newer) => self.shown = Some(Arc::clone(newer)),
            _ => {}
        }
        Some(event)
    }

    /// Has the files looked at if it is time, and says how long until the next time.
    fn look(&mut self, around: &Around) -> Option<Duration> {
        let (at, now) = (self.look_at?, Instant::now());
        if at > now {
            return Some(at - now);
        }
        // Where there is no room the next look is soon enough.
        drop(around.looks.push(look::Look::Certificate, 0));
        self.look_at = Some(now + LOOK_PAUSE);
        Some(LOOK_PAUSE)
    }
}

/// Starts the process and the threads that do what it asks, where there are listeners.
pub(crate) fn watch(controller: &Arc<Controller>) -> io::Result<()> {
    let api = &controller.api;
    // Before it is known whether anybody is asked: an operator may revoke keys in any case.
    api.note_keys(controller.folder(), &controller.change().settings);
    let Some(terms) = api.terms.get().cloned() else { return Ok(()) };
    let inbox = Arc::new(Inbox::new()?);
    if api.inbox.set(Arc::clone(&inbox)).is_err() {
        return Ok(());
    }
    let owner = Arc::downgrade(controller);
    let looks = look::start(owner.clone(), Arc::clone(&inbox))?;
    let works = make::start(owner.clone(), Arc::clone(&inbox))?;
    let searches = search::start(controller.catalog.reader(), Arc::clone(&inbox))?;
    let nows = of_now::start(owner.clone(), Arc::clone(&inbox))?;
    let start = std::hash::BuildHasher::hash_one(&api.seed, "cursors");
    let (audit, sessions) = {
        let change = controller.change();
        (Audit::of(&change.settings), Sessions::of(&change.settings))
    };
    audit.watched().into_iter().for_each(|watched| drop(api.audited.set(watched)));
    let counts = Arc::clone(&api.counts);
    let around = Around { owner, inbox, looks, audit, works, searches, nows, counts, sessions, start };
    api.note_keys(controller.folder(), &controller.change().settings);
    // Told with the lock held, or what is newer could be told before it.
    let shown = api.shown.lock();
    let now = shown.as_ref().and_then(Shown::now);
    now.into_iter().for_each(|now| around.inbox.tell(Event::Shown(now)));
    drop(shown);
    let thread = thread::Builder::new().name("api".into()).spawn(move || {
        // Without effect where the system does not let it.
        let _ = rustix::process::setpriority_process(None, NICENESS);
        run(&around, &terms);
        around.audit.close();
        around.looks.close();
        around.works.close();
        around.searches.close();
        around.nows.close();
    })?;
    *api.thread.lock() = Some(thread);
    Ok(())
}

/// Has one process after the other run.
fn run(around: &Around, terms: &Terms) {
    let look_at = terms.is_secure.then(|| Instant::now() + LOOK_PAUSE);
    let (mut pause, mut number, mut known) = (PAUSE_MIN, 0, Known { look_at, ..Known::default() });
    loop {
        let began = Instant::now();
        let Some(started) = start(&around.owner, terms) else { return };
        number += 1;
        let why = match started {
            Ok((child, session)) => serve(around, child, session(number), &mut known),
            Err(error) => format!("cannot be started: {error}"),
        };
        let Some(controller) = around.owner.upgrade().filter(|owner| !owner.api.is_over()) else { return };
        drop(controller.api.pipe.lock().take());
        drop(controller.api.process.lock().take());
        drop(controller);
        pause = if began.elapsed() > IS_WELL_AFTER { PAUSE_MIN } else { pause };
        tracing::error!("the API's process {why}; started again in {}", Span(pause));
        wait(around, pause, &mut known);
        pause = (2 * pause).min(PAUSE_MAX);
    }
}

/// Makes the session of a process, by its number.
type Begin = Box<dyn FnOnce(u32) -> io::Result<Session>>;

/// Starts a process, and has others know of it; `None` where the server ends.
fn start(owner: &Weak<Controller>, terms: &Terms) -> Option<io::Result<(Child, Begin)>> {
    let controller = owner.upgrade().filter(|owner| !owner.api.is_over())?;
    let listening = controller.api.listeners.get()?;
    let started = start_child("api", listening, terms).map(|Started { process, pair, pipe }| {
        *controller.api.process.lock() = process.handle();
        *controller.api.pipe.lock() = Some(pipe);
        controller.api.beat(Beat { is_well: true, is_ready: true, is_over: false });
        // Who ends the server may have looked for a process before this one was there.
        if controller.api.is_over() {
            controller.api.kill();
        }
        let begin: Begin = Box::new(move |number| Session::new(number, pair));
        (process, begin)
    });
    Some(started)
}

/// Waits before the next process; what comes meanwhile is of one that has gone, but keys.
fn wait(around: &Around, pause: Duration, known: &mut Known) {
    let until = Instant::now() + pause;
    loop {
        for event in around.inbox.take() {
            match known.take(around, event) {
                Some(Event::Pinned(_, Ok(pinned))) => {
                    drop(around.looks.push(look::Look::Unpin(pinned.zone), 0));
                }
                Some(Event::Over) => return,
                _ => {}
            }
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if around.inbox.prepare_to_sleep() {
            let _ = poll(&mut [PollFd::new(&around.inbox.bell, PollFlags::IN)], Some(&timespec(left)));
        }
        around.inbox.awake();
    }
}

/// Does what a process asks, until it ends; says how that was.
fn serve(around: &Around, mut child: Child, session: io::Result<Session>, known: &mut Known) -> String {
    let pid = child.id();
    tracing::debug!(pid, "the API's process is {pid}");
    let mut session = match session {
        Ok(session) => session,
        Err(error) => return child.how_it_ended(&error, LAST_WAIT),
    };
    known.shown.iter().for_each(|shown| session.show(shown));
    loop {
        if let Err(error) = turn(around, &mut session, known) {
            session.end(around);
            return child.how_it_ended(&error, LAST_WAIT);
        }
    }
}

/// Does what there is to do, then waits for more.
fn turn(around: &Around, session: &mut Session, known: &mut Known) -> io::Result<()> {
    let pause = advance(around, session, known);
    listen(around, session, known, pause)
}

/// Takes what others have told, and makes a piece. How long to wait for more; `None`: until it comes.
fn advance(around: &Around, session: &mut Session, known: &mut Known) -> Option<Duration> {
    take_events(around, session, known);
    let until_look = known.look(around);
    let has_more = session.tell_one(around);
    session.look_at_time(around);
    // Before any of it is answered.
    around.audit.flush();
    let may_sleep = !has_more && around.inbox.prepare_to_sleep();
    match may_sleep {
        false => Some(Duration::ZERO),
        true => session.is_busy().then_some(TICK).into_iter().chain(until_look).min(),
    }
}

/// Waits for the process and for others; writes and reads what the pair takes and has.
fn listen(
    around: &Around,
    session: &mut Session,
    known: &mut Known,
    pause: Option<Duration>,
) -> io::Result<()> {
    let (reads, writes) = session.wants();
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::IN, reads);
    flags.set(PollFlags::OUT, writes);
    let ready = {
        let mut polled = [PollFd::new(session.pair(), flags), PollFd::new(&around.inbox.bell, PollFlags::IN)];
        match poll(&mut polled, pause.map(timespec).as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => polled[0].revents(),
            Err(errno) => return Err(errno.into()),
        }
    };
    around.inbox.awake();
    if ready.intersects(PollFlags::OUT) {
        session.write()?;
    }
    if ready.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR)
        && (reads || !ready.contains(PollFlags::IN))
    {
        // What was told before these were asked holds for them: a key is none once the command that revokes it has returned.
        take_events(around, session, known);
        session.read(around, &known.keys)?;
    }
    Ok(())
}

/// Takes what others have told, keys among it.
fn take_events(around: &Around, session: &mut Session, known: &mut Known) {
    for event in around.inbox.take() {
        if let Some(event) = known.take(around, event) {
            session.take(around, &known.keys, event);
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as i64, tv_nsec: i64::from(duration.subsec_nanos()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::api::session::tests::Bed;
    use api::frame::{Ask, Asked, Said, Who};
    use std::io::Write;

    /// Both come while the thread waits, or is kept from its processor: keys, and what is asked with one that is none of them.
    #[test]
    fn keys_that_were_told_hold_for_what_is_asked_then() {
        let mut bed = Bed::new();
        let mut known = Known { keys: Arc::new(std::mem::take(&mut bed.keys)), ..Known::default() };
        for (number, keys, status) in [(1, None, "1 200"), (2, Some(Keys::default()), "2 401")] {
            let pause = advance(&bed.around, &mut bed.session, &mut known);
            keys.into_iter().for_each(|keys| bed.around.inbox.tell(Event::Keys(Arc::new(keys))));
            let ask = Ask {
                who: Who::Key(bed.secret.as_bytes()),
                address: [127, 0, 0, 1].into(),
                asked: Asked::Who,
            };
            let mut octets = Vec::new();
            assert!([Said::Ask(ask), Said::Credit(4)].iter().all(|said| said.write(number, &mut octets)));
            bed.child.write_all(&octets).unwrap();
            listen(&bed.around, &mut bed.session, &mut known, pause).unwrap();
            assert_eq!(bed.told().last().map(String::as_str), Some(status));
        }
    }
}
