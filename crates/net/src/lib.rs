//! Sockets and threads: octets in, octets out, through a handler.
//!
//! A [`Server`] binds all its sockets, may then drop [`privileges`], and starts one worker thread per processor. A
//! worker owns its sockets, connections, buffers and counters; it receives datagrams in batches, frames messages on
//! TCP connections, calls its [`Handler`] and sends what that wrote. This crate never looks into a message beyond
//! its length.
//!
//! ```
//! use std::net::UdpSocket;
//! use net::{Context, Handler, Listen, Server};
//!
//! struct Echo;
//!
//! impl Handler for Echo {
//!     fn begin_batch(&mut self) {}
//!     fn handle(&mut self, query: &[u8], _: &Context, response: &mut [u8]) -> usize {
//!         response[..query.len()].copy_from_slice(query);
//!         query.len()
//!     }
//!     fn end_batch(&mut self) {}
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
mod bind;
mod bind_error;
mod counters;
mod handler;
mod listen;
mod server;
mod stop;
mod tcp;
mod token;
mod udp;
mod worker;

pub mod privileges;
pub mod systemd;

pub use admit::TcpLimits;
pub use affinity::{Pin, allowed as allowed_processors, worker_count_default};
pub use bind::Listener;
pub use bind_error::{BindError, Step};
pub use counters::WorkerCounters;
pub use handler::{Batch, Context, Exchange, Handler, Transport};
pub use listen::{Listen, Steer};
pub use server::{Running, Server, WORKERS_MAX};
pub use udp::{BATCH, Backend, UDP_QUERY_OCTETS_MAX, UDP_RESPONSE_OCTETS_MAX};
