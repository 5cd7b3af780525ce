//! Responses: those of the RFCs' examples, and of all that is between a message and its answer.
//!
//! One program, as what they share is compiled once then; what needs a process of its own stands beside it.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod access;
mod cookies;
mod elsewhere;
mod hostile;
mod kept;
mod kit;
mod limited;
mod message;
mod parts;
mod rfc1034;
mod rfc4035;
mod rfc4592;
mod rfc5155;
mod rfc6672;
mod signed;
