//! Scripts of messages, one for each rule; random streams.

mod kit;
mod random;
mod rules;
mod signed;
