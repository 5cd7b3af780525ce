//! What of a chart can be drawn, and which colour and mark each series has.

use crate::{
    known::Known,
    number,
    record::{Chart, ChartKind, Role},
};

/// Greater values are not drawn, nor are they results of anything: arithmetic with them would leave the numbers.
pub const VALUE_MAX: f64 = 1e100;
/// Smaller values are not drawn on a logarithmic axis.
const LOG_MIN: f64 = 1e-100;
/// Colours there are; the last is grey, for the limit program.
pub const SLOTS: usize = 8;

/// Colours of those who take part most often, so that each has the same in all charts of a report.
const OWN_SLOT: [(&str, usize); 7] =
    [("zonda", 0), ("named", 1), ("nsd", 2), ("knot", 3), ("pdns", 4), ("unbound", 5), ("echo", 7)];

/// A series as it is drawn.
#[derive(Clone, Debug)]
pub struct Drawn<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its role; what is published counts as measured where nothing else is shown.
    pub role: Role,
    /// Its colour, below [`SLOTS`].
    pub slot: usize,
    /// Finite, low ≤ y ≤ high; above zero on a logarithmic axis.
    pub points: Vec<Spot>,
}

/// A point as it is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// Quantity, or index of a category.
    pub x: f64,
    /// Value.
    pub y: f64,
    /// Ends of its spread where it has one.
    pub spread: Option<(f64, f64)>,
    /// What is known of `y`.
    pub known: Known,
}

impl Spot {
    /// The value as it stands beside a bar, with a sign where it is known from one side alone.
    pub fn label(&self) -> String {
        self.known.sign().to_owned() + &number::short(self.y)
    }

    /// Value and ends of the spread.
    pub fn values(&self) -> impl Iterator<Item = f64> + use<> {
        let (low, high) = self.spread.unwrap_or((self.y, self.y));
        [self.y, low, high].into_iter()
    }
}

/// The series of a chart that have a point that can be drawn.
pub fn drawn(chart: &Chart) -> Vec<Drawn<'_>> {
    let slots = slots(chart);
    let is_quoted = chart.series.iter().all(|series| series.role != Role::Measured);
    let series = chart.series.iter().zip(slots).map(|(series, slot)| Drawn {
        name: &series.name,
        role: match series.role {
            Role::Published if is_quoted => Role::Measured,
            role => role,
        },
        slot,
        points: series.points.iter().filter_map(|point| spot(chart, point)).collect(),
    });
    series.filter(|series| !series.points.is_empty()).collect()
}

fn spot(chart: &Chart, point: &crate::record::Point) -> Option<Spot> {
    let is_value = |value: f64| value.abs() <= VALUE_MAX;
    let is_there = match chart.kind {
        ChartKind::Lines => is_value(point.x),
        ChartKind::Bars => {
            point.x >= 0.0 && point.x.fract() == 0.0 && point.x < chart.categories.len() as f64
        }
    };
    if !is_there || !is_value(point.y) || (chart.y_log && point.y < LOG_MIN) {
        return None;
    }
    let floor = if chart.y_log { LOG_MIN } else { -VALUE_MAX };
    let low = point.low.filter(|&low| is_value(low)).map(|low| low.clamp(floor, point.y));
    let high = point.high.filter(|&high| is_value(high)).map(|high| high.max(point.y));
    // A low end of zero has no place on a logarithmic axis: the bar ends at the point.
    let low = low.map(|low| if chart.y_log && low <= LOG_MIN { point.y } else { low });
    let spread = (low.is_some() || high.is_some()).then(|| (low.unwrap_or(point.y), high.unwrap_or(point.y)));
    Some(Spot { x: point.x, y: point.y, spread, known: point.known })
}

/// A colour for each series: its own where it has one, that of the series it belongs to if it is a target or published,
/// else the next that is free.
fn slots(chart: &Chart) -> Vec<usize> {
    let mut slots = vec![None; chart.series.len()];
    let mut is_taken = [false; SLOTS];
    let measured = |place: &usize| chart.series[*place].role == Role::Measured;
    for place in (0..slots.len()).filter(measured) {
        let own = own_slot(&chart.series[place].name).filter(|&slot| !is_taken[slot]);
        if let Some(slot) = own {
            slots[place] = Some(slot);
            is_taken[slot] = true;
        }
    }
    let (first, second): (Vec<usize>, Vec<usize>) = (0..slots.len()).partition(measured);
    for (count, place) in first.into_iter().chain(second).enumerate() {
        if slots[place].is_none() {
            let kin = match chart.series[place].role {
                Role::Measured => None,
                _ => kin(chart, place).and_then(|kin| slots[kin]),
            };
            let free = is_taken.iter().position(|taken| !taken);
            let slot = kin.or(free).unwrap_or(count % SLOTS);
            slots[place] = Some(slot);
            is_taken[slot] = true;
        }
    }
    slots.into_iter().map(|slot| slot.unwrap_or(0)).collect()
}

/// The colour that belongs to a name, where one does.
pub fn own_slot(name: &str) -> Option<usize> {
    let first = name.split(|character: char| !character.is_ascii_alphanumeric()).next()?;
    OWN_SLOT.iter().find(|(own, _)| *own == first).map(|(_, slot)| *slot)
}

/// The measured series whose name a target or published series has in its own: `target, zonda`. What is simulated may also
/// be of a published series; `measured` at the end of a name tells roles apart and is not part of it.
fn kin(chart: &Chart, place: usize) -> Option<usize> {
    let name = &chart.series[place].name;
    let is_simulated = chart.series[place].role == Role::Simulated;
    let is_of = |role| role == Role::Measured || is_simulated && role == Role::Published;
    let bare = |other: &crate::record::Series| other.name.trim_end_matches(", measured").to_owned();
    let is_kin = |other: &&crate::record::Series| is_of(other.role) && !other.name.is_empty();
    let longest = chart.series.iter().filter(is_kin).filter(|other| name.contains(&bare(other)));
    let longest = longest.max_by_key(|other| other.name.len())?;
    chart.series.iter().position(|other| std::ptr::eq(other, longest))
}
