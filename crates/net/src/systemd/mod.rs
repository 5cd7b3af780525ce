//! Service manager: sockets it opened for us, and telling it how we are.

mod activation;

pub use activation::{Activated, ActivatedSocket, ActivationError, activated_sockets};
