use super::*;
use crate::{
    model::{Background, Handover, Kind, Machine, Query, Shared},
    names::Names,
};

const MACHINE: Machine = Machine {
    atomic_ns: 5.0,
    transfer_ns: 100.0,
    spin_ns: 0.0,
    sleep_ns: 500.0,
    wake_ns: 1000.0,
    resume_ns: 3000.0,
    crowd: 0.0,
};
const EFFORT: Effort = Effort { queries: 20_000, seed: 7 };

fn model(shared: &[(Kind, usize)], steps: &[Step]) -> Model {
    let thing = |&(kind, count): &(Kind, usize)| Shared { name: String::new(), kind, count };
    Model {
        machine: MACHINE,
        shared: shared.iter().map(thing).collect(),
        queries: vec![Query { weight: 1.0, steps: steps.to_vec() }],
        background: Vec::new(),
        names: Names::Uniform,
        spread: 0.5,
    }
}

/// Work and nothing else.
pub(crate) fn plain(ns: f64) -> Model {
    model(&[], &[Step::Work(ns)])
}

/// Work, and a section under one mutex.
pub(crate) fn mutex(work: f64, held: f64) -> Model {
    let steps = [Step::Work(work), Step::Lock(0), Step::Work(held), Step::Unlock(0)];
    model(&[(Kind::Mutex(Handover::Direct), 1)], &steps)
}

fn rate(model: &Model, cores: usize) -> f64 {
    run(model, cores, EFFORT).unwrap().rate
}

#[test]
fn alone_it_is_the_sum() {
    for model in [plain(1000.0), mutex(900.0, 90.0)] {
        let expected = 1e9 / model.alone_ns();
        assert!((rate(&model, 1) / expected - 1.0).abs() < 0.01);
    }
}

#[test]
fn nothing_shared_grows_with_cores() {
    for cores in [2, 16, 64] {
        assert!((rate(&plain(1000.0), cores) / rate(&plain(1000.0), 1) / cores as f64 - 1.0).abs() < 0.01);
    }
}

/// A line that all change takes one at a time: no more than one query for each transfer.
#[test]
fn a_line_is_a_limit() {
    let model = model(&[(Kind::Counter, 1)], &[Step::Work(1000.0), Step::Change(0)]);
    let limit = 1e9 / (MACHINE.atomic_ns + MACHINE.transfer_ns);
    assert!((rate(&model, 64) / limit - 1.0).abs() < 0.01);
    let two = rate(&model, 2) / rate(&model, 1);
    assert!((1.7..1.95).contains(&two), "half of the changes need a transfer: {two}");
}

/// Two cores, one lock, constant times: each waits for the other's section.
#[test]
fn a_section_is_a_limit() {
    let mut model = mutex(0.0, 1000.0);
    model.machine = Machine { atomic_ns: 0.0, transfer_ns: 0.0, spin_ns: 1e6, ..MACHINE };
    let outcome = run(&model, 4, EFFORT).unwrap();
    assert!((outcome.rate / 1e6 - 1.0).abs() < 0.01, "{}", outcome.rate);
    assert!((outcome.share_waited() - 0.75).abs() < 0.01 && (outcome.wait_ns[0] - 3000.0).abs() < 30.0);
}

/// Waking up takes so long that two cores are slower than one, and four are slower still: the convoy.
#[test]
fn sleeping_makes_convoys() {
    let steps: Vec<Step> = (0..10)
        .flat_map(|_| [Step::Work(400.0), Step::Lock(0), Step::Work(100.0), Step::Unlock(0)])
        .collect();
    let direct = model(&[(Kind::Mutex(Handover::Direct), 1)], &steps);
    assert!(rate(&direct, 2) < rate(&direct, 1) && rate(&direct, 4) <= rate(&direct, 2) * 1.02);
    let barging = model(&[(Kind::Mutex(Handover::Barging), 1)], &steps);
    assert!(rate(&barging, 4) > rate(&direct, 4));
}

#[test]
fn buckets_help_unless_all_ask_for_the_same() {
    let steps = [Step::Work(1000.0), Step::Lock(0), Step::Work(200.0), Step::Unlock(0)];
    let of = |count, names| {
        let mut model = model(&[(Kind::Mutex(Handover::Barging), count)], &steps);
        model.names = names;
        rate(&model, 16)
    };
    let (one, few, many) = (of(1, Names::Uniform), of(7, Names::Uniform), of(1009, Names::Uniform));
    assert!(one < few && few < many, "{one} {few} {many}");
    assert!(of(1009, Names::Skewed) < many * 0.9);
}

#[test]
fn readers_share_the_lock_but_not_its_line() {
    let steps = [Step::Work(1000.0), Step::Read(0), Step::Work(500.0), Step::Unlock(0)];
    let mut model = model(&[(Kind::ReaderWriter { quota: 4 }, 1)], &steps);
    let (one, four, most) = (rate(&model, 1), rate(&model, 4), rate(&model, 64));
    assert!(four > 3.0 * one, "{one} {four}");
    assert!(most < 1e9 / (2.0 * MACHINE.transfer_ns), "{most}");
    let steps = vec![Step::Lock(0), Step::Work(20_000.0), Step::Unlock(0)];
    model.background.push(Background { rate: 10_000.0, steps });
    assert!(rate(&model, 4) < four * 0.9);
}

#[test]
fn kinds_come_by_weight() {
    let mut model = plain(1000.0);
    model.queries.push(Query { weight: 1.0, steps: vec![Step::Work(3000.0)] });
    assert!((rate(&model, 2) / 1e6 - 1.0).abs() < 0.02);
}

#[test]
fn the_same_seed_gives_the_same() {
    let model = mutex(900.0, 100.0);
    let [a, b] = [7, 7].map(|seed| run(&model, 8, Effort { seed, ..EFFORT }).unwrap());
    assert_eq!((a.rate, &a.blocks, &a.waited), (b.rate, &b.blocks, &b.waited));
    assert_ne!(run(&model, 8, Effort { seed: 8, ..EFFORT }).unwrap().blocks, a.blocks);
}

#[test]
fn what_cannot_go_on_ends() {
    let locks = [(Kind::Mutex(Handover::Direct), 1); 2];
    let nested = |one, other| {
        vec![
            Step::Work(10.0),
            Step::Lock(one),
            Step::Work(10.0),
            Step::Lock(other),
            Step::Work(1.0),
            Step::Unlock(other),
            Step::Unlock(one),
        ]
    };
    let mut model = model(&locks, &nested(0, 1));
    model.queries.push(Query { weight: 1.0, steps: nested(1, 0) });
    assert_eq!(run(&model, 2, EFFORT).unwrap_err(), Fault::Stuck);
    model.background.push(Background { rate: 1e6, steps: vec![Step::Work(1.0)] });
    assert_eq!(run(&model, 2, Effort { queries: 20, seed: 1 }).unwrap_err(), Fault::Stuck);
    assert_eq!(run(&plain(1.0), 0, EFFORT).unwrap_err(), Fault::Number("number of cores"));
    assert_eq!(
        run(&plain(1.0), 1, Effort { queries: 1, seed: 1 }).unwrap_err(),
        Fault::Number("number of queries")
    );
}
