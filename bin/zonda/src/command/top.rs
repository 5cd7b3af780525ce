//! `zonda top`
//!
//! ```text
//! control socket --once a second--> History -- rates --.
//! keys -------------------------------------> State ---+--> screen: cells --> terminal, or text
//! ```
//!
//! * [`history`]: readings of a minute, and rates from two of them; [`state`]: what is looked at, and what keys do.
//! * [`screen`]: the whole of it, with [`views`] and their [`table`]s: from the state alone, so that tests see what people see.
//! * [`terminal`]: the only part that knows one.

mod history;
mod screen;
mod state;
mod table;
mod terminal;
mod views;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use control::client::ask;
use control::command::{Reply, Request, Top};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::json;

use self::history::History;
use self::screen::Theme;
use self::state::{State, View};
use super::ctl::socket;
use super::{complain, print};

/// Look at a running server: rates, who asks for what, workers, the resolver, memory
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Control socket of the server; default: that of the settings file, else where servers have it
    #[arg(short, long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Settings file of the server, to find its control socket
    #[arg(short, long, value_name = "FILE", conflicts_with = "socket")]
    config: Option<PathBuf>,
    /// View to begin with: 1 overview, 2 names, 3 clients and zones, 4 workers, 5 server
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=5))]
    view: u8,
    /// Print one screen as text and end
    #[arg(long)]
    once: bool,
    /// Print one JSON object and end: a reading and rates
    #[arg(long, conflicts_with = "once")]
    json: bool,
    /// How long `--once` and `--json` look
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
}

const AFTER_HELP: &str = "\
Examples:
  zonda top
  zonda top --config /etc/zonda/zonda.toml
  zonda top --once --view 2 --seconds 10
  zonda top --json | jq '.rates.types'

Keys: 1 to 5 views, p pause and go on, / filter of names, clients and zones (Enter keeps it, Esc clears it), q quit.

Rates are of the last second, and of the last minute or for as long as it was looked. Who asks for what is found from samples while somebody looks; counts fade by half in ten seconds. Colours are left out where NO_COLOR is set. COLUMNS and LINES say how large a screen of `--once` is.

Exit status: 0 fine, 1 the server could not be reached or there is no terminal, 2 wrong usage.";

/// How large a screen is where nobody says.
const SIZE: (u16, u16) = (80, 24);

/// Larger screens are no screens: cells are memory.
const SIDE_MAX: u16 = 1000;

/// Looks until somebody has seen enough; says whether that went well.
pub fn run(arguments: &Arguments) -> bool {
    let path = socket(arguments.socket.as_deref(), arguments.config.as_deref());
    match path.and_then(|path| look(arguments, &path)) {
        Ok(is_well) => is_well,
        Err(problem) => {
            complain(problem.lines());
            false
        }
    }
}

fn look(arguments: &Arguments, path: &Path) -> Result<bool, String> {
    let view = View::numbered(arguments.view).unwrap_or(View::Overview);
    if arguments.once || arguments.json {
        let history = look_for(path, arguments.seconds)?;
        return Ok(print(&match arguments.json {
            true => format!("{}\n", as_json(&history)),
            false => as_text(State::new(history, view)),
        }));
    }
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Err("there is no terminal; --once prints a screen, --json an object".into());
    }
    terminal::run(path, State::new(History::default(), view), &Theme::of_environment()).map(|()| true)
}

/// Asks the server how it is now.
fn reading(path: &Path) -> Result<Top, String> {
    let mut said = Err("the server says nothing".to_owned());
    ask(path, &Request::Top { seconds: None }, &mut |_, reply| match reply {
        Reply::Top(top) => said = Ok(*top),
        Reply::Error { message } => said = Err(message),
        _ => {}
    })?;
    said
}

/// Readings of so many seconds, one each.
fn look_for(path: &Path, seconds: u64) -> Result<History, String> {
    let mut history = History::default();
    history.add(reading(path)?);
    for _ in 0..seconds {
        thread::sleep(Duration::from_secs(1));
        history.add(reading(path)?);
    }
    Ok(history)
}

/// A screen without its keys, as lines.
fn as_text(mut state: State) -> String {
    state.has_keys = false;
    let (width, height) = size();
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    screen::draw(&state, &Theme::plain(), &mut buffer);
    let row =
        |y| (0..width).filter_map(|x| buffer.cell((x, y))).map(|cell| cell.symbol()).collect::<String>();
    let lines: Vec<String> = (0..height).map(|y| row(y).trim_end().to_owned()).collect();
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    lines[..end].iter().map(|line| format!("{line}\n")).collect()
}

/// That of the environment, or of the terminal if there is one.
fn size() -> (u16, u16) {
    let of = |name: &str| std::env::var(name).ok()?.parse::<u16>().ok().filter(|side| *side > 0);
    // Where there is none a program would be run to find its size.
    let terminal = std::io::stdout().is_terminal().then(ratatui::crossterm::terminal::size);
    let (width, height) = terminal.and_then(Result::ok).unwrap_or(SIZE);
    (of("COLUMNS").unwrap_or(width).min(SIDE_MAX), of("LINES").unwrap_or(height).min(SIDE_MAX))
}

fn as_json(history: &History) -> serde_json::Value {
    let rates = |list: fn(&Top) -> &[control::command::Count]| {
        let rates = history.rates(list).into_iter();
        rates
            .map(|rate| (rate.name, json!({ "now": rate.now, "minute": rate.minute })))
            .collect::<serde_json::Map<_, _>>()
    };
    json!({
        "seconds": history.seconds(),
        "rates": {
            "queries": rates(|top| &top.queries),
            "types": rates(|top| &top.types),
            "rcodes": rates(|top| &top.rcodes),
        },
        "processors": history.rate(|top| top.cpu_seconds).now,
        "reading": history.newest(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
