//! Bytes of a DNS message to borrowed views and back; no allocation on any path a query takes.
//!
//! * [`name`]: domain names on the wire (RFC 1035 3.1) and in text; [`sort_key`]: their sort keys; [`places`]: where the
//!   labels of a name stand in a message.
//! * [`header`], [`question`], [`record`], [`edns`]: the parts of a message; [`query`]: one that asks us something.
//! * [`refusal`]: what is said to queries that are not looked at any further. [`cookie`]: DNS cookies; [`tsig`]: transaction signatures.
//! * [`rdata`]: where names lie in RDATA; [`message`]: messages of others, read record by record.
//! * [`rrset`]: sets of records outside of messages.
//! * [`render`]: writing a message; [`builder`]: with names that it looks for in what it has written.
//! * [`transport`]: what carries messages; [`address`]: who sends them. [`iana`]: code points of types, classes, response codes and options.
//!
//! This crate knows no sockets, no clock and no zone.

pub mod address;
pub mod builder;
pub mod cookie;
pub mod edns;
pub mod envelope;
#[doc(hidden)]
pub mod fuzz;
pub mod header;
pub mod iana;
pub mod message;
pub mod name;
pub mod places;
pub mod query;
pub mod question;
pub mod rdata;
pub mod record;
pub mod refusal;
pub mod render;
pub mod rrset;
pub mod sort_key;
pub mod transport;
pub mod tsig;

pub use address::Address;
pub use builder::Builder;
pub use message::Message;
pub use name::{Name, NameBuf};
pub use places::Places;
pub use query::Query;
pub use render::Renderer;
pub use rrset::{RdataList, Rrset};
pub use sort_key::SortKey;
pub use transport::Transport;
