//! The resolver in a small Internet of its own, in virtual time.

mod explain;
mod hard;
mod held;
mod lossy;
mod plain;
mod scripted;
