//! What the database says by NOTIFY when something is new, heard by a connection of its own.
//!
//! ```text
//! connect -> LISTEN -> in doubt ---- what the other connection sends arrives ----> heard
//!    ^                    '------- it does not, as behind a proxy ----.
//!    '--- 1, 2, 4 ... 60 s, or 10 min --- not heard <-- refused, ended '
//! ```
//!
//! It only wakes who looks: what is sent while nobody is connected is lost, so that nothing is known by it. All of it is at work while the runtime of the store's connection is: during statements, and
//! while [`Store::await_notice`] waits.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::open::Store;
use super::target::CONNECT_MAX;
use crate::fault::Fault;

/// Before it is connected to again: twice as long each time.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// A connection that has stood for so long ended for another reason than those before.
const IS_WELL_AFTER: Duration = Duration::from_secs(60);
/// How long what the other connection sends may be on its way.
const PROOF_MAX: Duration = Duration::from_secs(10);
/// What that is begins with this; the triggers send nothing with theirs.
const PROOF: &str = "proof ";
/// PostgreSQL 14 and later may end who says nothing for long.
const LISTENING: &str = "SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name = 'idle_session_timeout'; LISTEN zonda";
/// By which the connection is told from the other one.
const APPLICATION: &str = "zonda notices";
/// What a replica says to LISTEN, until it is promoted.
const READ_ONLY: &str = "25006";
/// Before it is tried again what is not for want of a connection: a replica, or a proxy, stays one for long.
const LONG_PAUSE: Duration = Duration::from_secs(600);
/// Before it is sent again what somebody held up.
const PROOF_PAUSE: Duration = Duration::from_secs(1);
/// A commit that notifies waits for others that do, of all of the cluster: looks do not wait with it.
const PROVING: &str = "BEGIN; SET LOCAL lock_timeout = '100ms'";

/// Who hears notices. Dropped, its connection ends.
pub struct Notices {
    heard: Arc<Heard>,
    task: JoinHandle<()>,
}

impl Drop for Notices {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What was heard, and how it stands.
struct Heard {
    inner: Mutex<Inner>,
    wakes: Notify,
    /// Nothing arrives by this connection.
    is_deaf: Notify,
}

struct Inner {
    /// Whether something may be new.
    is_new: bool,
    stands: Stands,
    /// Whether they were heard when that was known last.
    are_heard: Option<Result<(), String>>,
    /// Of connections: what proves the one before proves nothing of this one.
    number: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stands {
    /// It is known whether they are heard, or not connected yet.
    Known,
    /// LISTEN was taken, and nothing has come of it.
    InDoubt {
        /// When the other connection sent something.
        sent: Option<Instant>,
        /// Before that nothing is sent.
        next: Instant,
    },
}

impl Heard {
    fn new() -> Heard {
        let inner = Inner { is_new: false, stands: Stands::Known, are_heard: None, number: 0 };
        Heard { inner: Mutex::new(inner), wakes: Notify::new(), is_deaf: Notify::new() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listens(&self) {
        let mut inner = self.inner();
        inner.stands = Stands::InDoubt { sent: None, next: Instant::now() };
        inner.number += 1;
        // What was sent before was not heard.
        inner.is_new = true;
        self.wakes.notify_one();
    }

    fn lost(&self, why: String) {
        let mut inner = self.inner();
        (inner.stands, inner.are_heard) = (Stands::Known, Some(Err(why)));
        // Whatever ended it may have ended the other one.
        inner.is_new = true;
        self.wakes.notify_one();
    }

    fn takes(&self, payload: &str, own: u32) {
        let mut inner = self.inner();
        match payload.strip_prefix(PROOF) {
            Some(proof) if proof == proof_of(own, inner.number) => {
                (inner.stands, inner.are_heard) = (Stands::Known, Some(Ok(())));
                self.wakes.notify_one();
            }
            // Of another server's feeder.
            Some(_) => {}
            None => {
                inner.is_new = true;
                self.wakes.notify_one();
            }
        }
    }
}

/// What proves a connection: the process of the server that sends it, and which connection it is.
fn proof_of(backend: u32, number: u32) -> String {
    format!("{backend} {number}")
}

impl Notices {
    /// Whether something may be new since [`Notices::take`].
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.heard.inner().is_new
    }

    /// It is about to be looked.
    pub fn take(&self) {
        self.heard.inner().is_new = false;
    }

    /// Whether they are heard; the error: why not. `None`: that is not known yet.
    #[must_use]
    pub fn are_heard(&self) -> Option<Result<(), String>> {
        self.heard.inner().are_heard.clone()
    }
}

impl Store {
    /// Has another connection, to the server that this one has, hear notices. `backend`: the process that serves this one.
    #[must_use]
    pub fn notices(&self, backend: i32) -> Notices {
        let heard = Arc::new(Heard::new());
        let (mut config, tls) = self.link.other();
        config.application_name(APPLICATION);
        let task = self.link.spawn(run(config, tls, Arc::clone(&heard), backend.unsigned_abs()));
        Notices { heard, task }
    }

    /// Sends what proves that notices arrive, where that is in doubt; what does not arrive in time is in doubt no more. A look does it.
    pub fn prove(&self, notices: &Notices, backend: i32) -> Result<(), Fault> {
        let number = {
            let mut inner = notices.heard.inner();
            match inner.stands {
                Stands::InDoubt { sent: None, next } if next <= Instant::now() => {
                    inner.stands = Stands::InDoubt { sent: Some(Instant::now()), next };
                    inner.number
                }
                Stands::InDoubt { sent: Some(sent), .. } if sent.elapsed() >= PROOF_MAX => {
                    inner.stands = Stands::Known;
                    notices.heard.is_deaf.notify_one();
                    return Ok(());
                }
                _ => return Ok(()),
            }
        };
        let proof = format!("{PROOF}{}", proof_of(backend.unsigned_abs(), number));
        let sent: Result<(), Fault> = self
            .link
            .within(PROVING, || self.link.query("SELECT pg_notify('zonda', $1)", &[&proof]).map(drop));
        match sent {
            // All else can be read.
            Err(fault) if fault.is_held() => {
                let next = Instant::now() + PROOF_PAUSE;
                notices.heard.inner().stands = Stands::InDoubt { sent: None, next };
                Ok(())
            }
            Err(fault) if !matches!(fault, Fault::Away(_)) => {
                let why = format!("it is not known whether they arrive: {}", fault.lines().join("; "));
                notices.heard.lost(why);
                Ok(())
            }
            sent => sent,
        }
    }

    /// Waits until there is a notice, or something else can be read, for so long at most. Says whether it could.
    pub fn await_notice(&self, notices: &Notices, other: BorrowedFd<'_>, wait: Duration) -> bool {
        self.link.run(async {
            let Ok(other) = watched(other) else { return false };
            tokio::select! {
                () = notices.heard.wakes.notified() => {}
                _ = other.readable() => {}
                () = sleep(wait) => {}
            }
            true
        })
    }
}

/// A descriptor, to be waited for.
#[expect(
    deprecated,
    reason = "it is so for what may be another descriptor, or closed, meanwhile: one that is borrowed is neither"
)]
fn watched(other: BorrowedFd<'_>) -> std::io::Result<AsyncFd<BorrowedFd<'_>>> {
    AsyncFd::with_interest(other, Interest::READABLE)
}

/// Hears notices until nobody wants them any more.
async fn run(config: Config, tls: Option<MakeRustlsConnect>, heard: Arc<Heard>, own: u32) {
    let mut pause = PAUSES.0;
    loop {
        let began = Instant::now();
        let fault = match &tls {
            Some(tls) => match timeout(CONNECT_MAX, config.connect(tls.clone())).await {
                Ok(Ok((client, connection))) => hear(client, connection, &heard, own).await,
                Ok(Err(error)) => error.into(),
                Err(_) => silent(),
            },
            None => match timeout(CONNECT_MAX, config.connect(NoTls)).await {
                Ok(Ok((client, connection))) => hear(client, connection, &heard, own).await,
                Ok(Err(error)) => error.into(),
                Err(_) => silent(),
            },
        };
        let is_for_long = match &fault {
            Fault::Postgres { code, .. } => code == READ_ONLY,
            Fault::Refused { .. } => true,
            _ => false,
        };
        heard.lost(fault.lines().join("; "));
        if is_for_long {
            sleep(LONG_PAUSE).await;
            continue;
        }
        pause = if began.elapsed() > IS_WELL_AFTER { PAUSES.0 } else { pause };
        sleep(pause).await;
        pause = (2 * pause).min(PAUSES.1);
    }
}

/// Hears them by one connection; what ends it.
async fn hear<S, T>(client: Client, mut connection: Connection<S, T>, heard: &Heard, own: u32) -> Fault
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
    let listening = timeout(CONNECT_MAX, client.batch_execute(LISTENING));
    let (mut listening, mut is_listening) = (std::pin::pin!(listening), false);
    loop {
        tokio::select! {
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(said))) => heard.takes(said.payload(), own),
                Some(Ok(_)) => {}
                Some(Err(error)) => return error.into(),
                None => return Fault::Away("the connection has ended".into()),
            },
            done = &mut listening, if !is_listening => match done {
                Ok(Ok(())) => {
                    is_listening = true;
                    heard.listens();
                }
                Ok(Err(error)) => return error.into(),
                Err(_) => return silent(),
            },
            () = heard.is_deaf.notified() => return Fault::Refused {
                zone: String::new(),
                words: "what is sent does not arrive, as behind a proxy that gives each statement another connection".into(),
            },
        }
    }
}

fn silent() -> Fault {
    Fault::Away(format!("no word from the server for {} s", CONNECT_MAX.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wakes_and_what_proves() {
        let heard = Heard::new();
        heard.listens();
        // What was sent before LISTEN was heard by nobody.
        assert!(std::mem::take(&mut heard.inner().is_new));
        // Of another feeder, and of a connection before.
        for payload in ["proof 8 1", "proof 7 0", "proof"] {
            heard.takes(payload, 7);
            assert!(matches!(heard.inner().stands, Stands::InDoubt { sent: None, .. }), "{payload}");
        }
        assert!(std::mem::take(&mut heard.inner().is_new), "what is no proof wakes");
        heard.takes("proof 7 1", 7);
        assert_eq!(heard.inner().are_heard, Some(Ok(())));
        assert!(!heard.inner().is_new);
        heard.takes("", 7);
        assert!(heard.inner().is_new);
    }
}
