//! The atomics that rings are made of, in one place so that the model checker can put its own in their stead: `tests/model_ring.rs` compiles
//! `ring.rs` a second time beside another `primitives`.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};

pub(crate) use crate::words::zeroed;
