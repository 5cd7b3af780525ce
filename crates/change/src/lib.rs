//! From a request to change a zone to the change: dynamic updates (RFC 2136), who may make them, serials.
//!
//! It has no sockets, files, clock or threads: a request and a state of the zone come in, an answer and a [`zone::Change`] go out.
