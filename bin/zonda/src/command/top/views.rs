//! The views: which tables a screen has, and where.

use std::borrow::Cow;

use control::command::{Count, Frequent, Took, Top, WorkerCounts};
use control::text::{grouped, octets, time_text};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};

use super::history::{History, MINUTE_SECONDS, NamedRate};
use super::screen::{Theme, sum};
use super::state::{State, View};
use super::table::{Column, Labels, Table, rate_text, share_text};

/// From this width on tables stand in three columns.
const WIDE: u16 = 120;
/// Below this one they stand below each other.
const NARROW: u16 = 60;
/// Wider tables have their numbers far from their labels.
const RATES_WIDTH_MAX: u16 = 44;
/// Between tables beside each other.
const SPACING: u16 = 3;
/// Rows of a table of transports, with all of them and its head.
const TRANSPORT_LINES: u16 = 6;

/// Numbers up to ten millions.
const RATE_WIDTH: u16 = 9;
/// What short words need, and names of counts; columns of numbers for which there is no room beside are left out.
const WORD_WIDTH: u16 = 12;
const NAME_WIDTH: u16 = 24;
/// Lines of rates on high screens: more types and codes are seldom asked for than clients are many.
const RATES_LINES_MAX: u16 = 14;
/// From so many lines on there is a line between transports and codes.
const GAP_LINES: u16 = 13;

pub fn draw(state: &State, top: &Top, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    match state.view {
        View::Overview => draw_overview(state, top, theme, area, buffer),
        View::Names => {
            let above = "above names that do not exist";
            let asked = &top.asked;
            let tables = [
                frequent(state, "names", &asked.names),
                frequent(state, above, &asked.missing),
                frequent(state, "names that got SERVFAIL", &asked.failed),
            ];
            draw_beside(&tables, WIDE, area, theme, buffer);
        }
        View::Clients => {
            let asked = &top.asked;
            let tables = [frequent(state, "clients", &asked.clients), frequent(state, "zones", &asked.zones)];
            draw_beside(&tables, WIDE, area, theme, buffer);
        }
        View::Workers => {
            let taken = took(&top.asked.took).draw(area, theme, buffer);
            workers(state.shown(), top).draw(below_of(area, taken + 1), theme, buffer);
        }
        View::Server => draw_server(state, top, theme, area, buffer),
    }
}

/// Tables beside each other from this width on, else below; the first, that of names, is somewhat wider.
fn draw_beside(tables: &[Table<'_>], width_min: u16, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let layout = match area.width < width_min {
        true => Layout::vertical(vec![Constraint::Fill(1); tables.len()]).spacing(1),
        false => {
            let width = |at| Constraint::Fill(if at == 0 { 4 } else { 3 });
            Layout::horizontal((0..tables.len()).map(width)).spacing(SPACING)
        }
    };
    for (table, area) in tables.iter().zip(layout.split(area).iter()) {
        table.draw(*area, theme, buffer);
    }
}

/// How much of what in the upper part, and who asks for what below.
fn draw_overview(state: &State, top: &Top, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let history = state.shown();
    let above = Rect { height: (area.height.min(2 * RATES_LINES_MAX) * 3 / 5).min(RATES_LINES_MAX), ..area };
    let below = below_of(area, above.height + 1);
    let codes = rates(history, "responses/s", history.most_rates(|top| &top.rcodes));
    let types = rates(history, "types/s", history.most_rates(|top| &top.types));
    let (mut first, second) = match area.width {
        ..NARROW => (above, Rect::default()),
        width => {
            let columns = if width < WIDE { 2 } else { 3 };
            let layout = Layout::horizontal(vec![Constraint::Fill(1); columns]).spacing(SPACING);
            let columns = layout.split(above);
            match columns[..] {
                [first, second, third] => {
                    types.draw(at_most(third), theme, buffer);
                    (first, second)
                }
                _ => (columns[0], columns[1]),
            }
        }
    };
    let transports = Rect { height: first.height.min(TRANSPORT_LINES), ..first };
    transport(history).draw(at_most(transports), theme, buffer);
    if area.width < WIDE {
        types.draw(at_most(second), theme, buffer);
        first = below_of(first, TRANSPORT_LINES + u16::from(first.height >= GAP_LINES));
        codes.draw(at_most(first), theme, buffer);
    } else {
        codes.draw(at_most(second), theme, buffer);
    }
    let asked = &top.asked;
    let mut tables = vec![frequent(state, "names", &asked.names), frequent(state, "clients", &asked.clients)];
    if area.width >= WIDE {
        tables.push(frequent(state, "zones", &asked.zones));
    }
    for table in &mut tables {
        table.columns.truncate(if area.width < WIDE { 1 } else { 2 });
    }
    draw_beside(&tables, NARROW, below, theme, buffer);
}

fn at_most(area: Rect) -> Rect {
    Rect { width: area.width.min(RATES_WIDTH_MAX), ..area }
}

/// What is left of an area below so many lines.
fn below_of(area: Rect, lines: u16) -> Rect {
    let lines = lines.min(area.height);
    Rect { y: area.y + lines, height: area.height - lines, ..area }
}

/// What the slower rates are of, as a head: a minute, once there are readings of one.
fn minute(history: &History) -> &'static str {
    if history.seconds() < MINUTE_SECONDS - 1.0 { "so far" } else { "minute" }
}

fn rates<'t>(history: &History, title: &'static str, rates: Vec<NamedRate>) -> Table<'t> {
    let row = |rate: NamedRate| (Cow::Owned(rate.name), vec![rate_text(rate.now), rate_text(rate.minute)]);
    Table {
        title: title.into(),
        labels: Labels::First,
        label_width: WORD_WIDTH,
        columns: vec![
            Column { head: "now", width: RATE_WIDTH },
            Column { head: minute(history), width: RATE_WIDTH },
        ],
        rows: rates.into_iter().map(row).collect(),
        nothing: "none yet".into(),
    }
}

fn transport<'t>(history: &History) -> Table<'t> {
    let mut table = rates(history, "queries/s", history.rates(|top| &top.queries));
    let all = history.rate(|top| sum(&top.queries));
    table.rows.push(("all".into(), vec![rate_text(all.now), rate_text(all.minute)]));
    table
}

/// Who asks most, and what: shares of what was sampled, the rate that makes, and what of the share is certain.
fn frequent<'t>(state: &State, title: &'static str, most: &'t Frequent) -> Table<'t> {
    let rate = state.shown().rate(|top| sum(&top.queries)).now;
    // Of all that was asked: not each query is in a zone, or has a name that does not exist.
    let all = state.shown().newest().map_or(0.0, |top| top.asked.clients.sum);
    let row = |one: &'t control::command::FrequentEntry| {
        let each = rate.filter(|_| all > 0.0).map(|rate| rate * one.count / all);
        let certain = share_text(one.count - one.error, all);
        (Cow::Borrowed(&*one.key), vec![share_text(one.count, all), rate_text(each), certain])
    };
    let is_filtered = !state.filter.is_empty() && !most.most.is_empty();
    Table {
        title: title.into(),
        labels: Labels::Last,
        label_width: WORD_WIDTH,
        columns: vec![
            Column { head: "share", width: 6 },
            Column { head: "about/s", width: RATE_WIDTH },
            Column { head: "at least", width: 8 },
        ],
        rows: most.most.iter().filter(|one| state.has(&one.key)).map(row).collect(),
        nothing: if is_filtered { "none that the filter lets through" } else { "no samples yet" }.into(),
    }
}

/// How long so many of a hundred answers took at most.
fn took(took: &Took) -> Table<'static> {
    let columns = [("50%", 50.0), ("90%", 90.0), ("99%", 99.0), ("99.9%", 99.9)];
    let time = |percent: f64| {
        let of_percent = took.percentiles.iter().find(|one| one.percent == percent);
        of_percent.map_or("-".into(), |one| time_text(one.microseconds))
    };
    let row = ("answered at once".into(), columns.map(|(_, percent)| time(percent)).into());
    Table {
        title: "time in the server".into(),
        labels: Labels::First,
        label_width: NAME_WIDTH,
        columns: columns.map(|(head, _)| Column { head, width: 8 }).into(),
        rows: if took.answers > 0.0 { vec![row] } else { Vec::new() },
        nothing: "no samples yet".into(),
    }
}

fn workers<'t>(history: &History, top: &Top) -> Table<'t> {
    let of = |get: &dyn Fn(&WorkerCounts) -> u64, worker: usize| {
        history.rate(|top| top.workers.get(worker).map_or(0.0, |counts| get(counts) as f64))
    };
    let row = |(worker, counts): (usize, &WorkerCounts)| {
        let queries = of(&|counts| counts.queries, worker);
        let udp = of(&|counts| counts.udp_queries, worker).now;
        let batches = of(&|counts| counts.udp_batches, worker).now.filter(|batches| *batches > 0.0);
        let batch = udp.zip(batches).map_or("-".into(), |(udp, batches)| format!("{:.1}", udp / batches));
        let dropped = of(&|counts| counts.udp_receive_overflows, worker).now;
        let texts = vec![
            rate_text(queries.now),
            rate_text(queries.minute),
            batch,
            rate_text(dropped),
            grouped(counts.tcp_open),
        ];
        (Cow::Owned(format!("worker {worker}")), texts)
    };
    let column = |head, width| Column { head, width };
    Table {
        title: "queries/s".into(),
        labels: Labels::First,
        label_width: WORD_WIDTH,
        columns: vec![
            column("now", RATE_WIDTH),
            column(minute(history), RATE_WIDTH),
            column("at a time", 9),
            column("dropped/s", 9),
            column("connections", 11),
        ],
        rows: top.workers.iter().enumerate().map(row).collect(),
        nothing: "no workers yet".into(),
    }
}

/// The resolver on one side; memory, zones, and what sockets and connections do on the other.
fn draw_server(state: &State, top: &Top, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let history = state.shown();
    let halves = match area.width {
        ..NARROW => Layout::vertical([Constraint::Fill(1); 2]).spacing(1),
        _ => Layout::horizontal([Constraint::Fill(1); 2]).spacing(SPACING),
    };
    let [left, right] = halves.areas(area);
    draw_resolver(state, top, theme, left, buffer);
    let amounts = |title: &'static str, head, counts: &[Count], text: &dyn Fn(u64) -> String| Table {
        title: title.into(),
        labels: Labels::First,
        label_width: WORD_WIDTH,
        columns: vec![Column { head, width: 12 }],
        rows: counts.iter().map(|count| (Cow::Owned(count.name.clone()), vec![text(count.count)])).collect(),
        nothing: "not known".into(),
    };
    let mut rest = right;
    for table in [
        amounts("memory", "", &top.memory, &octets),
        amounts("zones", "", &top.zones, &grouped),
        counted(state, history, "sockets", |top| &top.transport),
        counted(state, history, "limits", |top| &top.limited),
    ] {
        let taken = table.draw(at_most(rest), theme, buffer);
        rest = below_of(rest, taken + 1);
    }
}

fn draw_resolver(state: &State, top: &Top, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let mut table = counted(state, state.shown(), "resolver", |top| &top.resolver);
    let Some(status) = &top.resolver_status else {
        table.nothing = "there is none".into();
        table.draw(at_most(area), theme, buffer);
        return;
    };
    let rate = |name: &str| {
        let of =
            |top: &Top| top.resolver.iter().find(|count| count.name == name).map_or(0, |count| count.count);
        state.shown().rate(|top| of(top) as f64).now
    };
    let known = rate("hits").zip(rate("misses"));
    let known = known.map_or("-".into(), |(hits, misses)| share_text(hits, hits + misses));
    let fill = share_text(status.cache_entry_octets as f64, status.cache_octets as f64);
    let network = if status.is_network_out { "out" } else { "there" };
    let row = |name: &'static str, text: String| (Cow::Borrowed(name), vec![text, String::new()]);
    table.rows.splice(
        0..0,
        [
            row("network", network.into()),
            row("known", known),
            row("cache entries", grouped(status.cache_entries)),
            row("cache full", fill),
        ],
    );
    table.draw(at_most(area), theme, buffer);
}

/// Counts that are not 0, and how fast they grow.
fn counted<'t>(
    state: &State,
    history: &History,
    title: &'static str,
    list: impl Fn(&Top) -> &[Count],
) -> Table<'t> {
    let all = history.rates(list).into_iter();
    let counted = all.filter(|rate| rate.count > 0 && state.has(&rate.name)).collect();
    Table { label_width: NAME_WIDTH, ..rates(history, title, counted) }
}
