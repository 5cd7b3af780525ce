//! What the control thread waits for, from the first load to the order to stop.

use std::io::Write;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use net::Running;
use net::systemd::Notifier;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use super::loading::reload_on_a_thread;
use super::{First, check_first_load, watch_api, zones_text};
use crate::answer::status_line;
use crate::controller::{Change, Controller};
use crate::expiry;
use crate::fault::Faults;
use crate::log::milliseconds;
use crate::text::Span;
use crate::upgrade::give::Process;

/// What wakes the control thread.
pub(crate) enum Event {
    /// The first load is over, or nothing could be loaded, for these reasons. `None`: it ended by a fault of its own.
    Loaded(Option<Result<Box<Change>, Faults>>),
    /// SIGHUP.
    Reload,
    /// That is over.
    Reloaded,
    /// SIGUSR1.
    Status,
    /// SIGTERM, SIGINT, or `zonda ctl stop`.
    Stop(&'static str),
    /// Another process is the server now.
    HandedOver(Process),
}

/// Why the server ends.
pub(super) enum End {
    /// It was told to.
    Stopped(&'static str),
    /// Another one has taken over; whether there is a reload that is to be its affair.
    HandedOver(Process, bool),
}

/// Events that wait; more signals than this say the same again.
pub(super) const EVENTS_MAX: usize = 16;

/// Handles events until one says to stop; returns why. Fails if the first load does. `is_loading`: whether that is under way.
pub(super) fn handle_events(
    controller: &Arc<Controller>,
    received: &mpsc::Receiver<Event>,
    events: &mpsc::SyncSender<Event>,
    first: &First,
    mut is_loading: bool,
) -> Result<End, Faults> {
    let notifier = controller.notifier.get();
    let mut watchdog = Watchdog::new(notifier);
    // The first load counts as a reload under way; signals meanwhile make one more after it.
    let mut is_pending = false;
    loop {
        watchdog.tell_if_due(|| controller.running.lock().as_ref().is_some_and(Running::is_serving));
        match received.recv_timeout(watchdog.wait()) {
            Ok(Event::Stop(reason)) => return Ok(End::Stopped(reason)),
            Ok(Event::HandedOver(process)) => return Ok(End::HandedOver(process, is_pending || is_loading)),
            Ok(Event::Loaded(None)) => {
                return Err(String::from("loading ended by a fault of the program").into());
            }
            Ok(Event::Loaded(Some(loaded))) => {
                check_first_load(controller, &*loaded?, first)?;
                controller.http.ready();
                // Who asked before waits until here: what may be changed by whom was not known.
                watch_api(controller);
                say_what_is_served(&ready(controller), controller, first.started);
                watch_expiry(controller);
                // Whoever closed standard error does not want to be welcomed.
                first.welcome.iter().for_each(|line| drop(writeln!(std::io::stderr(), "{line}")));
                is_loading = false;
            }
            Ok(Event::Reload) => is_pending = true,
            Ok(Event::Status) => tracing::info!("{}", status_line(controller)),
            Ok(Event::Reloaded) => {
                ready(controller);
                is_loading = false;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Ok(End::Stopped("nobody is left to tell otherwise"));
            }
        }
        if is_pending && !is_loading {
            is_pending = false;
            tell(notifier, Notifier::reloading);
            is_loading = reload_on_a_thread(controller, events);
            if !is_loading {
                ready(controller);
            }
        }
    }
}

pub(super) fn watch_signals(events: mpsc::SyncSender<Event>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGUSR1, SIGTERM, SIGINT])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let event = match signal {
                SIGHUP => Event::Reload,
                SIGUSR1 => Event::Status,
                SIGTERM => Event::Stop("SIGTERM"),
                _ => Event::Stop("SIGINT"),
            };
            // A full queue has the same event in it already; a closed one has no use for any.
            let _ = events.try_send(event);
        }
    })?;
    Ok(())
}

/// Says that a start is over, and what came of it.
pub(super) fn say_what_is_served(status: &str, controller: &Controller, started: Instant) {
    let (after, zones) = (started.elapsed(), controller.zones.read().loaded());
    tracing::info!(zones, duration_ms = milliseconds(after), "{status} after {}", Span(after));
}

/// Watches the signatures of zones from now on. Without a thread for that all else goes on.
pub(super) fn watch_expiry(controller: &Arc<Controller>) {
    if let Err(error) = expiry::watch(controller) {
        tracing::error!("cannot watch when signatures expire: {error}");
    }
}

/// Tells the service manager that a start or reload is over; returns what is served.
pub(super) fn ready(controller: &Controller) -> String {
    // Apart from the match, which would keep the lock to its end, where it is asked for again.
    let zones = controller.zones.read().count();
    let status = match (&controller.recursion, zones) {
        (Some(_), 0) => "serving as a resolver, without zones".into(),
        (Some(_), _) => format!("serving {}, and as a resolver", zones_text(controller)),
        (None, _) => format!("serving {}", zones_text(controller)),
    };
    tell(controller.notifier.get(), |notifier| notifier.ready(&status));
    status
}

pub(crate) fn tell(notifier: Option<&Notifier>, what: impl Fn(&Notifier) -> std::io::Result<()>) {
    if let Some(Err(error)) = notifier.map(what) {
        tracing::debug!("the service manager could not be told: {error}");
    }
}

/// When to tell the service manager's watchdog that we are alive: at set times, however many events come.
struct Watchdog<'n> {
    notifier: Option<&'n Notifier>,
    interval: Duration,
    next: Instant,
}

impl Watchdog<'_> {
    /// Without a watchdog there is nothing to do between events.
    const LONG: Duration = Duration::from_secs(3600);

    fn new(notifier: Option<&Notifier>) -> Watchdog<'_> {
        let interval = notifier.and_then(Notifier::watchdog_interval).unwrap_or(Self::LONG);
        Watchdog { notifier, interval, next: Instant::now() + interval }
    }

    /// Time until it is due.
    fn wait(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Tells if it is due and the workers are at work: without one of them the server is better restarted.
    fn tell_if_due(&mut self, is_serving: impl Fn() -> bool) {
        if self.wait() > Duration::ZERO {
            return;
        }
        self.next = Instant::now() + self.interval;
        if is_serving() {
            tell(self.notifier, Notifier::alive);
        } else {
            tracing::error!("a worker has ended by a fault of its own");
        }
    }
}
