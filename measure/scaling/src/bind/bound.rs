//! What has no contended locks of its own: BIND++ of the mail, and the new BIND 9 as a resolver (the paper's table 1 and
//! figure 6). All threads share one socket: part of a query goes one at a time in the kernel, and lines move between
//! processors.
//!
//! Two numbers: the share of a query that goes one at a time, fitted once, to table A at three threads, and used for all
//! machines; and what lines cost that move, fitted to two threads of each curve. Of table 1 only the row of figure 6 (80 %
//! hits) is fitted: the others are predicted from their rate with one thread.

use super::{
    Curve, MAIL, PAPER, Parameter, Use,
    profile::{QUIET, SPREAD},
};
use crate::{
    model::{Handover, Kind, Machine, Model, Query, Shared, Step},
    names::Names,
};

/// Share of a query that goes one at a time.
const ONE_AT_A_TIME: f64 = 0.31;
/// Times that a query comes to what goes one at a time.
const VISITS: usize = 4;
/// Lines that a query changes between two of these.
const LINES: usize = 2;
/// Kernels spin here.
const SPIN_NS: f64 = 1e9;

struct Bound {
    name: &'static str,
    source: &'static str,
    published: [f64; 4],
    /// What all lines of a query cost that come from another processor, as a share of the query.
    moving: f64,
    moving_origin: &'static str,
    uses: [Use; 4],
    limit: f64,
}

const SECOND: &str = "fitted to this curve at 2 threads";
const ROW: &str = "that of the row with 80 % hits";
const FROM_SECOND: [Use; 4] = [Use::Given, Use::Fitted, Use::Predicted, Use::Predicted];
const FROM_FIRST: [Use; 4] = [Use::Given, Use::Predicted, Use::Predicted, Use::Predicted];

const ALL: [Bound; 9] = [
    Bound {
        name: "A: BIND++, FreeBSD, 700 MHz",
        source: MAIL,
        published: [4474.0, 7781.0, 10_615.0, 12_668.0],
        moving: 0.12,
        moving_origin: SECOND,
        uses: [Use::Given, Use::Fitted, Use::Fitted, Use::Predicted],
        limit: 0.1,
    },
    Bound {
        name: "B: BIND++, FreeBSD, 3 GHz",
        source: MAIL,
        published: [14_600.0, 19_840.0, 24_268.0, 25_447.0],
        moving: 0.48,
        moving_origin: SECOND,
        uses: FROM_SECOND,
        limit: 0.1,
    },
    Bound {
        name: "B: BIND++, kernel patch, 3 GHz",
        source: MAIL,
        published: [14_438.0, 23_854.0, 30_268.0, 30_434.0],
        moving: 0.189,
        moving_origin: SECOND,
        uses: FROM_SECOND,
        limit: 0.25,
    },
    Bound {
        name: "C: BIND++, Linux, 3 GHz",
        source: MAIL,
        published: [17_835.0, 26_946.0, 32_688.0, 36_090.0],
        moving: 0.316,
        moving_origin: SECOND,
        uses: FROM_SECOND,
        limit: 0.12,
    },
    Bound {
        name: "BIND 9 new, 80 % hits (figure 6)",
        source: PAPER,
        published: [15_915.0, 25_595.0, 33_809.0, 40_697.0],
        moving: 0.225,
        moving_origin: SECOND,
        uses: FROM_SECOND,
        limit: 0.1,
    },
    Bound {
        name: "BIND 9 new, 90 % hits",
        source: PAPER,
        published: [20_569.0, 31_287.0, 42_826.0, 51_686.0],
        moving: 0.225,
        moving_origin: ROW,
        uses: FROM_FIRST,
        limit: 0.1,
    },
    Bound {
        name: "BIND 9 new, 70 % hits",
        source: PAPER,
        published: [13_388.0, 21_638.0, 27_561.0, 33_269.0],
        moving: 0.225,
        moving_origin: ROW,
        uses: FROM_FIRST,
        limit: 0.1,
    },
    Bound {
        name: "BIND 9 new, 60 % hits",
        source: PAPER,
        published: [10_296.0, 18_059.0, 22_834.0, 28_100.0],
        moving: 0.225,
        moving_origin: ROW,
        uses: FROM_FIRST,
        limit: 0.15,
    },
    Bound {
        name: "BIND 9 new, 50 % hits",
        source: PAPER,
        published: [9641.0, 15_610.0, 19_713.0, 24_391.0],
        moving: 0.225,
        moving_origin: ROW,
        uses: FROM_FIRST,
        limit: 0.1,
    },
];

pub fn curves() -> Vec<Curve> {
    ALL.iter().map(curve).collect()
}

fn curve(bound: &Bound) -> Curve {
    let alone_ns = 1e9 / bound.published[0];
    Curve {
        name: bound.name,
        source: bound.source,
        published: bound.published,
        uses: bound.uses,
        limit: bound.limit,
        is_stock: false,
        parameters: parameters(bound, alone_ns),
        model: model(alone_ns, bound.moving),
    }
}

fn model(alone_ns: f64, moving: f64) -> Model {
    let lines = VISITS * LINES;
    let piece = alone_ns / VISITS as f64;
    let visit = |visit: usize| {
        let changes = (0..LINES).map(move |line| Step::Change(1 + visit * LINES + line));
        let section = [Step::Lock(0), Step::Work(piece * ONE_AT_A_TIME), Step::Unlock(0)];
        [Step::Work(piece * (1.0 - ONE_AT_A_TIME))].into_iter().chain(changes).chain(section)
    };
    let shared = |at: usize| Shared {
        name: if at == 0 { "one at a time".to_owned() } else { format!("line {at}") },
        kind: if at == 0 { Kind::Mutex(Handover::Direct) } else { Kind::Counter },
        count: 1,
    };
    Model {
        // The lock's own line is changed twice a visit; what it costs is part of what moves.
        machine: Machine {
            transfer_ns: alone_ns * moving / (lines + 2 * VISITS) as f64,
            spin_ns: SPIN_NS,
            ..QUIET
        },
        shared: (0..=lines).map(shared).collect(),
        queries: vec![Query { weight: 1.0, steps: (0..VISITS).flat_map(visit).collect() }],
        background: Vec::new(),
        names: Names::Uniform,
        spread: SPREAD / 2.0,
    }
}

fn parameters(bound: &Bound, alone_ns: f64) -> Vec<Parameter> {
    let share_origin = match bound.uses[2] {
        Use::Fitted => "fitted to this curve at 3 threads",
        _ => "that of A: BIND++",
    };
    vec![
        Parameter {
            name: "work of a query",
            value: format!("{:.1} µs", alone_ns / 1000.0),
            origin: "published: the rate with 1 thread",
        },
        Parameter {
            name: "of it one at a time",
            value: format!("{:.0} %", ONE_AT_A_TIME * 100.0),
            origin: share_origin,
        },
        Parameter {
            name: "lines that come from another processor",
            value: format!("{:.1} % of a query", bound.moving * 100.0),
            origin: bound.moving_origin,
        },
    ]
}
