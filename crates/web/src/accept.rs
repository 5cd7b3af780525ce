//! Which format a reader of numbers prefers (RFC 9110 12.5.1).

use hyper::HeaderMap;
use hyper::header::ACCEPT;

use crate::pair::Format;

/// Ranges of a header that are looked at: a reader of numbers has five.
const RANGES_MAX: usize = 32;

/// OpenMetrics where it is wanted as much as text, or more. Who says nothing, or nothing that there is, gets text, which every reader can read.
pub(crate) fn format(headers: &HeaderMap) -> Format {
    let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let (mut open_metrics, mut text) = (0, 0);
    for range in lines.flat_map(|line| line.split(',')).take(RANGES_MAX) {
        match read(range) {
            Some(("application/openmetrics-text", None | Some("1.0.0"), weight)) => {
                open_metrics = open_metrics.max(weight);
            }
            Some(("text/plain", None | Some("0.0.4"), weight)) => text = text.max(weight),
            _ => {}
        }
    }
    if open_metrics > 0 && open_metrics >= text { Format::OpenMetrics } else { Format::Text }
}

/// Type, version, and how much it is wanted in thousandths. `None`: it is not read.
fn read(range: &str) -> Option<(&str, Option<&str>, u16)> {
    let mut parts = range.split(';').map(str::trim);
    let (kind, mut version, mut weight) = (parts.next()?, None, 1000);
    for part in parts {
        match part.split_once('=')? {
            ("version", value) => version = Some(value.trim_matches('"')),
            ("q", value) => weight = (value.parse::<f32>().ok()?.clamp(0.0, 1.0) * 1000.0) as u16,
            _ => {}
        }
    }
    Some((kind, version, weight))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_readers_send() {
        let format = |line: &str| {
            let headers: HeaderMap = [(ACCEPT, line.parse().unwrap())].into_iter().collect();
            format(&headers)
        };
        // Prometheus 2.5 to 3.
        for open_metrics in [
            "application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1, application/openmetrics-text",
            "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.9,text/plain;version=0.0.4;q=0.3",
            "application/openmetrics-text",
        ] {
            assert_eq!(format(open_metrics), Format::OpenMetrics, "{open_metrics}");
        }
        for text in [
            "*/*",
            "",
            "text/html",
            "text/plain;version=0.0.4",
            "application/openmetrics-text;version=2.0.0",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=0.5,text/plain",
            "application/openmetrics-text;q=NaN",
            ";;;===,,,",
        ] {
            assert_eq!(format(text), Format::Text, "{text}");
        }
        assert_eq!(super::format(&HeaderMap::new()), Format::Text);
    }
}
