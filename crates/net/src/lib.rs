//! Sockets and threads: octets in, octets out, through a service.
//!
//! A [`Server`] binds all its sockets, may then drop [`privileges`], and starts one worker thread per processor. A
//! worker owns its sockets, connections, buffers and counters; it receives datagrams in batches, frames messages on
//! TCP connections, has its [`Service`] answer and sends what that wrote. This crate never looks into a message beyond
//! its length.
//!
//! ```
//! use std::net::UdpSocket;
//! use net::{Driver, Listen, Queries, Server, Service};
//!
//! struct Echo;
//!
//! impl Service for Echo {
//!     type Message = ();
//!     fn queries(&mut self, queries: &mut Queries<'_>, _: &mut Driver<'_, ()>) {
//!         while let Some(item) = queries.next() {
//!             item.room[..item.query.len()].copy_from_slice(item.query);
//!             let octets = item.query.len();
//!             item.answer(octets);
//!         }
//!     }
//! }
//!
//! let listen = Listen { addresses: vec!["127.0.0.1:0".parse()?], workers: 1, ..Listen::default() };
//! let running = Server::bind(&listen)?.start(|_worker| Echo)?;
//! let client = UdpSocket::bind("127.0.0.1:0")?;
//! client.send_to(b"hello", running.listeners()[0].address)?;
//! let mut answer = [0; 512];
//! assert_eq!(client.recv(&mut answer)?, 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))] // A test fails by panicking.

mod admit;
mod affinity;
mod ahead;
mod bind;
mod bind_error;
mod context;
mod counters;
mod driver;
mod handed;
mod host;
mod inbox;
mod later;
mod listen;
mod queries;
mod server;
mod service;
mod stop;
mod stream;
mod tap;
mod tcp;
mod ticket;
mod timer;
mod token;
mod udp;
mod upstream;
mod worker;

pub mod privileges;
pub mod systemd;

pub use admit::TcpLimits;
pub use affinity::{Pin, allowed as allowed_processors, worker_count_default};
pub use ahead::{
    AHEAD_MESSAGES, AHEAD_STREAMS_MAX, Ahead, Render, RenderCounts, RenderQueue, RenderRefused, Rendered,
    Renderer,
};
pub use bind::{Listener, listen_at};
pub use bind_error::{BindError, Step};
pub use context::{Address, Context, Now, Session, Transport};
pub use counters::WorkerCounters;
pub use driver::{Driver, REPLIES_PER_EVENT};
pub use handed::Handed;
pub use inbox::{MESSAGES_MAX, Waker};
pub use later::{
    LATER_AGE_MAX, LATER_PER_CLIENT_MAX, LATER_PER_CONNECTION_MAX, LATER_PER_WORKER_MAX, LATER_UNPROVED_MAX,
};
pub use listen::{Listen, Steer};
pub use queries::{Asked, Item, Queries};
pub use server::{Running, Server, WORKERS_MAX};
pub use service::Service;
pub use stream::{
    Messages, Pull, STREAM_WAIT_MAX, STREAMS_PER_CONNECTION_MAX, STREAMS_PER_WORKER_MAX, StreamWaker,
};
pub use tap::{TapEnd, TapRecord, TapRow, Tapped, is_in_sample};
pub use ticket::{Refused, Ticket};
pub use timer::{TIMERS_MAX, TimerId};
pub use udp::{BATCH, Backend, UDP_QUERY_OCTETS_MAX, UDP_RESPONSE_OCTETS_MAX};
pub use upstream::{
    ARRIVAL_OCTETS_MAX, Arrival, Arrivals, Authentication, Closed, Need, NotSent, POOL_FLOOR, PORTS_MIN,
    PathId, Ports, Protocol, Roots, SERVER_STREAMS_MAX, StreamId, TlsFault, TlsServer, TooFewPorts,
    UNSENT_OCTETS_MAX, UPSTREAM_SOCKETS_MAX, Unsent, Upstream, UpstreamSettings,
};
