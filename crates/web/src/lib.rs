//! The HTTP process: what probes and monitoring ask over HTTP, answered apart from the server.
//!
//! ```text
//! server                                           this process
//! listeners, terms, once ------------- pair ---->  serve: accepts from whom the terms allow
//! numbers  <--- which format, an octet --'
//!          ---- length, text --------- pair ---->  numbers ----> /metrics
//! is it well? once a second ---------- pipe ---->  pulse   ----> /health  /ready
//! ```
//!
//! It is `zonda http`, a child of the server that has no file, no key and no way to the control socket; what strangers send is read here alone. In go requests of
//! HTTP/1 (RFC 9112), out come pages; what the numbers are it does not know. Design: `docs/design/observing.md` 5.
//!
//! * [`pair`]: what both processes say to each other, all that the server uses of this crate.
//! * `serve`: from the start to the end; `confine`, `filter`: rights and system calls that are given up before an octet is read; `gate`: who has a place.
//! * `answer`: a request to its page; `host`, `accept`: what its head asks for; `numbers`, `pulse`: what the server says.

mod accept;
mod answer;
mod confine;
mod filter;
mod gate;
mod host;
mod numbers;
pub mod pair;
mod pulse;
mod serve;

pub use serve::serve;
