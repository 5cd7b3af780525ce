//! The process for numbers and probes, from its start to its end.
//!
//! One thread. A connection is for one request: 5 s from its begin to its end, of which nothing is left to the next. Who asks each 15 s, as Prometheus does,
//! loses a handshake by that, and slow clients have nothing to hold on to.

use std::convert::Infallible;
use std::io::{self, Write};
use std::os::unix::net::UnixStream as Pair;
use std::rc::Rc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::LocalSet;
use tokio::time::timeout;

use crate::answer::answer;
use crate::door::{Door, Seat, listener};
use crate::gate::Bounds;
use crate::numbers::{Asking, Numbers, numbers};
use crate::pair::{Given, Request};
use crate::process::{Begun, Limits, begin, line};
use crate::pulse::Pulse;

/// Connections: a probe and two monitors have three; more take memory, 8 KiB each, and nothing is gained.
pub(crate) const BOUNDS: Bounds = Bounds { places: 64, places_a_client: 8, places_of_probes: 8 };

/// Octets of a request's head: those of readers of numbers have some 500. Also the least that the parser takes.
const HEAD_OCTETS_MAX: usize = 8192;

/// From the begin of a connection to its end. A probe gives up sooner as a rule, a reader of numbers after 10 s.
const REQUEST_WAIT: Duration = Duration::from_secs(5);

/// What all connections share.
pub(crate) struct Shared {
    /// Names that a request may be for.
    pub(crate) names: Vec<String>,
    pub(crate) numbers: Numbers,
    pub(crate) pulse: Pulse,
}

/// Runs the process until the server ends, or says that this is to. Standard input is the pair (see [`crate::pair`]). The error is a line for the operator.
pub fn serve() -> Result<(), String> {
    let limits = Limits { places: BOUNDS.places, data_octets_max: None, niceness: 0 };
    let Begun { pair, given, runtime, is_confined } = begin("http", &limits)?;
    if !is_confined {
        (&pair).write_all(&[Request::IsUnconfined.octet()]).map_err(line("tell the server"))?;
    }
    runtime.block_on(LocalSet::new().run_until(run(pair, given))).map_err(line("go on"))
}

async fn run(pair: Pair, given: Given) -> io::Result<()> {
    let Given { terms, pipe, listeners } = given;
    pair.set_nonblocking(true)?;
    let (numbers, asking) = numbers(UnixStream::from_std(pair)?);
    let pipe = pipe::Receiver::from_owned_fd(pipe)?;
    let shared = Rc::new(Shared { names: terms.names, numbers, pulse: Pulse::default() });
    let door = Door::new(terms.allow, BOUNDS);
    let listeners: Vec<TcpListener> = listeners.into_iter().map(listener).collect::<io::Result<_>>()?;
    let of_each = Rc::clone(&shared);
    let serve = move |stream, seat| connection(stream, seat, Rc::clone(&of_each));
    tokio::select! {
        ended = shared.pulse.listen(pipe) => ended,
        ended = ask(asking) => ended,
        () = door.accept_until_over(listeners, &shared.pulse, serve) => Ok(()),
    }
}

/// The pair ends with the server, which is no fault of this process.
async fn ask(asking: Asking) -> io::Result<()> {
    match asking.run().await {
        Err(error) if error.kind() != io::ErrorKind::InvalidData => Ok(()),
        ended => ended,
    }
}

async fn connection(stream: TcpStream, seat: Seat, shared: Rc<Shared>) {
    // Without it the end of an answer waits for an acknowledgement.
    let _ = stream.set_nodelay(true);
    let (seat, shared) = (&seat, &*shared);
    let service =
        service_fn(move |request| async move { Ok::<_, Infallible>(answer(request, seat, shared).await) });
    let serving = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(HEAD_OCTETS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // What a client does wrong it is told, or it is cut off; there is nobody else to tell.
    let _ = timeout(REQUEST_WAIT, serving).await;
}
