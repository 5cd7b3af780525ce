//! A zone through a thousand changes, beside the servers of others: whoever is the primary and whoever follows, all have the same in the end.
//!
//! ```text
//! model -> changes -> primary --NOTIFY, IXFR, AXFR--> secondaries (--> theirs)
//!   `--------------------- compared with each, record by record ---------'
//! ```

mod model;
mod node;

use std::time::{Duration, Instant};

use model::Model;
use node::{Node, Role, primary, secondary};
use zonda_tests::mutate::Random;
use zonda_tests::patience::await_that;
use zonda_tests::response::Record;
use zonda_tests::rtype;
use zonda_tests::zone::transfer;

const ORIGIN: &str = "thousand.test.";
/// Changes between two looks at all servers: those that take their time skip some of the versions.
const STRIDE: usize = 25;

/// NSD that is told of a version while it takes up another may refuse it ("update failed", "bad transfer"), and asks again after the
/// refresh of the zone, an hour: it is told again after so long.
const REMINDED: Duration = Duration::from_secs(3);

/// Which program a node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Zonda,
    Named,
    Nsd,
    Knot,
    Pdns,
}

/// All records of a zone at a server, to compare.
fn records(node: &Node) -> Vec<Record> {
    let mut records: Vec<Record> = transfer(node.address, ORIGIN).iter().map(Record::folded).collect();
    records.sort();
    records
}

/// Whether NSD says that it refused a version.
fn refused(node: &Node) -> bool {
    let log = node.log();
    ["update failed", "bad transfer"].into_iter().any(|words| log.contains(words))
}

/// Waits until all have the version of the first, and compares what they have with it and with the model.
fn compare(nodes: &[Node], model: &Model, is_signed: bool) {
    let expected = nodes[0].serial().expect("a serial");
    for node in &nodes[1..] {
        let mut told = Instant::now();
        await_that(&format!("serial {expected} at {node:?}"), || {
            if told.elapsed() > REMINDED {
                told = Instant::now();
                // Only then: a NOTIFY that never came has to be found.
                if node.program() == Program::Nsd && refused(node) {
                    node.remind();
                }
            }
            node.serial() == Some(expected)
        });
    }
    let first = records(&nodes[0]);
    for node in &nodes[1..] {
        let (theirs, label) = (records(node), format!("{:?} and {:?} at serial {expected}", nodes[0], node));
        let other = first.iter().zip(&theirs).find(|(first, theirs)| first != theirs);
        assert_eq!((first.len(), other), (theirs.len(), None), "{label}");
    }
    let own = |record: &&Record| {
        let is_of_signer = matches!(record.rtype, rtype::RRSIG | rtype::NSEC | rtype::DNSKEY | CDS | CDNSKEY);
        record.rtype != rtype::SOA && !(is_signed && is_of_signer)
    };
    // A record that is there already, with another TTL: RFC 2136 3.4.2.2 replaces it, Knot 3.5 keeps the one that is there.
    let keeps_ttl = nodes[0].program() == Program::Knot;
    let without_ttl =
        |record: &Record| Record { ttl: if keeps_ttl { 0 } else { record.ttl }, ..record.clone() };
    let own: Vec<Record> = first.iter().filter(own).map(without_ttl).collect();
    let wanted: Vec<Record> = model.records().iter().map(without_ttl).collect();
    let only = |these: &[Record], those: &[Record]| -> Vec<Record> {
        these.iter().filter(|record| !those.contains(record)).cloned().collect()
    };
    let (more, less) = (only(&own, &wanted), only(&wanted, &own));
    assert!(
        more.is_empty() && less.is_empty(),
        "{:?} at serial {expected} has {more:?}, and not {less:?}",
        nodes[0]
    );
}

const CDS: u16 = 59;
const CDNSKEY: u16 = 60;

/// Has the zone change so many times at the first of these, and compares all of them in between and at the end.
fn change(nodes: &[Node], mut model: Model, changes: usize, is_signed: bool) {
    await_that("all of them", || nodes.iter().all(|node| node.serial().is_some()));
    compare(nodes, &model, is_signed);
    let mut random = Random::new(2_136);
    for number in 1..=changes {
        let change = model.change(&mut random);
        nodes[0].apply(&change, &model, number);
        // Now and then a moment in which the others come along, mostly none.
        if random.one_in(4) {
            std::thread::sleep(Duration::from_millis(random.below(40) as u64));
        }
        if number % STRIDE == 0 || number == changes {
            compare(nodes, &model, is_signed);
        }
    }
}

/// Zonda is changed by updates; named, nsd and knotd follow.
fn zonda_before_others(changes: usize) {
    let model = Model::new(ORIGIN);
    let others = [Program::Named, Program::Nsd, Program::Knot].map(|program| secondary(program, Vec::new()));
    let told = others.iter().map(Role::address).collect();
    let zonda = primary(Program::Zonda, told, false);
    let mut nodes = vec![zonda.start(None, &model)];
    for role in others {
        nodes.push(role.start(Some(&nodes[0]), &model));
    }
    change(&nodes, model, changes, false);
}

/// Zonda follows a server of others, and another Zonda, named and knotd follow it.
fn zonda_behind(program: Program, changes: usize, is_signed: bool) {
    let model = Model::new(ORIGIN);
    let others =
        [Program::Zonda, Program::Named, Program::Knot].map(|program| secondary(program, Vec::new()));
    let zonda = secondary(Program::Zonda, others.iter().map(Role::address).collect());
    let first = primary(program, vec![zonda.address()], is_signed);
    let mut nodes = vec![first.start(None, &model)];
    nodes.push(zonda.start(Some(&nodes[0]), &model));
    for role in others {
        nodes.push(role.start(Some(&nodes[1]), &model));
    }
    change(&nodes, model, changes, is_signed);
    // PowerDNS has no history to send differences from.
    let differences = nodes[0].differences();
    assert!(
        program == Program::Pdns || differences > changes / STRIDE / 2,
        "{differences}\n{}",
        nodes[0].log()
    );
}

#[test]
fn zonda_before_named_nsd_and_knot() {
    zonda_before_others(50);
}

#[test]
fn zonda_behind_named() {
    zonda_behind(Program::Named, 50, false);
}

#[test]
fn zonda_behind_knot_that_signs() {
    zonda_behind(Program::Knot, 50, true);
}

#[test]
fn zonda_behind_pdns() {
    zonda_behind(Program::Pdns, 50, false);
}

mod long {
    use super::{Program, zonda_before_others, zonda_behind};

    #[test]
    #[ignore = "long: make test-long"]
    fn zonda_before_others_through_a_thousand_changes() {
        zonda_before_others(1000);
    }

    #[test]
    #[ignore = "long: make test-long"]
    fn zonda_behind_named_through_a_thousand_changes() {
        zonda_behind(Program::Named, 1000, false);
    }

    #[test]
    #[ignore = "long: make test-long"]
    fn zonda_behind_knot_through_a_thousand_changes() {
        zonda_behind(Program::Knot, 1000, false);
    }

    #[test]
    #[ignore = "long: make test-long"]
    fn zonda_behind_knot_that_signs_through_a_thousand_changes() {
        zonda_behind(Program::Knot, 1000, true);
    }

    #[test]
    #[ignore = "long: make test-long"]
    fn zonda_behind_pdns_through_a_thousand_changes() {
        zonda_behind(Program::Pdns, 1000, false);
    }
}
