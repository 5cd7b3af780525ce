//! BIND 9.3 with its locks, on the machines of the mail: FreeBSD 5.3 on four Xeon of 700 MHz (A) and of 3 GHz (B), and
//! Linux 2.6.4 on the latter (C).
//!
//! Four groups of locks are held for the shares of a query that the paper's profile gives, each twice a query: 63,700
//! acquisitions a second are about two for each of the queries that such a machine answered. A thread that waits sleeps.
//! On FreeBSD the threads' own scheduler hands the lock to the one that waited longest, and the lock is kept for it until
//! it runs; on Linux whoever comes first gets it. How long it takes to run again is fitted to the rate with two threads.
//!
//! A constant time does not make a curve fall as far as those of FreeBSD do: at full contention it only halves the rate.
//! There, waking got dearer the more threads slept; the mail calls contention *very expensive* and suspects the calls by
//! which threads suspend. The model has one number for it (`crowd`), fitted for each machine to one point.

use super::{
    Curve, MAIL, Parameter, Use,
    profile::{QUIET, locked},
};
use crate::model::{Handover, Kind, Machine};

/// Times that each lock is taken for a query.
const VISITS: usize = 2;
/// Going to sleep and waking another, beside the time until it runs.
const CALL_SHARE: f64 = 0.1;

struct Stock {
    name: &'static str,
    published: [f64; 4],
    handover: Handover,
    /// From waking to running, and what others that sleep add.
    resume_ns: f64,
    crowd: f64,
    /// Where `crowd` is from.
    crowd_origin: &'static str,
    third: Use,
    limit: f64,
}

const FITTED_HERE: &str = "fitted to this curve at 3 threads";

const ALL: [Stock; 4] = [
    Stock {
        name: "A: BIND 9.3.0, FreeBSD, 700 MHz",
        published: [3021.0, 1859.0, 986.0, 774.0],
        handover: Handover::Direct,
        resume_ns: 233_000.0,
        crowd: 0.88,
        crowd_origin: FITTED_HERE,
        third: Use::Fitted,
        limit: 0.15,
    },
    Stock {
        name: "A: BIND+, FreeBSD, 700 MHz",
        published: [3390.0, 2496.0, 1450.0, 1167.0],
        handover: Handover::Direct,
        resume_ns: 185_000.0,
        crowd: 0.88,
        crowd_origin: "that of A: BIND 9.3.0",
        third: Use::Predicted,
        limit: 0.3,
    },
    Stock {
        name: "B: BIND 9.3.0, FreeBSD, 3 GHz",
        published: [7953.0, 3591.0, 1012.0, 533.0],
        handover: Handover::Direct,
        resume_ns: 120_500.0,
        crowd: 2.7,
        crowd_origin: FITTED_HERE,
        third: Use::Fitted,
        limit: 0.12,
    },
    Stock {
        name: "C: BIND 9.3.0, Linux, 3 GHz",
        published: [13_707.0, 16_493.0, 16_478.0, 14_517.0],
        handover: Handover::Barging,
        resume_ns: 203_000.0,
        crowd: 2.7,
        crowd_origin: "that of B, the same machine",
        third: Use::Predicted,
        limit: 0.15,
    },
];

pub fn curves() -> Vec<Curve> {
    ALL.iter().map(curve).collect()
}

fn curve(stock: &Stock) -> Curve {
    let call = stock.resume_ns * CALL_SHARE;
    let machine =
        Machine { sleep_ns: call, wake_ns: call, resume_ns: stock.resume_ns, crowd: stock.crowd, ..QUIET };
    let alone_ns = 1e9 / stock.published[0];
    Curve {
        name: stock.name,
        source: MAIL,
        published: stock.published,
        uses: [Use::Given, Use::Fitted, stock.third, Use::Predicted],
        limit: stock.limit,
        is_stock: true,
        parameters: parameters(stock, alone_ns),
        model: locked(alone_ns, VISITS, Kind::Mutex(stock.handover), machine),
    }
}

fn parameters(stock: &Stock, alone_ns: f64) -> Vec<Parameter> {
    let us = |ns: f64| format!("{:.1} µs", ns / 1000.0);
    let handover = match stock.handover {
        Handover::Direct => "to the one that waits longest",
        Handover::Barging => "to whoever comes first",
    };
    vec![
        Parameter {
            name: "work of a query",
            value: us(alone_ns),
            origin: "published: the rate with 1 thread",
        },
        Parameter {
            name: "held, as shares of it",
            value: super::profile::held_shares().map(|share| format!("{:.1} %", share * 100.0)).join(", "),
            origin: "USENIX 2006, section 3 (the first published, the others fitted to its split)",
        },
        Parameter {
            name: "times each lock is taken",
            value: VISITS.to_string(),
            origin: "assumed from section 3; the curves hardly depend on it",
        },
        Parameter { name: "a lock goes", value: handover.to_owned(), origin: "known of these systems" },
        Parameter {
            name: "from waking to running",
            value: us(stock.resume_ns),
            origin: "fitted to this curve at 2 threads",
        },
        Parameter {
            name: "going to sleep, and waking another",
            value: format!("{CALL_SHARE} of that each"),
            origin: "assumed",
        },
        Parameter {
            name: "each further sleeper adds",
            value: format!("{} of it", stock.crowd),
            origin: stock.crowd_origin,
        },
    ]
}
