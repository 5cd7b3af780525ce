//! Catalogs from records, through packs, as a server has them.
#![allow(clippy::unwrap_used)]

mod hostile;
mod kit;
mod life;
mod model;
mod produced;
mod rfc9432;
