//! The commands, and what they share.

use std::io::{self, Write};

pub mod api;
pub mod api_key;
pub mod check_config;
pub mod check_zone;
mod checked;
pub mod compile;
pub mod completion;
pub mod ctl;
pub mod feed;
pub mod http;
pub mod journal;
pub mod man;
pub mod serve;
pub mod settings;
pub mod stat;
pub mod store;
pub mod top;

/// What to do about a root zone whose signatures have run out.
pub const TODAYS_ROOT_ZONE: &str = "today's root zone: curl -O https://www.internic.net/domain/root.zone, \
                                    then zonda serve --zone .=root.zone";

/// Prints lines to standard error, each after the program's name.
pub fn complain<'l>(lines: impl IntoIterator<Item = &'l str>) {
    let mut stderr = io::stderr().lock();
    for line in lines {
        // Nobody is left to tell if even this fails.
        let _ = writeln!(stderr, "zonda: {line}");
    }
}

/// Prints to standard output; says whether that went well. A reader that closed the pipe has seen enough.
pub fn print(text: &str) -> bool {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain([format!("standard output: {error}").as_str()]);
            false
        }
        _ => true,
    }
}

/// Reads `ORIGIN=FILE`, for clap.
pub fn zone_argument(argument: &str) -> Result<control::wanted::Wanted, String> {
    let (name, path) = control::wanted::parse_argument(argument)?;
    let source = control::wanted::Source::File(path);
    Ok(control::wanted::Wanted { name, source, listing: None })
}
