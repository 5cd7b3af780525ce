//! Numbers as text: OpenMetrics 1.0.0, and the text format 0.0.4 of Prometheus.

use std::collections::HashMap;
use std::fmt::Write;

use web::pair::Format;

use super::family::{Family, Kind, Value};
use super::readings::Readings;
use super::table::table;
use crate::controller::Controller;

/// Writes the numbers of a server, and remembers what it has said.
pub(crate) struct Exporter {
    table: Vec<Family>,
    /// What each counter was told to be, by name and labels. Counters are read while they are counted, a sum and its parts one after the other: what is computed of them can be
    /// a little less than a moment before. A reader would take that for a new start.
    told: HashMap<String, u64>,
}

impl Default for Exporter {
    fn default() -> Exporter {
        Exporter { table: table(), told: HashMap::new() }
    }
}

impl Exporter {
    /// All numbers of the server as it is now.
    pub(crate) fn render(&mut self, controller: &Controller, format: Format) -> String {
        self.write(&Readings::of(controller), format)
    }

    fn write(&mut self, readings: &Readings, format: Format) -> String {
        let mut text = String::new();
        for family in &self.table {
            let sample = family.sample();
            let mut is_first = true;
            family.each(readings, &mut |labels, value| {
                if std::mem::take(&mut is_first) {
                    head(&mut text, family, format);
                }
                let start = text.len();
                let (suffix, has_labels) = family.suffix(labels);
                text.push_str(&sample);
                text.push_str(suffix);
                if has_labels {
                    add_labels(&mut text, family.labels, labels);
                }
                let value = match (family.kind, value) {
                    (Kind::Counter | Kind::Histogram, Value::Count(count)) => {
                        Value::Count(not_less(&mut self.told, &text[start..], count))
                    }
                    (_, value) => value,
                };
                let _ = writeln!(text, " {value}");
            });
        }
        if format == Format::OpenMetrics {
            text.push_str("# EOF\n");
        }
        text
    }
}

/// A count, or the last one where that was greater.
fn not_less(told: &mut HashMap<String, u64>, name: &str, count: u64) -> u64 {
    match told.get_mut(name) {
        Some(last) => {
            *last = count.max(*last);
            *last
        }
        None => {
            told.insert(name.to_owned(), count);
            count
        }
    }
}

/// What stands before the values of a family.
fn head(text: &mut String, family: &Family, format: Format) {
    let (name, unit, help) = match format {
        Format::OpenMetrics => (family.name.clone(), family.unit(), escaped(&family.help, true)),
        Format::Text => (family.sample(), None, escaped(&family.help, false)),
    };
    let _ = writeln!(text, "# TYPE {name} {}", family.kind.word());
    if let Some(unit) = unit {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {help}");
}

fn add_labels(text: &mut String, names: &[&str], values: &[&str]) {
    debug_assert_eq!(names.len(), values.len(), "a value for each label");
    for (at, (name, value)) in names.iter().zip(values).enumerate() {
        let before = if at == 0 { '{' } else { ',' };
        let _ = write!(text, "{before}{name}=\"{}\"", escaped(value, true));
    }
    if !names.is_empty() {
        text.push('}');
    }
}

/// A text with what ends lines and strings escaped; quotes only where they end something.
fn escaped(text: &str, has_quotes: bool) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\n', "\\n");
    if has_quotes { escaped.replace('"', "\\\"") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::super::family::Read;
    use super::*;

    fn exporter() -> Exporter {
        let queries = Family {
            name: "zonda_queries".into(),
            kind: Kind::Counter,
            help: "What \"came\"\\was.".into(),
            labels: &["transport", "family"],
            from: "",
            read: Read::Each(|readings, put| {
                put(&["udp", "ipv4"], Value::Count(readings.transport.udp_queries));
                put(&["a\"b\\c\nd", "ipv6"], Value::Count(7));
            }),
        };
        let memory = Family {
            name: "zonda_memory_bytes".into(),
            kind: Kind::Gauge,
            help: "Memory.".into(),
            labels: &[],
            from: "",
            read: Read::At(|readings, _| Some(readings.transport.udp_queries), 0),
        };
        let nothing = Family {
            name: "zonda_nothing".into(),
            kind: Kind::Gauge,
            help: "Nothing.".into(),
            labels: &[],
            from: "",
            read: Read::At(|_, _| None, 0),
        };
        Exporter { table: vec![queries, memory, nothing], told: HashMap::new() }
    }

    fn with(udp_queries: u64) -> Readings {
        let mut readings = Readings::default();
        readings.transport.udp_queries = udp_queries;
        readings
    }

    #[test]
    fn both_formats_to_the_octet() {
        assert_eq!(
            exporter().write(&with(3), Format::OpenMetrics),
            "# TYPE zonda_queries counter\n\
             # HELP zonda_queries What \\\"came\\\"\\\\was.\n\
             zonda_queries_total{transport=\"udp\",family=\"ipv4\"} 3\n\
             zonda_queries_total{transport=\"a\\\"b\\\\c\\nd\",family=\"ipv6\"} 7\n\
             # TYPE zonda_memory_bytes gauge\n\
             # UNIT zonda_memory_bytes bytes\n\
             # HELP zonda_memory_bytes Memory.\n\
             zonda_memory_bytes 3\n\
             # EOF\n"
        );
        assert_eq!(
            exporter().write(&with(3), Format::Text),
            "# TYPE zonda_queries_total counter\n\
             # HELP zonda_queries_total What \"came\"\\\\was.\n\
             zonda_queries_total{transport=\"udp\",family=\"ipv4\"} 3\n\
             zonda_queries_total{transport=\"a\\\"b\\\\c\\nd\",family=\"ipv6\"} 7\n\
             # TYPE zonda_memory_bytes gauge\n\
             # HELP zonda_memory_bytes Memory.\n\
             zonda_memory_bytes 3\n"
        );
    }

    /// A counter that was read as less than before is told as it was; a gauge as it is.
    #[test]
    fn counters_never_go_down() {
        let mut exporter = exporter();
        let mut values = |queries| {
            let text = exporter.write(&with(queries), Format::Text);
            let value = |start: &str| {
                let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_default();
                line.rsplit(' ').next().and_then(|value| value.parse::<u64>().ok())
            };
            (value("zonda_queries_total{transport=\"udp\""), value("zonda_memory_bytes"))
        };
        assert_eq!(values(5), (Some(5), Some(5)));
        assert_eq!(values(4), (Some(5), Some(4)));
        assert_eq!(values(6), (Some(6), Some(6)));
    }
}
