//! `zonda settings`

use super::print;

/// List all settings of the settings file.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  zonda settings --markdown >docs/manual/src/settings.md")]
pub struct Arguments {
    /// As the page of the manual, which is also what is printed without this option
    #[arg(long)]
    markdown: bool,
}

/// Prints the settings.
pub fn run(_arguments: &Arguments) -> bool {
    print(&control::settings::markdown())
}
