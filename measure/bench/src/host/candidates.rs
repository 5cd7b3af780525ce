//! The machines that ISC measured for its testbed (ISC-TN-2008-1, section 2), with this one as a row.
//!
//! The copy of the note that the table was taken from has lost which of seven columns is empty in the rows of lmbench and STREAM. The
//! latencies tell: 155 ns are between those of the machine with the slowest memory, so that `Iron Systems M-class` has none.

use std::fmt;

use super::bandwidth::Bandwidth;

/// A machine, and what its main memory does.
struct Candidate {
    name: &'static str,
    /// Nanoseconds of a load (lmbench).
    latency_ns: Option<f64>,
    /// MB/s of copy, scale, add and triad (STREAM).
    bandwidth: Option<[f64; 4]>,
}

/// By the order of the note; the fifth was chosen.
const CANDIDATES: [Candidate; 7] = [
    Candidate {
        name: "Sun Fire X4200, 4 AMD 254, 2.8 GHz",
        latency_ns: Some(83.0),
        bandwidth: Some([1724.0, 1785.0, 1896.0, 1893.0]),
    },
    Candidate {
        name: "Sun Fire X4200, 4 AMD 285, 2.6 GHz",
        latency_ns: Some(83.0),
        bandwidth: Some([1816.0, 1885.0, 1994.0, 1958.0]),
    },
    Candidate { name: "Iron Systems M-class, 4 AMD 280, 2.4 GHz", latency_ns: None, bandwidth: None },
    Candidate {
        name: "Celestica A8440, 2 AMD 846, 2.0 GHz",
        latency_ns: Some(155.0),
        bandwidth: Some([1122.0, 1175.0, 1254.0, 1138.0]),
    },
    Candidate {
        name: "HP DL 140g3, 4 Xeon, 3.0 GHz (chosen)",
        latency_ns: Some(72.0),
        bandwidth: Some([2586.0, 2751.0, 2884.0, 2890.0]),
    },
    Candidate {
        name: "Iron Systems I-class, 2 Xeon, 2.4 GHz",
        latency_ns: Some(109.0),
        bandwidth: Some([1309.0, 1194.0, 1329.0, 1524.0]),
    },
    Candidate {
        name: "Compaq, 1 Celeron, 1.25 GHz",
        latency_ns: Some(109.0),
        bandwidth: Some([285.0, 310.0, 394.0, 397.0]),
    },
];

/// Writes the table. `latency` and `bandwidth` of this machine with the largest working set, which lies in main memory where caches are
/// smaller.
pub fn write(f: &mut fmt::Formatter<'_>, latency: Option<f64>, bandwidth: Option<&Bandwidth>) -> fmt::Result {
    writeln!(f, "\nmain memory beside the machines that ISC-TN-2008-1 chose from, ns and MB/s")?;
    writeln!(f, "{:<42} {:>7} {:>7} {:>7} {:>7} {:>7}", "", "load", "copy", "scale", "add", "triad")?;
    for Candidate { name, latency_ns, bandwidth } in &CANDIDATES {
        row(f, name, *latency_ns, *bandwidth)?;
    }
    let bandwidth = bandwidth.map(|here| [here.copy, here.scale, here.add, here.triad]);
    row(f, "this machine", latency, bandwidth)
}

fn row(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    latency: Option<f64>,
    bandwidth: Option<[f64; 4]>,
) -> fmt::Result {
    let text = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.0}"));
    write!(f, "{name:<42} {:>7}", text(latency))?;
    (0..4).try_for_each(|at| write!(f, " {:>7}", text(bandwidth.map(|all| all[at]))))?;
    writeln!(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Written(Option<f64>, Bandwidth);

    impl fmt::Display for Written {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write(f, self.0, Some(&self.1))
        }
    }

    #[test]
    fn this_machine_is_the_last_row() {
        let here = Bandwidth { octets: 1, copy: 10_000.4, scale: 2.0, add: 3.0, triad: 4.0 };
        let text = Written(Some(99.6), here).to_string();
        let rows: Vec<&str> = text.lines().skip(3).collect();
        assert_eq!(rows.len(), 8);
        assert!(
            rows[7].starts_with("this machine ") && rows[7].contains("100   10000       2       3       4"),
            "{text}"
        );
        assert!(rows[4].contains("72    2586"), "{text}");
        assert!(rows[2].ends_with('–'), "{text}");
    }
}
