//! The threads that have the HTTP process run, one after the other, as long as there is a server, and tell it how that is.

use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use web::pair::{BEAT, Format, Request, Terms};

use super::Phase;
use super::child::Child;
use crate::controller::Controller;
use crate::metrics::Exporter;
use crate::text::Span;

/// Before a process that has died is started again: twice as long each time.
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// The longest such pause.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// One that has run for so long dies of something else than those before.
const IS_WELL_AFTER: Duration = Duration::from_secs(60);

/// How long a process may take to end once it has closed its end of the pair.
const LAST_WAIT: Duration = Duration::from_millis(200);

/// What was told is told again for so long: a scrape has all workers of a resolver asked.
const FRESH: Duration = Duration::from_millis(100);

/// Starts the process and the threads that look after it and tell it how the server is, where there are listeners.
pub(crate) fn watch(controller: &Arc<Controller>) -> io::Result<()> {
    let Some(terms) = controller.http.terms.get().cloned() else { return Ok(()) };
    let (weak, beating) = (Arc::downgrade(controller), Arc::downgrade(controller));
    let thread = thread::Builder::new().name("http".into()).spawn(move || run(&weak, &terms))?;
    *controller.http.thread.lock() = Some(thread);
    // Numbers may have to wait for a lock or a worker; probes are told meanwhile.
    thread::Builder::new().name("http-beat".into()).spawn(move || beat(&beating))?;
    Ok(())
}

/// Has one process after the other run.
fn run(owner: &Weak<Controller>, terms: &Terms) {
    let mut numbers = Numbers::default();
    let mut pause = PAUSE_MIN;
    loop {
        let began = Instant::now();
        let Some(started) = start(owner, terms) else { return };
        let why = match started {
            Ok(child) => serve(owner, child, &mut numbers),
            Err(error) => format!("cannot be started: {error}"),
        };
        let Some(controller) = owner.upgrade().filter(|owner| !owner.http.is_in(Phase::Over)) else { return };
        drop(controller.http.pipe.lock().take());
        drop(controller.http.process.lock().take());
        drop(controller);
        pause = if began.elapsed() > IS_WELL_AFTER { PAUSE_MIN } else { pause };
        tracing::error!("the HTTP process {why}; started again in {}", Span(pause));
        thread::park_timeout(pause);
        pause = (2 * pause).min(PAUSE_MAX);
    }
}

/// Starts a process, and has others know of it; `None` where the server ends.
fn start(owner: &Weak<Controller>, terms: &Terms) -> Option<io::Result<Child>> {
    let controller = owner.upgrade().filter(|owner| !owner.http.is_in(Phase::Over))?;
    let listening = controller.http.listeners.get()?;
    let started = Child::start(listening, terms).map(|(child, pipe)| {
        *controller.http.process.lock() = child.handle();
        *controller.http.pipe.lock() = Some(pipe);
        controller.http.beat(controller.wellness());
        child
    });
    Some(started)
}

/// Tells the process once in a while how the server is.
fn beat(owner: &Weak<Controller>) {
    loop {
        thread::sleep(BEAT);
        let Some(controller) = owner.upgrade().filter(|owner| !owner.http.is_in(Phase::Over)) else { return };
        controller.http.beat(controller.wellness());
    }
}

/// The numbers as text, not made more often than they can be told to have changed.
#[derive(Default)]
struct Numbers {
    exporter: Exporter,
    told: Vec<(Format, Instant, String)>,
}

impl Numbers {
    fn text(&mut self, controller: &Controller, format: Format) -> &str {
        self.told.retain(|(_, at, _)| at.elapsed() < FRESH);
        let known = self.told.iter().position(|(known, ..)| *known == format);
        let place = known.unwrap_or_else(|| {
            self.told.push((format, Instant::now(), self.exporter.render(controller, format)));
            self.told.len() - 1
        });
        &self.told[place].2
    }
}

/// Gives a process numbers, until it ends; says how that was. What it says is a stranger's: it may have been taken over.
fn serve(owner: &Weak<Controller>, mut child: Child, numbers: &mut Numbers) -> String {
    let pid = child.id();
    tracing::debug!(pid, "the HTTP process is {pid}");
    let mut is_unconfined = false;
    loop {
        let heard = child.hear(BEAT);
        let Some(controller) = owner.upgrade() else { return String::new() };
        let answered = heard.and_then(|request| match request {
            Request::Numbers(format) => child.give(numbers.text(&controller, format)),
            // Said once, at its start.
            Request::IsUnconfined if is_unconfined => Err(io::ErrorKind::InvalidData.into()),
            Request::IsUnconfined => {
                is_unconfined = true;
                tracing::warn!(
                    "Landlock or seccomp cannot be had here: the HTTP process could do what the server's user may"
                );
                Ok(())
            }
        });
        match answered {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
            Err(error) => return child.how_it_ended(&error, LAST_WAIT),
            Ok(()) => {}
        }
    }
}
