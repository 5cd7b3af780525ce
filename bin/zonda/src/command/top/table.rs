//! Tables of a screen: a line of heads, then rows, cut to the room that there is. Numbers have columns of one width, so that nothing moves when they change.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::screen::Theme;

/// Between two columns.
const GAP: u16 = 2;

/// A column of numbers, at the right of its width.
pub struct Column {
    pub head: &'static str,
    pub width: u16,
}

/// Where labels stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Labels {
    /// Before the numbers: short words.
    First,
    /// Behind them: names, which are told apart by their beginnings and belong together by their ends, so that they are cut between.
    Last,
}

/// A table.
pub struct Table<'t> {
    pub title: Cow<'t, str>,
    pub labels: Labels,
    /// Columns of numbers that do not leave so much to labels are left out.
    pub label_width: u16,
    pub columns: Vec<Column>,
    /// Label, and a text for each column.
    pub rows: Vec<(Cow<'t, str>, Vec<String>)>,
    /// What stands in the place of rows where there are none.
    pub nothing: Cow<'t, str>,
}

impl Table<'_> {
    /// Draws it; says how many lines it took.
    pub fn draw(&self, area: Rect, theme: &Theme, buffer: &mut Buffer) -> u16 {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return 0;
        }
        let columns = self.columns_in(area.width);
        let heads: Vec<&str> = columns.iter().map(|column| column.head).collect();
        self.draw_row(area, &columns, (&self.title, &heads), theme.heading, buffer);
        let lines = usize::from(area.height - 1);
        if self.rows.is_empty() && lines > 0 {
            buffer.set_stringn(area.x, area.y + 1, &self.nothing, area.width.into(), theme.quiet);
            return 2;
        }
        // Of the most frequent there are always more.
        let has_more = self.labels == Labels::First && self.rows.len() > lines && lines > 1;
        let shown = if has_more { lines - 1 } else { lines.min(self.rows.len()) };
        for (at, (label, texts)) in self.rows.iter().take(shown).enumerate() {
            let row = Rect { y: area.y + 1 + at as u16, height: 1, ..area };
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            self.draw_row(row, &columns, (label, &texts), Style::new(), buffer);
        }
        if has_more {
            let more = format!("and {} more", self.rows.len() - shown);
            let y = area.y + 1 + shown as u16;
            buffer.set_stringn(area.x, y, more, area.width.into(), theme.quiet);
        }
        1 + shown as u16 + u16::from(has_more)
    }

    /// The first columns for which there is room.
    fn columns_in(&self, width: u16) -> Vec<&Column> {
        let mut left = width.saturating_sub(self.label_width);
        let fits = |column: &&Column| {
            let is_room = left >= column.width + GAP;
            left = left.saturating_sub(column.width + GAP);
            is_room
        };
        self.columns.iter().take_while(fits).collect()
    }

    fn draw_row(
        &self,
        area: Rect,
        columns: &[&Column],
        (label, texts): (&str, &[&str]),
        style: Style,
        buffer: &mut Buffer,
    ) {
        let taken: u16 = columns.iter().map(|column| column.width + GAP).sum();
        let room = area.width.saturating_sub(taken);
        let (label_x, mut x) = match self.labels {
            Labels::First => (area.x, area.x + room + GAP),
            Labels::Last => (area.x + taken, area.x),
        };
        for (column, text) in columns.iter().zip(texts) {
            let text = cut_end(text, column.width);
            let width = usize::from(column.width);
            buffer.set_stringn(x, area.y, format!("{text:>width$}"), width, style);
            x += column.width + GAP;
        }
        let label = match self.labels {
            Labels::First => cut_end(label, room),
            Labels::Last => cut_middle(label, room),
        };
        buffer.set_stringn(label_x, area.y, label, room.into(), style);
    }
}

/// A text in so many columns; all texts here are of ASCII, which the server sees to, and others are cut where the buffer ends.
fn cut_end(text: &str, width: u16) -> Cow<'_, str> {
    match text.char_indices().nth(width.into()) {
        None => text.into(),
        Some(_) if width < 4 => text.chars().take(width.into()).collect::<String>().into(),
        Some(_) => text.chars().take(usize::from(width) - 3).chain("...".chars()).collect::<String>().into(),
    }
}

/// The same with a third of the beginning: `host36...zone.example.com.`
fn cut_middle(text: &str, width: u16) -> Cow<'_, str> {
    let (count, width) = (text.chars().count(), usize::from(width));
    if count <= width {
        return text.into();
    }
    let kept = width.saturating_sub(3);
    let (begin, end) = (kept / 3, kept - kept / 3);
    let beginning = text.chars().take(begin);
    beginning
        .chain("...".chars())
        .chain(text.chars().skip(count - end))
        .take(width)
        .collect::<String>()
        .into()
}

/// A rate as short as it can be read: `0`, `0.4`, `12`, `1,234`; `-` where it is not known.
pub fn rate_text(rate: Option<f64>) -> String {
    match rate {
        None => "-".into(),
        Some(0.0) => "0".into(),
        Some(rate) if rate < 9.95 => format!("{rate:.1}"),
        Some(rate) => control::text::grouped(rate.round() as u64),
    }
}

/// A share of all in percent.
pub fn share_text(part: f64, all: f64) -> String {
    if all > 0.0 { format!("{:.1}%", part * 100.0 / all) } else { "-".into() }
}
