//! `zonda-bench lab peers`: programs of other servers that are newer than the system's.

use std::{
    fmt::Write,
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
};

use clap::{Args, ValueEnum};
use lab::peers::{self, Folder, Order};

/// Where they are unpacked without a wish: where experiments look for them without one.
const FOLDER: &str = "lab-results/data/peers-unstable";

/// Options of `lab peers`.
#[derive(Args)]
pub struct Peers {
    /// Which ones.
    #[arg(value_enum, value_name = "SUITE")]
    suite: Suite,
    /// Where to: experiments find them by themselves in the default one.
    #[arg(value_name = "FOLDER", default_value = FOLDER)]
    folder: PathBuf,
    /// Mirror of Debian [default: the one that apt is set up with].
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
    /// Replace what is there by what is newest now.
    #[arg(long)]
    again: bool,
}

/// Suites.
#[derive(Clone, Copy, ValueEnum)]
enum Suite {
    /// Debian unstable, which has new versions within weeks.
    Unstable,
}

pub fn run(options: Peers) -> Result<String, lab::Error> {
    let Peers { suite: Suite::Unstable, folder, mirror, again } = options;
    let stop = Arc::new(AtomicBool::new(false));
    super::end_on_signals(&stop)?;
    Ok(text(&peers::unpack(&Order { folder, mirror, again }, &stop)?))
}

/// What is in the folder, and how it is used.
fn text(folder: &Folder) -> String {
    let mut text = String::new();
    let path = folder.path().display();
    if let Some(stamp) = &folder.stamp {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "Debian {} of {} in {path}:", stamp.suite, stamp.released);
        for (package, version) in &stamp.versions {
            let _ = writeln!(text, "  {package:<20} {version}");
        }
    }
    let _ = writeln!(
        text,
        "Experiments take them with --peers {path}, and without it where that is below their --data."
    );
    let _ = writeln!(text, "For other programs: PATH={path}/bin:$PATH");
    text
}
