//! The thread that has the HTTP process run: one after the other, as long as there is a server.

use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use web::pair::{BEAT, Request};

use super::child::Child;
use super::{Listening, Phase};
use crate::controller::Controller;
use crate::metrics::Exporter;
use crate::settings::Settings;
use crate::text::Span;

/// Before a process that has died is started again: twice as long each time.
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// The longest such pause.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// One that has run for so long dies of something else than those before.
const IS_WELL_AFTER: Duration = Duration::from_secs(60);

/// How long a process may take to end once it has closed its end of the pair.
const LAST_WAIT: Duration = Duration::from_millis(200);

/// Starts the process and a thread that looks after it, where settings want one.
pub(crate) fn watch(controller: &Arc<Controller>, settings: &Settings) -> io::Result<()> {
    if controller.http.listeners.get().is_none() {
        return Ok(());
    }
    let weak = Arc::downgrade(controller);
    let terms = settings.http.terms();
    let watch = move || {
        let mut exporter = Exporter::default();
        let mut pause = PAUSE_MIN;
        while let Some(listening) = listeners(&weak) {
            let began = Instant::now();
            let why = match Child::start(&listening, &terms) {
                Ok((child, pipe)) => {
                    let Some(controller) = weak.upgrade() else { return };
                    *controller.http.pipe.lock() = Some(pipe);
                    drop(controller);
                    serve(&weak, child, &mut exporter)
                }
                Err(error) => format!("cannot be started: {error}"),
            };
            let Some(controller) = weak.upgrade().filter(|owner| !owner.http.is_in(Phase::Over)) else {
                return;
            };
            drop(controller.http.pipe.lock().take());
            drop(controller);
            pause = if began.elapsed() > IS_WELL_AFTER { PAUSE_MIN } else { pause };
            tracing::error!("the HTTP process {why}; started again in {}", Span(pause));
            std::thread::park_timeout(pause);
            pause = (2 * pause).min(PAUSE_MAX);
        }
    };
    let thread = std::thread::Builder::new().name("http".into()).spawn(watch)?;
    *controller.http.thread.lock() = Some(thread);
    Ok(())
}

/// Second descriptors of the listeners; none where the server ends.
fn listeners(owner: &Weak<Controller>) -> Option<Vec<Listening>> {
    let controller = owner.upgrade().filter(|owner| !owner.http.is_in(Phase::Over))?;
    let again =
        |one: &Listening| Some(Listening { address: one.address, socket: one.socket.try_clone().ok()? });
    controller.http.listeners.get()?.iter().map(again).collect()
}

/// Tells a process how the server is and gives it numbers, until it ends; says how that was.
fn serve(owner: &Weak<Controller>, mut child: Child, exporter: &mut Exporter) -> String {
    let pid = child.id();
    tracing::debug!(pid, "the HTTP process is {pid}");
    let mut next = Instant::now();
    loop {
        let Some(controller) = owner.upgrade() else { return String::new() };
        if next <= Instant::now() {
            controller.http.beat(controller.wellness());
            next = Instant::now() + BEAT;
        }
        drop(controller);
        let heard = child.hear(next.saturating_duration_since(Instant::now()));
        let Some(controller) = owner.upgrade() else { return String::new() };
        let answered = heard.and_then(|request| match request {
            Request::Numbers(format) => child.give(&exporter.render(&controller, format)),
            Request::IsUnconfined => {
                tracing::warn!(
                    "this kernel has no Landlock: the HTTP process could open files that the server's user may open"
                );
                Ok(())
            }
        });
        match answered {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
            Err(error) => return how_it_ended(&mut child, &error),
            Ok(()) => {}
        }
    }
}

/// How a process has ended that says nothing any more.
fn how_it_ended(child: &mut Child, error: &io::Error) -> String {
    match child.end(LAST_WAIT) {
        Ok(status) => format!("has ended ({status}; {error})"),
        Err(error) => format!("cannot be ended: {error}"),
    }
}
