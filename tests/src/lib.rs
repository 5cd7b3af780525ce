//! Tests through the program, beside other servers.
//!
//! The package holds a harness (this library) and four test programs:
//!
//! * `conformance`: one module an RFC, one test a statement of it;
//! * `scenario`: text files, one behaviour each;
//! * `operator`: settings, files, signals and packets that are wrong;
//! * `differential`: the same queries to `named`, `nsd`, `knotd` and `zonda`, explained differences only.
//!
//! The harness starts servers on loopback and speaks DNS with a message builder and parser of its own:
//! it shares no code with the server, so that a mistake in one is not repeated by the other.

pub mod exchange;
pub mod message;
pub mod mutate;
pub mod name;
pub mod patience;
pub mod response;
pub mod rtype;
pub mod server;
pub mod zone;
