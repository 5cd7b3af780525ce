//! The whole screen: views, what holds for all of them, the view, keys.
//!
//! ```text
//! 1 overview  2 names  3 clients  4 workers  5 server          PAUSED
//! queries  123,456/s   processors  1.43   memory  170 MiB   zones 1,200   up 3 d 2 h
//! one query in 4 is looked at: 12,345 in 14 s
//! ...
//! q quit  1-5 views  p pause  / filter
//! ```

use control::command::{Count, Top};
use control::text::{Seconds, grouped, octets};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::state::{State, View};
use super::table::rate_text;
use super::views;

/// Lines above a view.
const HEAD_LINES: u16 = 3;

/// How things look.
#[derive(Clone, Copy, Default)]
pub struct Theme {
    pub heading: Style,
    pub active: Style,
    pub quiet: Style,
    pub warning: Style,
}

impl Theme {
    /// Text alone.
    pub fn plain() -> Theme {
        Theme::default()
    }

    /// Without colours where `NO_COLOR` is set, to whatever but nothing.
    pub fn of_environment() -> Theme {
        match std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
            true => Theme::without_colour(),
            false => Theme::coloured(),
        }
    }

    pub fn without_colour() -> Theme {
        let plain = Style::new();
        Theme {
            heading: plain.add_modifier(Modifier::BOLD),
            active: plain.add_modifier(Modifier::REVERSED),
            quiet: plain,
            warning: plain.add_modifier(Modifier::BOLD),
        }
    }

    /// With the few colours that are to be read on dark and on light ground.
    pub fn coloured() -> Theme {
        let plain = Theme::without_colour();
        Theme { heading: plain.heading.fg(Color::Cyan), warning: plain.warning.fg(Color::Red), ..plain }
    }
}

/// Draws the state into all of the buffer.
pub fn draw(state: &State, theme: &Theme, buffer: &mut Buffer) {
    let area = buffer.area;
    if area.is_empty() {
        return;
    }
    draw_views(state, theme, line(area, 0), buffer);
    let feet = u16::from(state.has_keys);
    if let Some(top) = state.shown().newest() {
        put(&totals(state, top), Style::new(), line(area, 1), buffer);
        let body =
            Rect { y: area.y + HEAD_LINES, height: area.height.saturating_sub(HEAD_LINES + feet), ..area };
        views::draw(state, top, theme, body, buffer);
    }
    draw_notice(state, theme, line(area, 2), buffer);
    if state.has_keys {
        put(&keys(state), theme.quiet, line(area, area.height.saturating_sub(1).max(HEAD_LINES)), buffer);
    }
}

/// A line of an area; empty where there is none.
fn line(area: Rect, number: u16) -> Rect {
    let is_there = number < area.height;
    Rect { y: area.y + if is_there { number } else { 0 }, height: is_there.into(), ..area }
}

/// Writes a text into a line, as much of it as there is room for.
fn put(text: &str, style: Style, line: Rect, buffer: &mut Buffer) {
    if !line.is_empty() {
        buffer.set_stringn(line.x, line.y, text, line.width.into(), style);
    }
}

fn draw_views(state: &State, theme: &Theme, line: Rect, buffer: &mut Buffer) {
    let mut rest = line;
    for (at, (view, name)) in View::ALL.into_iter().enumerate() {
        let text = format!(" {} {name} ", at + 1);
        put(&text, if view == state.view { theme.active } else { Style::new() }, rest, buffer);
        let taken = (text.len() as u16).min(rest.width);
        rest = Rect { x: rest.x + taken, width: rest.width - taken, ..rest };
    }
    const PAUSED: &str = "PAUSED";
    let width = PAUSED.len() as u16;
    if state.is_paused() && rest.width > width {
        let at = Rect { x: rest.x + rest.width - width, width, ..rest };
        put(PAUSED, theme.warning, at, buffer);
    }
}

/// What holds for all views. Numbers have room to grow, so that what follows stays where it is.
fn totals(state: &State, top: &Top) -> String {
    let history = state.shown();
    let queries = history.rate(|top| sum(&top.queries)).now;
    let processors = history.rate(|top| top.cpu_seconds).now.map_or("-".into(), |rate| format!("{rate:.2}"));
    let memory = top.resident_octets.map_or("-".into(), octets);
    format!(
        "queries {:>9}/s   processors {processors:>5}   memory {memory:>8}   up {}",
        rate_text(queries),
        Seconds(top.uptime_seconds)
    )
}

pub fn sum(counts: &[Count]) -> f64 {
    counts.iter().map(|count| count.count as f64).sum()
}

/// What is wrong, or else how much was looked at of what was asked.
fn draw_notice(state: &State, theme: &Theme, line: Rect, buffer: &mut Buffer) {
    if let Some(problem) = &state.problem {
        return put(&format!("no answer, trying again: {problem}"), theme.warning, line, buffer);
    }
    let Some(top) = state.shown().newest() else {
        return put("asking the server", theme.quiet, line, buffer);
    };
    let asked = &top.asked;
    let which = match asked.one_in {
        0 | 1 => "each query is looked at".to_owned(),
        one_in => format!("one query in {} is looked at", grouped(u64::from(one_in))),
    };
    let text = format!("{which}: {} in {}", grouped(asked.samples), Seconds(asked.seconds as u64));
    put(&text, theme.quiet, line, buffer);
}

fn keys(state: &State) -> String {
    let filter = &state.filter;
    match (state.is_typing, filter.is_empty()) {
        (true, _) => format!("filter: {filter}_   (Enter keeps it, Esc clears it)"),
        (false, true) => "q quit   1-5 views   p pause   / filter".into(),
        (false, false) => format!("q quit   1-5 views   p pause   / filter: {filter} (Esc clears it)"),
    }
}
