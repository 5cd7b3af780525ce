//! A record that no experiment left: all its values are made up, so that reports can be tested and looked at.

use serde_json::json;

use crate::{
    published,
    record::{
        Agreement, Blocks, Chart, ChartKind, Contender, FORMAT, Figure, Point, Quietness, Record, Role,
        RuleCount, Series, Softirq, Table, Validity,
    },
    statistics,
};

/// What a hostile server might say of its version.
pub const HOSTILE: &str = "9.20.0 <script>alert(1)</script> \u{1b}[2J\u{202e}\"onload='x'";

const CONTENDERS: [(&str, f64, f64); 5] = [
    ("zonda", 0.912, 412.0),
    ("knot", 0.861, 688.0),
    ("nsd", 0.803, 731.0),
    ("named", 0.402, 3120.0),
    ("echo", 1.0, 0.0),
];

/// All parts of a record, with made-up values.
pub fn record() -> Record {
    Record {
        format: FORMAT,
        recipe: "root".to_owned(),
        title: "Sample data: the root zone, asked as a root server is".to_owned(),
        method: "These values are made up to show a report; nothing was measured. Each server serves the root zone with \
                 one worker on one core and is asked real queries from another.\n\nA block is a staircase of trials \
                 for each server and two for the echo server, which makes the same system calls but looks nothing \
                 up. Only ratios within a block count."
            .to_owned(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        seconds: 4983.2,
        command: ["zonda-bench", "lab", "root", "--quick"].map(str::to_owned).to_vec(),
        quick: true,
        machine: machine(),
        contenders: contenders(),
        agreement: vec![
            Agreement { contender: "knot".to_owned(), asked: 2000, equal: 2000, differences: vec![] },
            Agreement {
                contender: "named".to_owned(),
                asked: 2000,
                equal: 1998,
                differences: vec![
                    "example.com. DS: authority section has 1 record more".to_owned(),
                    "arpa. ANY: HINFO instead of the first RRset".to_owned(),
                ],
            },
        ],
        blocks: Blocks {
            kept: 12,
            discarded: vec![
                "block 4: the echoes differ by 7.3 %, 5 % at most".to_owned(),
                "block 9: 1.2 % of the time was stolen, 0.5 % at most".to_owned(),
            ],
        },
        validity: validity(),
        figures: figures(),
        targets: Vec::new(),
        tables: vec![Table {
            title: "Processor time by answer, ns".to_owned(),
            columns: ["contender", "user", "system", "engine alone"].map(str::to_owned).to_vec(),
            rows: [
                ["zonda", "214", "1,602", "131"],
                ["knot", "402", "1,655", "319"],
                ["nsd", "497", "1,640", "412"],
                ["named", "2,911", "2,204", "2,870"],
                ["echo", "83", "1,590", "0"],
            ]
            .map(|row| row.map(str::to_owned).to_vec())
            .to_vec(),
            note: "Engine alone: user time without that of the echo server.".to_owned(),
        }],
        charts: charts(),
        texts: Vec::new(),
        published: published::of("root"),
        notes: vec![
            "the echo server varied by 4 % over the run: claims below 5 % need more blocks".to_owned(),
            "named gave 2 answers that differ; look at them before its rate is used".to_owned(),
        ],
        raw: vec![json!({"block": 0, "contender": "zonda", "rate": 191_000})],
    }
}

fn validity() -> Validity {
    let rule = |rule: &str, bound: &str, (broken, again, discarded)| RuleCount {
        rule: rule.to_owned(),
        bound: bound.to_owned(),
        broken,
        again,
        discarded,
    };
    Validity {
        runs: 57,
        rules: vec![
            rule("stolen", "at most 0.5 % of the used cores' time", (3, 2, 1)),
            rule("others", "at most 1 % of all cores' time", (0, 0, 0)),
            rule("echoes", "within 5 %", (1, 0, 1)),
            rule("generator", "", (2, 0, 0)),
        ],
        softirq: [(0, "servers", 31.4), (1, "generator", 28.9)]
            .map(|(core, of, seconds)| Softirq { core, of: of.to_owned(), seconds })
            .to_vec(),
        quietness: Some(Quietness { runs: 54, stolen: (0.0008, 0.0042), others: (0.0011, 0.0093) }),
    }
}

fn machine() -> serde_json::Value {
    let cache = |level: u64, kind: &str, octets: u64, cores: &str| json!({"level": level, "kind": kind, "octets": octets, "line_octets": 64, "cores": cores});
    json!({
        "kernel": "6.1.0-sample",
        "cpu": "Sample CPU @ 2.60GHz",
        "cores": 2,
        "host": {
            "processor": {"model": "Sample CPU @ 2.60GHz", "cores": 2, "packages": 1, "threads_per_core": 2,
                          "mhz": 2600.1, "mhz_max": null, "governor": null},
            "caches": [cache(1, "Data", 49152, "0-1"), cache(1, "Instruction", 32768, "0-1"),
                       cache(2, "Unified", 2_097_152, "0-1"), cache(3, "Unified", 37_486_592, "0-1")],
            "memory": {"octets": 16_789_000_000u64, "available_octets": 15_200_000_000u64,
                       "transparent_huge_pages": "madvise"},
            "kernel": "6.1.0-sample",
            "clock_source": "tsc",
            "hypervisor": "KVM",
            "steal_share": 0.0021,
            "interfaces": [
                {"name": "eth0", "driver": "virtio_net", "receive_queues": 2, "transmit_queues": 2, "speed_mbit": 10000},
                {"name": "veth0", "driver": null, "receive_queues": 1, "transmit_queues": 1, "speed_mbit": null},
            ],
        },
    })
}

fn contenders() -> Vec<Contender> {
    let version = |name: &str| match name {
        "named" => HOSTILE.to_owned(),
        name => format!("{name} 1.2.3 (sample)"),
    };
    let contender = |&(name, ..): &(&str, f64, f64)| Contender {
        name: name.to_owned(),
        version: version(name),
        options: format!("Configure line: --with-{name}\n"),
        command: vec![name.to_owned(), "-c".to_owned(), format!("{name}.conf")],
        settings: "# sample\nlisten 127.0.0.1@5300\nworkers 1\nzone . root.zone\n".to_owned(),
    };
    CONTENDERS.iter().map(contender).collect()
}

fn figures() -> Vec<Figure> {
    let figure = |contender: &str, metric: &str, unit: &str, more_is_better, median: f64| Figure {
        contender: contender.to_owned(),
        at: String::new(),
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        more_is_better,
        values: [0.985, 0.99, 0.995, 1.0, 1.004, 1.005, 1.01].map(|factor| factor * median).to_vec(),
        median,
        interval: Some((median * 0.985, median * 1.01)),
        coverage: statistics::coverage(7),
        at_least: 0,
        at_most: 0,
        quietness: Some(Quietness { runs: 7, stolen: (0.0004, 0.0021), others: (0.001, 0.0093) }),
    };
    let mut figures = Vec::new();
    for (name, share, time) in CONTENDERS {
        let mut rate = figure(name, "rate", "/s", true, 210_000.0 * share);
        if name == "echo" {
            (rate.interval, rate.coverage, rate.at_least) = (None, None, 2);
        } else {
            let mut share = figure(name, "share of echo", "", true, share);
            share.interval = Some((share.median - 0.011, share.median + 0.007));
            figures.push(share);
            figures.push(figure(name, "user CPU", "ns", false, time));
        }
        figures.push(rate);
    }
    for (at, base) in [("half load", 48.0), ("four fifths load", 71.0)] {
        for (place, (name, ..)) in CONTENDERS.iter().enumerate() {
            let mut latency = figure(name, "p99 latency", "us", false, base * (1.0 + place as f64 * 0.4));
            latency.at = at.to_owned();
            figures.push(latency);
        }
    }
    figures
}

fn charts() -> Vec<Chart> {
    let spread = |x: f64, y: f64| Point::at(x, y).between(y * 0.93, y * 1.05);
    let scaling = |name: &str, role, one: f64, growth: f64| Series {
        name: name.to_owned(),
        role,
        points: [1.0, 2.0, 3.0, 4.0].map(|x| spread(x, one * x.powf(growth))).to_vec(),
    };
    let plain = |mut series: Series| {
        for point in &mut series.points {
            (point.low, point.high) = (None, None);
        }
        series
    };
    let share = Series {
        name: "share of echo".to_owned(),
        role: Role::Measured,
        points: CONTENDERS
            .iter()
            .enumerate()
            .map(|(place, (_, share, _))| spread(place as f64, *share))
            .collect(),
    };
    let chart = |title: &str, kind, x_label: &str, y_label: &str, series| Chart {
        title: title.to_owned(),
        kind,
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        y_log: false,
        categories: CONTENDERS.iter().map(|(name, ..)| (*name).to_owned()).collect(),
        series,
    };
    let mut latency = chart(
        "Latency at half of the weakest's maximum",
        ChartKind::Bars,
        "contender",
        "microseconds",
        [("median", 21.0), ("99 %", 55.0), ("99.9 %", 310.0)]
            .map(|(name, base)| Series {
                name: name.to_owned(),
                role: Role::Measured,
                points: (0..5)
                    .map(|place| spread(f64::from(place), base * (1.0 + f64::from(place) * 0.3)))
                    .collect(),
            })
            .to_vec(),
    );
    latency.y_log = true;
    vec![
        chart(
            "Queries per second by workers",
            ChartKind::Lines,
            "workers",
            "queries per second",
            vec![
                scaling("zonda", Role::Measured, 191_000.0, 0.98),
                scaling("knot", Role::Measured, 180_000.0, 0.9),
                scaling("named", Role::Measured, 84_000.0, 0.8),
                scaling("echo", Role::Measured, 210_000.0, 0.99),
                plain(scaling("target, zonda", Role::Target, 191_000.0, 0.66)),
                plain(scaling("BIND 9 as published (made up)", Role::Published, 20_000.0, 0.7)),
            ],
        ),
        chart(
            "Rate beside the echo server",
            ChartKind::Bars,
            "contender",
            "share of the echo server's rate",
            vec![share],
        ),
        latency,
    ]
}
