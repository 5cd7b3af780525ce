//! The HTTP API, as far as it needs no socket, no thread and no file: what is asked for, what bodies say, what the process that reads them and the server say to
//! each other.
//!
//! ```text
//! method, path, query --> path::Request ----.
//! body, JSON -----------> json::read ------- frame::Ask --> octets --> server
//! JSON <----------------- json::write <----- frame::Answer <-- octets <-- server
//! ```
//!
//! * [`path`]: methods and paths of both roots to requests; what is none, to its status.
//! * [`json`]: bodies to RRsets in wire form and fields of zones, and back to the form of PowerDNS.
//! * [`openapi`]: the same described for programs.
//! * [`page`]: the files of the page to look at. [`letters`]: octets as letters for headers and addresses.
//! * [`frame`]: asks and answers, to the octet. That is all that the server uses of this crate, with [`tag`] and [`pattern`].
//! * [`tag`]: by which versions of zones are told apart, and conditions on them.
//! * [`pattern`]: what is searched for, compared with names and contents.
//!
//! Of JSON, HTTP and presentation format the server reads nothing: it reads what [`frame`] says, and writes names and contents as clients are told them where it compares them. Design:
//! `docs/design/api.md`.

pub mod frame;
#[doc(hidden)]
pub mod fuzz;
pub mod json;
pub mod letters;
pub mod openapi;
pub mod page;
pub mod path;
pub mod pattern;
pub mod tag;
