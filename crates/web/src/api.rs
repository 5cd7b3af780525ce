//! The other process: requests of the API to frames, and answers back to JSON and texts.
//!
//! ```text
//! client -- TLS, HTTP/1.1 --> head: path, key, body --> talk: an ask ---- pair ----> server
//!        <------------------- refusal, reply, stream <-- talk: pieces <-- pair -----
//! ```
//!
//! It is `zonda api`, as confined as the process for numbers. One thread, which lets others go before it: what it costs no query waits for. Connections are kept. It has no list of keys:
//! each ask has the key or the session that its request has, and the server says what that may do. What an answer is made of comes in pieces, four at a time and as the client reads them.
//!
//! * `session`: who has signed in at the page; `page`: its files.
//! * `secure`: TLS, where the settings have a certificate. `talk`: asks and answers of many connections over one pair. `head`: what of a request is looked at before its body; `body`: that.
//! * `request`: a request to its reply; `change`: RRsets that are to change, of a zone or of several; `make`: zones made and removed; `explain`: which rules decide; `stream`: what is told piece by piece; `whole`: what is told once all of it is there; `reply`, `refusal`: heads and short bodies.
//!
//! Design: `docs/design/api.md`.

mod body;
mod change;
mod explain;
mod head;
mod make;
mod page;
mod refusal;
mod reply;
mod request;
mod secure;
mod session;
mod stream;
mod talk;
mod whole;

use std::cell::Cell;
use std::convert::Infallible;
use std::io;
use std::os::unix::net::UnixStream as Pair;
use std::rc::Rc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio::time::timeout;

use crate::door::{Door, Seat, listener};
use crate::gate::Bounds;
use crate::pair::Given;
use crate::process::{Begun, Limits, begin, line};
use crate::pulse::Pulse;
use body::{ALL_OCTETS_MAX, Rooms};
use page::Files;
use refusal::Refusal;
use secure::{Begun as Greeted, HANDSHAKE_WAIT, Secure};
use session::Way;
use talk::Talk;

/// Connections: a controller has one or two, and 64 in flight of one are measured. Each has one request at a time, so that there are as many asks at the most.
const BOUNDS: Bounds = Bounds { places: 128, places_a_client: 64, places_of_probes: 0 };

/// Octets of a request's head.
const HEAD_OCTETS_MAX: usize = 16 << 10;

/// From one request, or the begin of a connection, to the end of the next one's head. Clients open another connection.
const HEAD_WAIT: Duration = Duration::from_secs(30);

/// Requests of one connection, so that none stays for ever.
const REQUESTS_MAX: u32 = 10_000;

/// How long octets that were sent may wait for a client that does not take them.
const WRITE_WAIT: Duration = Duration::from_secs(30);

/// Memory: heads, small bodies, pieces and parts of all connections, half a mebibyte of each; what TLS has of each; and large requests.
const DATA_OCTETS_MAX: u64 =
    (64 << 20) + BOUNDS.places as u64 * secure::CONNECTION_OCTETS_MAX + ALL_OCTETS_MAX as u64;

/// A tenth of a processor that others want.
const NICENESS: i32 = 10;

/// What all connections share.
struct Shared {
    /// Names that a request may be for, as the settings have them.
    names: Rc<[String]>,
    /// `None`: all is in clear text.
    secure: Option<Secure>,
    talk: Talk,
    /// The page, if there is one.
    files: Option<Files>,
    /// Octets of large requests that are under way.
    bodies: Rc<Rooms>,
    /// Whether the process is to end.
    over: watch::Sender<bool>,
}

impl Shared {
    /// Names that a request may be for.
    fn names(&self) -> Rc<[String]> {
        let shown = self.secure.as_ref().and_then(Secure::names);
        shown.unwrap_or_else(|| Rc::clone(&self.names))
    }
}

/// Runs the process until the server ends, or says that this is to. Standard input is the pair (see [`crate::pair`]). The error is a line for the operator.
pub fn serve() -> Result<(), String> {
    let limits = Limits { places: BOUNDS.places, data_octets_max: Some(DATA_OCTETS_MAX), niceness: NICENESS };
    let Begun { pair, given, runtime, is_confined } = begin("api", &limits)?;
    // It is going to have the certificate's key: programs that take cores do so whatever the limit, and others of this user could read its memory.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| line("hide its memory")(errno.into()))?;
    runtime.block_on(LocalSet::new().run_until(run(pair, given, is_confined))).map_err(line("go on"))
}

async fn run(pair: Pair, given: Given, is_confined: bool) -> io::Result<()> {
    let Given { terms, pipe, listeners } = given;
    pair.set_nonblocking(true)?;
    let pair = UnixStream::from_std(pair)?;
    let pipe = pipe::Receiver::from_owned_fd(pipe)?;
    let names: Rc<[String]> = terms.names.into();
    let (talk, pulse, (over, _)) =
        (Talk::new(Rc::clone(&names)), Rc::new(Pulse::default()), watch::channel(false));
    if !is_confined {
        talk.say_unconfined();
    }
    let secure = terms.is_secure.then(|| Secure::new(talk.shown()));
    let (files, bodies) = (terms.page.then(Files::new), Rc::default());
    let shared = Rc::new(Shared { names, secure, talk: talk.clone(), files, bodies, over });
    let door = Door::new(terms.allow, BOUNDS);
    let listeners: Vec<TcpListener> = listeners.into_iter().map(listener).collect::<io::Result<_>>()?;
    let of_each = Rc::clone(&shared);
    let serve = move |stream, seat| connection(stream, seat, Rc::clone(&of_each));
    tokio::select! {
        ended = pulse.listen(pipe) => ended,
        ended = talk.run(pair) => ended,
        () = say_when_over(&pulse, &shared.over) => Ok(()),
        () = door.accept_until_over(listeners, &pulse, serve) => Ok(()),
    }
}

/// Tells connections that wait for a request that there is to be none any more. Never ends.
async fn say_when_over(pulse: &Pulse, over: &watch::Sender<bool>) {
    pulse.over().await;
    over.send_replace(true);
    std::future::pending().await
}

async fn connection(stream: TcpStream, seat: Seat, shared: Rc<Shared>) {
    // Without it the end of an answer waits for an acknowledgement.
    let _ = stream.set_nodelay(true);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, WRITE_WAIT.as_millis() as u32);
    let is_loopback = stream.local_addr().is_ok_and(|own| own.ip().to_canonical().is_loopback());
    let way = Way { is_secure: shared.secure.is_some(), is_loopback };
    let Some(secure) = &shared.secure else { return speak(stream, seat, way, &shared).await };
    let mut over = shared.over.subscribe();
    let greeted = tokio::select! {
        greeted = secure.begin(stream) => greeted,
        _ = over.wait_for(|over| *over) => None,
    };
    match greeted {
        Some(Greeted::Secure(stream)) => speak(stream, seat, way, &shared).await,
        Some(Greeted::Clear(stream)) => drop(timeout(HANDSHAKE_WAIT, refuse_clear_text(stream)).await),
        None => {}
    }
}

/// Answers requests until the client goes, or the process is to end.
async fn speak<S>(stream: S, seat: Seat, way: Way, shared: &Rc<Shared>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut over = shared.over.subscribe();
    let requests = Cell::new(0);
    let seat = Rc::new(seat);
    let (seat, requests) = (&seat, &requests);
    let service = service_fn(move |asked| async move {
        requests.set(requests.get() + 1);
        let is_last = requests.get() >= REQUESTS_MAX || *shared.over.borrow();
        Ok::<_, Infallible>(request::answer(asked, seat, shared, (way, is_last)).await)
    });
    let mut serving = std::pin::pin!(http().serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // What a client does wrong it is told, or it is cut off; there is nobody else to tell.
        _ = &mut serving => return,
        _ = over.wait_for(|over| *over) => {}
    }
    serving.as_mut().graceful_shutdown();
    let _ = serving.await;
}

/// Tells who speaks HTTP where TLS is spoken that it is so.
async fn refuse_clear_text(stream: TcpStream) {
    let words = "expected TLS: ask with https://. What was sent passed in clear text: if a key was in it, make another";
    let service =
        service_fn(
            move |_| async move { Ok::<_, Infallible>(Refusal::new(400, words).and_end().response()) },
        );
    let _ = http().serve_connection(TokioIo::new(stream), service).await;
}

fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.max_buf_size(HEAD_OCTETS_MAX).timer(TokioTimer::new()).header_read_timeout(HEAD_WAIT);
    http
}
