//! The end of the server: told to stop, or another process has taken over.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use net::systemd::Notifier;
use rustix::process::{Pid, Signal};

use super::events::{End, Event, tell};
use crate::controller::Controller;
use crate::upgrade::UPGRADE_DRAIN;
use crate::upgrade::give::{Ended, Process};

/// How long the end may wait for TCP clients to take their answers.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// How long it may wait for those who ask over HTTP: an answer is made in milliseconds.
const HTTP_PATIENCE: Duration = Duration::from_millis(500);

pub(super) fn finish(
    controller: &Controller,
    end: End,
    received: &mpsc::Receiver<Event>,
) -> Result<(), Vec<String>> {
    let reason = match end {
        End::Stopped(reason) => reason,
        End::HandedOver(process, has_reload) => return leave(controller, process, has_reload, received),
    };
    tracing::info!("stopping: {reason}");
    tell(controller.notifier.get(), Notifier::stopping);
    controller.http.stopping();
    // Taken out first: others may ask for it while clients take their answers.
    let running = controller.running.lock().take();
    // One that took over in this moment is meant too.
    if let Some(pid) = controller.upgrade.end() {
        send_signal(pid, Signal::TERM);
    }
    if let Some(running) = running {
        running.stop(STOP_PATIENCE);
    }
    // What it has asked for is carried out, as all that the changer has.
    controller.api.leave(HTTP_PATIENCE);
    controller.observing.stop();
    if let Some(recursion) = &controller.recursion {
        recursion.write_at_end();
    }
    controller.stores.stop();
    controller.catalogs.stop();
    controller.secondaries.stop();
    controller.verifier.stop();
    controller.forwarder.stop();
    controller.dynamic.stop();
    controller.write_texts();
    controller.historian.stop();
    controller.transfers.say(Instant::now());
    // Probes were told until here that it stops.
    controller.http.leave(HTTP_PATIENCE);
    tracing::info!("stopped");
    Ok(())
}

/// How often it is looked whether the last client is gone, and nobody waits for that.
const LEAVE_PAUSE: Duration = Duration::from_millis(20);

/// Leaves the sockets to the process that has taken over, and ends once those have their answers who asked before.
fn leave(
    controller: &Controller,
    mut process: Process,
    mut has_reload: bool,
    received: &mpsc::Receiver<Event>,
) -> Result<(), Vec<String>> {
    // Before the workers go, whose numbers are asked for: the successor's process answers already.
    controller.http.leave(HTTP_PATIENCE);
    controller.api.leave(HTTP_PATIENCE);
    // Zones of others are the successor's now.
    controller.stores.stop();
    controller.catalogs.stop();
    controller.secondaries.stop();
    let Some(mut running) = controller.running.lock().take() else { return Ok(()) };
    running.leave(Instant::now() + UPGRADE_DRAIN, STOP_PATIENCE);
    // Without it another start is to come, which needs the addresses; or another one has taken over from it, and there is no hurry, but nothing to wait for either.
    while !running.has_ended() && process.ended().is_none() {
        if std::mem::take(&mut has_reload) {
            send_signal(process.id(), Signal::HUP);
        }
        match received.recv_timeout(LEAVE_PAUSE) {
            Ok(Event::Stop(_)) => break,
            Ok(Event::Reload) => has_reload = true,
            _ => {}
        }
    }
    running.stop(STOP_PATIENCE);
    controller.observing.stop();
    controller.transfers.say(Instant::now());
    tracing::info!("all connections are over");
    match process.ended() {
        Some(Ended::Otherwise) => {
            Err(vec![format!("process {}, which had taken over as the server, has ended", process.id())])
        }
        Some(Ended::InOrder) | None => Ok(()),
    }
}

fn send_signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have ended by itself.
        let _ = rustix::process::kill_process(pid, signal);
    }
}
