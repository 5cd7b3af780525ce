//! The schedule in virtual time, with primaries that come and go.

mod many;
mod one;
mod random;
mod world;
