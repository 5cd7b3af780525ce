//! What frames of a trial carry: the trial, how it goes, and what it brought.

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::{Problem, channel::PAYLOAD_OCTETS_MAX};
use crate::load::{
    Outcome, Pace, Trial,
    expect::{Mismatch, SHOWN_MAX},
    progress::Counts,
};

/// Longest text of a difference: a name with every octet as `\\DDD`, a type, words and hashes are shorter.
const TEXT_OCTETS_MAX: usize = 2_000;

/// A trial and the microseconds until its start.
pub fn encode_trial(trial: &Trial, start_in_us: u64) -> Vec<u8> {
    let pace = match trial.pace {
        Pace::Open { rate } => json!({ "open": rate }),
        Pace::Poisson { rate, seed } => json!({ "poisson": rate, "seed": seed }),
        Pace::Replay { speed, loops } => json!({ "replay": speed, "loops": loops }),
        Pace::Closed { window } => json!({ "closed": window }),
        Pace::SelfPaced { window } => json!({ "self_paced": window }),
    };
    let value = json!({
        "pace": pace, "seconds": trial.seconds, "queries_max": trial.queries_max, "start_in_us": start_in_us,
    });
    value.to_string().into_bytes()
}

/// The same back.
pub fn decode_trial(payload: &[u8]) -> Result<(Trial, u64), Problem> {
    let read = || {
        let value: Value = serde_json::from_slice(payload).ok()?;
        let pace = &value["pace"];
        let above_zero =
            |name: &str| pace[name].as_f64().filter(|number| *number > 0.0 && number.is_finite());
        let window = |name: &str| pace[name].as_u64().filter(|&window| window > 0);
        let pace = if let Some(rate) = above_zero("open") {
            Pace::Open { rate }
        } else if let Some(rate) = above_zero("poisson") {
            Pace::Poisson { rate, seed: pace["seed"].as_u64()? }
        } else if let Some(speed) = above_zero("replay") {
            Pace::Replay { speed, loops: pace["loops"].as_u64() }
        } else if let Some(window) = window("closed") {
            Pace::Closed { window }
        } else {
            Pace::SelfPaced { window: window("self_paced")? }
        };
        let seconds = value["seconds"].as_f64().filter(|seconds| (0.0..=1e6).contains(seconds))?;
        let trial = Trial { pace, seconds, queries_max: value["queries_max"].as_u64()? };
        Some((trial, value["start_in_us"].as_u64()?))
    };
    read().ok_or(Problem::Frame)
}

/// What a trial brought. Of histograms every bucket that is not empty, so that nothing is lost.
pub fn encode_outcome(outcome: &Outcome) -> Vec<u8> {
    // Taken apart, so that no field can be forgotten here.
    let Outcome {
        planned,
        sent,
        received,
        late,
        stray,
        wrong,
        truncated,
        rcodes,
        octets,
        refused,
        blocked,
        overrun,
        connections,
        connections_failed,
        connections_closed,
        renewed,
        compared,
        different,
        mismatches,
        workers_limited,
        window,
        own_drops,
        seconds,
        planned_seconds,
        finished_seconds,
        stolen_share,
        lateness_ns_max,
        latency,
        lateness,
        receipt,
    } = outcome;
    let buckets = |histogram: &Histogram<u64>| {
        let pairs = histogram.iter_recorded();
        pairs.map(|bucket| json!([bucket.value_iterated_to(), bucket.count_at_value()])).collect::<Vec<_>>()
    };
    let text = |it: &Mismatch| json!([it.query, it.expected, it.found]);
    let value = json!({
        "counts": [
            planned, sent, received, late, stray, wrong, truncated, octets, refused, blocked, overrun, connections,
            connections_failed, connections_closed, renewed, compared, different, workers_limited, window,
            own_drops, lateness_ns_max,
        ],
        "rcodes": rcodes,
        "times": [seconds, planned_seconds, finished_seconds, stolen_share],
        "mismatches": mismatches.iter().map(text).collect::<Vec<_>>(),
        "latency": buckets(latency), "lateness": buckets(lateness), "receipt": buckets(receipt),
    });
    let octets = value.to_string().into_bytes();
    // A histogram of three digits over a minute has some 30,000 buckets.
    assert!(octets.len() <= PAYLOAD_OCTETS_MAX);
    octets
}

/// The same back.
pub fn decode_outcome(payload: &[u8]) -> Result<Outcome, Problem> {
    let read = || {
        let value: Value = serde_json::from_slice(payload).ok()?;
        let mut outcome = Outcome::default();
        let counts: [u64; 21] = numbers(&value["counts"], Value::as_u64)?;
        [
            outcome.planned,
            outcome.sent,
            outcome.received,
            outcome.late,
            outcome.stray,
            outcome.wrong,
            outcome.truncated,
            outcome.octets,
            outcome.refused,
            outcome.blocked,
            outcome.overrun,
            outcome.connections,
            outcome.connections_failed,
            outcome.connections_closed,
            outcome.renewed,
            outcome.compared,
            outcome.different,
            outcome.workers_limited,
            outcome.window,
            outcome.own_drops,
            outcome.lateness_ns_max,
        ] = counts;
        outcome.rcodes = numbers(&value["rcodes"], Value::as_u64)?;
        [outcome.seconds, outcome.planned_seconds, outcome.finished_seconds, outcome.stolen_share] =
            numbers(&value["times"], Value::as_f64)?;
        let mismatches = value["mismatches"].as_array().filter(|all| all.len() <= SHOWN_MAX)?;
        outcome.mismatches = mismatches.iter().map(mismatch_from).collect::<Option<_>>()?;
        for (name, histogram) in [
            ("latency", &mut outcome.latency),
            ("lateness", &mut outcome.lateness),
            ("receipt", &mut outcome.receipt),
        ] {
            for pair in value[name].as_array()? {
                let [bucket, count]: [u64; 2] = numbers(pair, Value::as_u64)?;
                histogram.record_n(bucket, count).ok()?;
            }
        }
        Some(outcome)
    };
    read().filter(|outcome: &Outcome| outcome.received <= outcome.sent).ok_or(Problem::Frame)
}

/// A difference, as three texts.
fn mismatch_from(value: &Value) -> Option<Mismatch> {
    let [query, expected, found] = numbers(value, |text| {
        let text = text.as_str().filter(|text| text.len() <= TEXT_OCTETS_MAX)?;
        // It is shown on a terminal, which must not be told anything else by it.
        (!text.chars().any(char::is_control)).then(|| text.to_owned())
    })?;
    Some(Mismatch { query, expected, found })
}

/// How a trial goes: sent (8), received (8), then of each bucket of latencies that is not empty number (2) and count (8).
pub fn encode_counts(counts: &Counts) -> Vec<u8> {
    let mut payload = [counts.sent.to_be_bytes(), counts.received.to_be_bytes()].concat();
    for (bucket, count) in counts.filled() {
        payload.extend_from_slice(&(bucket as u16).to_be_bytes());
        payload.extend_from_slice(&count.to_be_bytes());
    }
    payload
}

/// The same back.
pub fn decode_counts(payload: &[u8]) -> Result<Counts, Problem> {
    let read = || {
        let (sent, rest) = payload.split_first_chunk()?;
        let (received, mut rest) = rest.split_first_chunk()?;
        let (sent, received) = (u64::from_be_bytes(*sent), u64::from_be_bytes(*received));
        let mut counts = Counts::new(sent, received);
        while !rest.is_empty() {
            let (bucket, after) = rest.split_first_chunk()?;
            let (count, after) = after.split_first_chunk()?;
            let filled = counts.fill(u16::from_be_bytes(*bucket).into(), u64::from_be_bytes(*count));
            rest = filled.then_some(after)?;
        }
        Some(counts)
    };
    read().ok_or(Problem::Frame)
}

fn numbers<T, const N: usize>(value: &Value, of: impl Fn(&Value) -> Option<T>) -> Option<[T; N]> {
    value.as_array()?.iter().map(of).collect::<Option<Vec<T>>>()?.try_into().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn trials() {
        for pace in [
            Pace::Open { rate: 12.5 },
            Pace::Poisson { rate: 3.0, seed: u64::MAX },
            Pace::Replay { speed: 2.0, loops: None },
            Pace::Replay { speed: 2.0, loops: Some(3) },
            Pace::Closed { window: 7 },
            Pace::SelfPaced { window: 9 },
        ] {
            let trial = Trial { pace, seconds: 1.5, queries_max: u64::MAX };
            let (read, start_in_us) = decode_trial(&encode_trial(&trial, 17)).unwrap();
            assert_eq!((read.pace, read.seconds, read.queries_max), (pace, 1.5, u64::MAX));
            assert_eq!(start_in_us, 17);
        }
        for text in ["", "{}", "{\"pace\":{\"open\":-1}}", "{\"pace\":{\"open\":1},\"seconds\":1e9}"] {
            assert_eq!(decode_trial(text.as_bytes()).unwrap_err(), Problem::Frame);
        }
    }

    #[test]
    fn outcomes() {
        let mut outcome = Outcome { sent: 10, received: 9, seconds: 0.1, ..Outcome::default() };
        outcome.rcodes[3] = 4;
        for value in [1, 999, 1_000_003, 1_000_003, 59_999_999_999] {
            outcome.latency.record(value).unwrap();
            outcome.lateness.record(value / 7 + 1).unwrap();
        }
        let read = decode_outcome(&encode_outcome(&outcome)).unwrap();
        assert_eq!(read.to_json(), outcome.to_json());
        assert_eq!((read.latency, read.lateness), (outcome.latency.clone(), outcome.lateness.clone()));
        let text = || "a.example. A".to_owned();
        outcome.mismatches.push(Mismatch { query: text(), expected: text(), found: text() });
        assert_eq!(decode_outcome(&encode_outcome(&outcome)).unwrap().mismatches, outcome.mismatches);
        outcome.mismatches[0].found = "\x1b[2J".to_owned();
        assert!(decode_outcome(&encode_outcome(&outcome)).is_err(), "a control character");
        outcome.mismatches.clear();
        outcome.received = 11;
        assert!(decode_outcome(&encode_outcome(&outcome)).is_err());
        assert!(decode_outcome(b"[]").is_err());
    }

    #[test]
    fn counts() {
        let mut counts = Counts::new(7, 5);
        assert!(counts.fill(3, 4) && counts.fill(500, 1));
        let payload = encode_counts(&counts);
        assert_eq!(decode_counts(&payload).unwrap(), counts);
        for length in (0..payload.len()).filter(|length| (length + 4) % 10 != 0 || *length < 16) {
            assert_eq!(decode_counts(&payload[..length]), Err(Problem::Frame), "{length}");
        }
        let beyond = [&payload[..], &[0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 1]].concat();
        assert_eq!(decode_counts(&beyond), Err(Problem::Frame));
    }
}
