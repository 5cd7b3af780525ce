use serde_json::json;

use super::*;

const BOUNDS: Bounds = Bounds { stolen: 0.005, others: 0.02, late_ms: 1.0, echoes: 0.05 };

fn check(change: impl FnOnce(&mut Conditions), expected: &[Rule]) {
    let mut conditions = Conditions { stolen: 0.005, others: 0.02, ..Conditions::default() };
    change(&mut conditions);
    assert_eq!(BOUNDS.broken(&conditions), expected, "{conditions:?}");
}

#[test]
fn each_rule_looks_at_its_condition() {
    check(|_| (), &[]);
    check(|conditions| conditions.stolen = 0.0051, &[Rule::Stolen]);
    check(|conditions| conditions.others = 0.03, &[Rule::Others]);
    check(|conditions| conditions.late_ms = Some(1.01), &[Rule::Schedule]);
    check(|conditions| conditions.late_ms = Some(1.0), &[]);
    check(|conditions| conditions.lost = Some(0.0011), &[Rule::Losses]);
    check(|conditions| conditions.is_limited = true, &[Rule::Generator]);
    check(|conditions| (conditions.stolen, conditions.others) = (0.5, 0.5), &[Rule::Stolen, Rule::Others]);
}

#[test]
fn what_the_generator_says() {
    let outcome = json!({ "sent": 1000, "lost": 2, "workers_limited": 1, "lateness_us": { "p99": 1500.0 } });
    let mut conditions = Conditions::default();
    conditions.add_outcome(&outcome, true);
    assert_eq!(BOUNDS.broken(&conditions), [Rule::Schedule, Rule::Losses, Rule::Generator]);
    let mut conditions = Conditions::default();
    conditions.add_outcome(&outcome, false);
    assert_eq!(conditions.lost, None, "a staircase is to lose something");
    let mut conditions = Conditions::default();
    conditions.add_outcome(&Value::Null, true);
    assert!(BOUNDS.broken(&conditions).is_empty());
}

/// A ledger that has seen so many runs that broke nothing.
fn after(runs: usize) -> Ledger {
    let mut ledger = Ledger::default();
    (0..runs).for_each(|_| assert_eq!(ledger.decide(&[], 1, false), Decision::Counts));
    ledger
}

#[test]
fn twice_and_then_not() {
    let mut ledger = after(6);
    let broken = [Rule::Stolen];
    assert_eq!(ledger.decide(&broken, 1, false), Decision::Again);
    assert_eq!(ledger.decide(&broken, 2, false), Decision::Again);
    assert_eq!(ledger.decide(&[], 3, false), Decision::Counts);
    let told = ledger.told(&BOUNDS, &[0], &[1]);
    let stolen = told.rules.iter().find(|rule| rule.rule == "stolen");
    let stolen = stolen.map(|rule| (rule.broken, rule.again, rule.discarded));
    assert_eq!((told.runs, stolen), (9, Some((2, 2, 0))));
}

#[test]
fn again_and_again_is_discarded() {
    let mut ledger = after(20);
    for (attempt, expected) in [(1, Decision::Again), (2, Decision::Again), (3, Decision::Discarded)] {
        assert_eq!(ledger.decide(&[Rule::Others], attempt, false), expected, "{attempt}");
    }
    // What making it again cannot mend.
    assert_eq!(ledger.decide(&[Rule::Echoes, Rule::Others], 1, false), Decision::Discarded);
    // What the generator limits counts, and so does all in a quick form; both are counted.
    assert_eq!(ledger.decide(&[Rule::Generator], 1, false), Decision::Counts);
    assert_eq!(ledger.decide(&[Rule::Stolen], 1, true), Decision::Counts);
    // So does what a server lost itself: made again, its best runs would be kept.
    assert_eq!(ledger.decide(&[Rule::Losses], 1, false), Decision::Counts);
    let told = ledger.told(&BOUNDS, &[], &[]);
    assert_eq!(told.rules.iter().map(|rule| rule.broken).sum::<usize>(), 3 + 2 + 1 + 1 + 1);
    assert_eq!(told.rules.iter().map(|rule| rule.discarded).sum::<usize>(), 1 + 2);
}

#[test]
fn repetitions_are_a_third_at_most() {
    let mut ledger = Ledger::default();
    let mut made = 0;
    for _ in 0..30 {
        for attempt in 1.. {
            made += 1;
            if ledger.decide(&[Rule::Stolen], attempt, false) == Decision::Discarded {
                break;
            }
        }
    }
    assert_eq!((made, ledger.runs()), (40, 40));
}

#[test]
fn a_run_that_fails_when_made_again_is_one_run() {
    // Of four runs two may be made again; the first of these fails.
    let mut ledger = after(2);
    assert_eq!(ledger.decide(&[Rule::Stolen], 1, false), Decision::Again);
    ledger.failed(2);
    let told = ledger.told(&BOUNDS, &[], &[]);
    let failed = told.rules.iter().find(|rule| rule.rule == "failed").map(|rule| rule.broken);
    assert_eq!((ledger.runs(), failed), (4, Some(1)));
    assert_eq!(ledger.decide(&[Rule::Stolen], 1, false), Decision::Again);
    assert_eq!(
        ledger.decide(&[Rule::Stolen], 2, false),
        Decision::Discarded,
        "its own repetition is the second"
    );
}

#[test]
fn quietness_is_of_what_counts() {
    let mut ledger = Ledger::default();
    assert_eq!(ledger.told(&BOUNDS, &[], &[]).quietness, None);
    for stolen in [0.01, 0.03, 0.02] {
        let softirq = vec![(0, 0.5), (1, 0.25)];
        ledger.count(&Conditions { stolen, others: stolen / 10.0, softirq, ..Conditions::default() });
    }
    let told = ledger.told(&BOUNDS, &[0], &[0, 1]);
    let quietness = told.quietness.map(|quiet| (quiet.runs, quiet.stolen, quiet.others.1));
    assert_eq!(quietness, Some((3, (0.02, 0.03), 0.003)));
    let paid: Vec<(usize, &str, f64)> =
        told.softirq.iter().map(|softirq| (softirq.core, &*softirq.of, softirq.seconds)).collect();
    assert_eq!(paid, [(0, "servers and generator", 1.5), (1, "generator", 0.75)]);
}

#[test]
fn a_watch_sees_time_pass() {
    let cores = crate::place::cores();
    let watch = Watch::begin(&cores);
    std::thread::sleep(std::time::Duration::from_millis(50));
    let conditions = watch.end();
    assert!((0.0..=1.0).contains(&conditions.stolen) && conditions.others >= 0.0, "{conditions:?}");
    assert_eq!(conditions.softirq.len(), cores.len());
}
