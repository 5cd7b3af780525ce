//! `zonda settings`

use super::print;

/// List all settings of the settings file, or all numbers that monitoring gets.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  zonda settings --markdown >docs/manual/src/settings.md\n  zonda settings --metrics >docs/manual/src/metrics.md"
)]
pub struct Arguments {
    /// As the page of the manual, which is also what is printed without this option
    #[arg(long)]
    markdown: bool,
    /// The numbers of `/metrics` instead, as their page of the manual
    #[arg(long)]
    metrics: bool,
}

/// Prints the settings, or the numbers.
pub fn run(arguments: &Arguments) -> bool {
    match arguments.metrics {
        true => print(&control::metrics::markdown()),
        false => print(&control::settings::markdown()),
    }
}
