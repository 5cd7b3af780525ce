//! How the server is, as it says once a second.

use std::cell::Cell;
use std::io;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::{Notify, watch};

use crate::pair::{BEAT, Beat};

/// A server that was not heard of for so long is not well: three beats.
const SILENCE_MAX: Duration = Duration::from_secs(3 * BEAT.as_secs());

/// The last that was heard.
#[derive(Debug)]
pub(crate) struct Pulse {
    last: Cell<Option<(Instant, Beat)>>,
    begun: Notify,
    /// Several wait for it.
    over: watch::Sender<bool>,
}

impl Default for Pulse {
    fn default() -> Pulse {
        Pulse { last: Cell::default(), begun: Notify::new(), over: watch::Sender::new(false) }
    }
}

impl Pulse {
    /// How the server is at `now`; one that is not heard is neither well nor ready.
    pub(crate) fn beat(&self, now: Instant) -> Beat {
        let is_heard = |(at, _): &(Instant, Beat)| now.saturating_duration_since(*at) < SILENCE_MAX;
        self.last.get().filter(is_heard).map(|(_, beat)| beat).unwrap_or_default()
    }

    /// Waits for the first beat: before that it is not known what to answer.
    pub(crate) async fn begun(&self) {
        self.begun.notified().await;
    }

    /// Waits until this process is to end.
    pub(crate) async fn over(&self) {
        // It lives as long as this.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// Listens until the pipe ends, and the server with it.
    pub(crate) async fn listen(&self, mut pipe: pipe::Receiver) -> io::Result<()> {
        // What has come since the last look; the last of it counts.
        let mut octets = [0; 64];
        loop {
            let count = pipe.read(&mut octets).await?;
            let Some(octet) = octets[..count].last() else { return Ok(()) };
            self.hear(Beat::of(*octet), Instant::now());
        }
    }

    fn hear(&self, beat: Beat, now: Instant) {
        // Kept where nobody waits yet.
        if self.last.replace(Some((now, beat))).is_none() {
            self.begun.notify_one();
        }
        if beat.is_over {
            self.over.send_replace(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_not_well() {
        let (pulse, now) = (Pulse::default(), Instant::now());
        assert_eq!(pulse.beat(now), Beat::default());
        let beat = Beat { is_well: true, is_ready: true, is_over: false };
        pulse.hear(beat, now);
        assert_eq!(pulse.beat(now + SILENCE_MAX / 2), beat);
        assert_eq!(pulse.beat(now + SILENCE_MAX), Beat::default());
    }
}
