//! Service manager: sockets it opened for us, and telling it how we are.

mod activation;
mod notify;

pub use activation::{Activated, ActivatedSocket, ActivationError, activated_sockets};
pub use notify::Notifier;
