//! Statements of the RFCs, put to the server: `ROLE/rfcNNNN/section_x_y.rs`, one test a statement.
//!
//! `ZONDA_TEST_SERVER=named` (or `nsd`, `knot`) puts them to a peer: a test that no peer passes is probably wrong.

mod auth;
mod kit;
