//! What an operator and an attacker can do wrong: settings, files, signals, packets.

mod control_socket;
mod counts;
mod dynamic;
mod forwarding;
mod hostile;
mod install;
mod killed;
mod kit;
mod locks;
mod log;
mod lost;
mod marks;
mod moving;
mod packs;
mod readme;
mod reload;
mod said;
mod secondary;
mod settings;
mod signed_updates;
mod stale;
mod start;
mod transfers;
mod upgrade;
mod zone_files;
