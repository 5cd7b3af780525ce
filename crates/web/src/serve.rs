//! The process from its start to its end.
//!
//! One thread. A connection is for one request: 5 s from its begin to its end, of which nothing is left to the next. Who asks each 15 s, as Prometheus does,
//! loses a handshake by that, and slow clients have nothing to hold on to.

use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as Pair;
use std::rc::Rc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::{AbortHandle, LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

use crate::answer::answer;
use crate::confine::{close_inherited, confine};
use crate::filter::refuse;
use crate::gate::{Admitted, Gate, is_in};
use crate::numbers::{Asking, Numbers, numbers};
use crate::pair::{Given, Request, Terms, introduced};
use crate::pulse::Pulse;

/// Octets of a request's head: those of readers of numbers have some 500. Also the least that the parser takes.
const HEAD_OCTETS_MAX: usize = 8192;

/// From the begin of a connection to its end. A probe gives up sooner as a rule, a reader of numbers after 10 s.
const REQUEST_WAIT: Duration = Duration::from_secs(5);

/// Before it is tried again to accept a connection, where the system has no room for one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How often it is looked whether the last connection is over, at the end.
const END_PAUSE: Duration = Duration::from_millis(5);

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) terms: Terms,
    pub(crate) gate: RefCell<Gate>,
    pub(crate) numbers: Numbers,
    pub(crate) pulse: Pulse,
    /// The connections, by number, to break them off.
    open: RefCell<HashMap<u64, AbortHandle>>,
}

/// Runs the process until the server ends, or says that this is to. Standard input is the pair (see [`crate::pair`]). The error is a line for the operator.
pub fn serve() -> Result<(), String> {
    close_inherited().map_err(line("close what was inherited"))?;
    let pair = Pair::from(io::stdin().as_fd().try_clone_to_owned().map_err(line("use standard input"))?);
    let given = introduced(&pair)
        .map_err(|error| format!("this is started by `zonda serve`, for `[http] listen`: {error}"))?;
    let is_confined = confine().map_err(line("give up rights"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(line("prepare"))?;
    // The runtime has what it needs, and makes no thread.
    let is_filtered = refuse().map_err(line("give up system calls"))?;
    if !is_confined || !is_filtered {
        (&pair).write_all(&[Request::IsUnconfined.octet()]).map_err(line("tell the server"))?;
    }
    runtime.block_on(LocalSet::new().run_until(run(pair, given))).map_err(line("go on"))
}

fn line(act: &'static str) -> impl Fn(io::Error) -> String {
    move |error| format!("cannot {act}: {error}")
}

async fn run(pair: Pair, given: Given) -> io::Result<()> {
    let Given { terms, pipe, listeners } = given;
    pair.set_nonblocking(true)?;
    let (numbers, asking) = numbers(UnixStream::from_std(pair)?);
    let pipe = pipe::Receiver::from_owned_fd(pipe)?;
    let (gate, open) = (RefCell::default(), RefCell::default());
    let shared = Rc::new(Shared { terms, gate, numbers, pulse: Pulse::default(), open });
    let listeners: Vec<TcpListener> = listeners.into_iter().map(listener).collect::<io::Result<_>>()?;
    tokio::select! {
        ended = shared.pulse.listen(pipe) => ended,
        ended = ask(asking) => ended,
        () = accept_until_over(listeners, &shared) => Ok(()),
    }
}

/// The pair ends with the server, which is no fault of this process.
async fn ask(asking: Asking) -> io::Result<()> {
    match asking.run().await {
        Err(error) if error.kind() != io::ErrorKind::InvalidData => Ok(()),
        ended => ended,
    }
}

fn listener(socket: OwnedFd) -> io::Result<TcpListener> {
    let socket = std::net::TcpListener::from(socket);
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket)
}

/// Accepts connections until the process is to end, and waits for those that there are then.
async fn accept_until_over(listeners: Vec<TcpListener>, shared: &Rc<Shared>) {
    shared.pulse.begun().await;
    let accepting: Vec<_> =
        listeners.into_iter().map(|listener| spawn_local(accept(listener, Rc::clone(shared)))).collect();
    shared.pulse.over().await;
    // Whoever has the same listeners has what waits at them.
    accepting.iter().for_each(|task| task.abort());
    // Each ends by itself in time.
    while !shared.open.borrow().is_empty() {
        sleep(END_PAUSE).await;
    }
}

async fn accept(listener: TcpListener, shared: Rc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => begin(stream, peer, &shared),
            // The client is gone already, or there are no descriptors.
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Begins with a connection, if its client may have one.
fn begin(stream: TcpStream, peer: SocketAddr, shared: &Rc<Shared>) {
    if !shared.terms.allow.iter().any(|network| is_in(peer.ip(), *network)) {
        return;
    }
    let Some(Admitted { number, displaced }) = shared.gate.borrow_mut().admit(peer.ip()) else { return };
    let displaced = displaced.and_then(|displaced| shared.open.borrow_mut().remove(&displaced));
    displaced.iter().for_each(AbortHandle::abort);
    let task = spawn_local(connection(stream, Seat { number, shared: Rc::clone(shared) }));
    shared.open.borrow_mut().insert(number, task.abort_handle());
}

/// The place of a connection, free again when this is dropped.
struct Seat {
    number: u64,
    shared: Rc<Shared>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.shared.gate.borrow_mut().leave(self.number);
        self.shared.open.borrow_mut().remove(&self.number);
    }
}

async fn connection(stream: TcpStream, seat: Seat) {
    // Without it the end of an answer waits for an acknowledgement.
    let _ = stream.set_nodelay(true);
    let seat = &seat;
    let service = service_fn(move |request| async move {
        Ok::<_, Infallible>(answer(request, seat.number, &seat.shared).await)
    });
    let serving = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(HEAD_OCTETS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // What a client does wrong it is told, or it is cut off; there is nobody else to tell.
    let _ = timeout(REQUEST_WAIT, serving).await;
}
