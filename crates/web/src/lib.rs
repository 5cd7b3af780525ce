//! The HTTP processes: what probes and monitoring ask over HTTP, and the API for zones, read apart from the server.
//!
//! ```text
//! server                                           this process
//! listeners, terms, once ------------- pair ---->  serve: accepts from whom the terms allow
//! numbers  <--- which format, an octet --'
//!          ---- length, text --------- pair ---->  numbers ----> /metrics
//! is it well? once a second ---------- pipe ---->  pulse   ----> /health  /ready
//! ```
//!
//! That is `zonda http`, a child of the server that has no file, no key and no way to the control socket; what strangers send is read here alone. In go requests of
//! HTTP/1 (RFC 9112), out come pages; what the numbers are it does not know. Design: `docs/design/observing.md` 5. The other one is `zonda api`, see `api`.
//!
//! * [`pair`]: what both processes say to each other, and [`certificate`]: what is shown over TLS; all that the server uses of this crate.
//! * `process`: how both begin; `confine`, `filter`: rights and system calls that are given up before an octet is read; `door`: who is let in, and `gate`: who has a place.
//! * `serve`: from the start to the end.
//! * `answer`: a request to its page; `host`, `accept`: what its head asks for; `numbers`, `pulse`: what the server says.
//! * `api`: the other process.

mod accept;
mod answer;
mod api;
pub mod certificate;
mod confine;
mod door;
mod filter;
mod gate;
mod host;
mod numbers;
pub mod pair;
mod process;
mod pulse;
mod serve;

pub use self::api::serve as serve_api;
pub use serve::serve;
