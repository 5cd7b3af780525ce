//! The door: who is let in, and the connections there are.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::sleep;

use crate::gate::{Admitted, Bounds, Gate, is_in};
use crate::pulse::Pulse;

/// Before it is tried again to accept a connection, where the system has no room for one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How often it is looked whether the last connection is over, at the end.
const END_PAUSE: Duration = Duration::from_millis(5);

/// See the module.
pub(crate) struct Door {
    allow: Vec<(IpAddr, u8)>,
    gate: RefCell<Gate>,
    /// The connections, by number, to break them off.
    open: RefCell<HashMap<u64, AbortHandle>>,
}

/// The place of a connection, free again when this is dropped.
pub(crate) struct Seat {
    number: u64,
    /// Who has it.
    pub(crate) client: IpAddr,
    door: Rc<Door>,
}

impl Door {
    /// `allow`: networks of clients, each with how many of its bits count.
    pub(crate) fn new(allow: Vec<(IpAddr, u8)>, bounds: Bounds) -> Rc<Door> {
        Rc::new(Door { allow, gate: RefCell::new(Gate::new(bounds)), open: RefCell::default() })
    }

    /// Accepts connections once the server is heard until the process is to end, and waits for those that there are then. Each has `serve` called, whose future ends by itself in time.
    pub(crate) async fn accept_until_over<S, F>(
        self: &Rc<Door>,
        listeners: Vec<TcpListener>,
        pulse: &Pulse,
        serve: S,
    ) where
        S: Fn(TcpStream, Seat) -> F + Clone + 'static,
        F: Future<Output = ()> + 'static,
    {
        pulse.begun().await;
        let accept = |listener| spawn_local(Rc::clone(self).accept(listener, serve.clone()));
        let accepting: Vec<_> = listeners.into_iter().map(accept).collect();
        pulse.over().await;
        // Whoever has the same listeners has what waits at them.
        accepting.iter().for_each(|task| task.abort());
        while !self.open.borrow().is_empty() {
            sleep(END_PAUSE).await;
        }
    }

    async fn accept<S, F>(self: Rc<Door>, listener: TcpListener, serve: S)
    where
        S: Fn(TcpStream, Seat) -> F,
        F: Future<Output = ()> + 'static,
    {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    if let Some(seat) = self.let_in(peer) {
                        let number = seat.number;
                        let task = spawn_local(serve(stream, seat));
                        self.open.borrow_mut().insert(number, task.abort_handle());
                    }
                }
                // The client is gone already, or there are no descriptors.
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    /// A place for a client, if it may have one.
    fn let_in(self: &Rc<Door>, peer: SocketAddr) -> Option<Seat> {
        if !self.allow.iter().any(|network| is_in(peer.ip(), *network)) {
            return None;
        }
        let Admitted { number, displaced } = self.gate.borrow_mut().admit(peer.ip())?;
        let displaced = displaced.and_then(|displaced| self.open.borrow_mut().remove(&displaced));
        displaced.iter().for_each(AbortHandle::abort);
        Some(Seat { number, client: peer.ip(), door: Rc::clone(self) })
    }
}

impl Seat {
    /// The head of a request is there. `false`: numbers are wanted, and too many wait for these.
    pub(crate) fn complete(&self, are_numbers_wanted: bool) -> bool {
        self.door.gate.borrow_mut().complete(self.number, are_numbers_wanted)
    }

    /// It is answered, and another may come.
    pub(crate) fn idle(&self) {
        self.door.gate.borrow_mut().idle(self.number);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.door.gate.borrow_mut().leave(self.number);
        self.door.open.borrow_mut().remove(&self.number);
    }
}

/// A listener that the server has given.
pub(crate) fn listener(socket: OwnedFd) -> io::Result<TcpListener> {
    let socket = std::net::TcpListener::from(socket);
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket)
}
