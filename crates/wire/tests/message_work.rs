//! What the worst messages cost: at most a hundred instructions an octet, and a constant.
//!
//! Each kind is made to cost as much as it can for what one kind of access is charged, and is asked again and again until its
//! budget is spent. Instructions are counted where they are asked for, under callgrind and
//! as released: `cargo test --release -p wire --test message_work -- --ignored`.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use wire::iana::{class, rtype};
use wire::message::{BUDGET_AN_OCTET, BUDGET_AT_LEAST, Error, Record};
use wire::name::NAME_OCTETS_MAX;
use wire::rdata::has_names;
use wire::{Message, Places};

/// The promise, in instructions an octet.
const INSTRUCTIONS_AN_OCTET: f64 = 100.0;
/// Which message a run under callgrind reads, and how often.
const KIND: &str = "WIRE_TEST_KIND";
const ACCESS: &str = "WIRE_TEST_ACCESS";
const ROUNDS: &str = "WIRE_TEST_ROUNDS";

struct Body {
    octets: Vec<u8>,
    counts: [u16; 4],
}

impl Body {
    /// A message that asks for this name.
    fn new(qname: &[u8]) -> Body {
        let octets = [&[0; 12][..], qname, &[0, 2, 0, 1]].concat();
        Body { octets, counts: [1, 0, 0, 0] }
    }

    fn record(&mut self, owner: &[u8], rtype: u16, rdata: &[u8]) {
        self.octets.extend(owner);
        self.octets.extend([rtype.to_be_bytes(), class::IN.to_be_bytes(), [0, 0], [0, 9]].concat());
        self.octets.extend((rdata.len() as u16).to_be_bytes());
        self.octets.extend(rdata);
        self.counts[1] += 1;
    }

    fn fill(mut self, mut record: impl FnMut(&mut Body, u16)) -> Vec<u8> {
        while self.octets.len() < 65_535 - 1100 {
            let at = self.octets.len() as u16;
            record(&mut self, at);
        }
        for (to, count) in self.octets[4..12].chunks_exact_mut(2).zip(self.counts) {
            to.copy_from_slice(&count.to_be_bytes());
        }
        self.octets
    }
}

fn pointer(to: u16) -> [u8; 2] {
    (0xc000 | to).to_be_bytes()
}

const KINDS: [&str; 9] = [
    "two pointers each to a name of 127 labels",
    "long labels behind pointers",
    "ladders of pointers",
    "a pointer behind each label",
    "records of the least size",
    "owners of 127 labels in full",
    "mail exchanges without compression",
    "names to the end of the RDATA",
    "signatures of many octets",
];

fn message(kind: usize) -> Vec<u8> {
    let deep = [&[1, b'a'].repeat(127)[..], &[0]].concat();
    let long = [&[&[63][..], &[b'a'; 63]].concat().repeat(3)[..], &[61], &[b'a'; 61], &[0]].concat();
    match kind {
        0 => Body::new(&deep).fill(|body, _| body.record(&pointer(12), rtype::NS, &pointer(12))),
        1 => Body::new(&long).fill(|body, _| body.record(&pointer(12), rtype::NS, &pointer(12))),
        2 => {
            let mut body = Body::new(b"\0");
            let ladder: Vec<u8> =
                (0..126).flat_map(|step| pointer(if step == 0 { 12 } else { 26 + 2 * step })).collect();
            body.record(b"\0", rtype::NULL, &ladder);
            assert_eq!(body.octets[28..30], pointer(12));
            body.fill(|body, _| body.record(&pointer(28 + 2 * 125), rtype::NS, &pointer(28 + 2 * 125)))
        }
        3 => {
            let mut body = Body::new(b"\0");
            let ladder: Vec<u8> = (0..126)
                .flat_map(|step| {
                    [&[1, b'a'][..], &pointer(if step == 0 { 12 } else { 28 + 4 * (step - 1) })].concat()
                })
                .collect();
            body.record(b"\0", rtype::NULL, &ladder);
            body.fill(|body, _| body.record(&pointer(28 + 4 * 125), rtype::NS, &pointer(28 + 4 * 125)))
        }
        4 => Body::new(b"\0").fill(|body, _| body.record(b"\0", rtype::TXT, b"")),
        5 => Body::new(b"\0").fill(|body, _| body.record(&deep, rtype::NS, &deep)),
        6 => Body::new(b"\0").fill(|body, _| body.record(b"\0", rtype::MX, &[&[0, 1][..], &deep].concat())),
        7 => {
            let rdata = [&[1, 2, 0, 1, 3, 4][..], &[0; 60_000]].concat();
            Body::new(b"\0").fill(|body, _| {
                if body.counts[1] == 0 {
                    body.record(b"\0", rtype::HIP, &rdata)
                } else {
                    body.record(b"\0", rtype::TXT, b"")
                }
            })
        }
        _ => Body::new(&deep).fill(|body, _| {
            body.record(b"\0", rtype::SIG, &[&[7; 18][..], &pointer(12), &[8; 1000]].concat())
        }),
    }
}

/// What is asked for.
const ACCESSES: [&str; 6] = ["records", "owners", "copied owners", "RDATA", "names", "all"];
/// Times one record is asked before the next is: what is free there (RDATA of types without names) would be asked for ever.
const ATTEMPTS: usize = 1000;

/// Asks again and again, until nothing more is given. Returns how often something was.
fn exhaust(octets: &[u8], access: usize, places: &mut Places, buffer: &mut [u8]) -> usize {
    let message = Message::read(octets).unwrap();
    let mut name = [0; NAME_OCTETS_MAX];
    let mut given = 0;
    let mut ask = |record: &Record<'_, '_>, access: usize| match access {
        0 => true,
        1 => record.owner(places).is_ok(),
        2 => record.owner_name(&mut name).is_ok(),
        3 => record.rdata_uncompressed(buffer).is_ok(),
        _ => {
            let mut names = record.names();
            while let Some(found) = names.next() {
                if !found.is_ok_and(|found| names.follow(&found, places).is_ok()) {
                    return false;
                }
            }
            true
        }
    };
    loop {
        let Ok(records) = message.records() else { return given };
        for record in records {
            let Ok(record) = record else { return given };
            given += 1;
            match access {
                0 => {}
                5 => (1..5).for_each(|access| given += usize::from(ask(&record, access))),
                access if access > 2 && !has_names(record.view.rtype) => {}
                access => given += (0..ATTEMPTS).take_while(|_| ask(&record, access)).count(),
            }
        }
    }
}

/// No access is so cheap that the budget does not end it, in less than its instructions.
#[test]
fn budgets_are_spent() {
    let (mut places, mut buffer) = (Places::new(), vec![0; 65_535]);
    for (kind, name) in KINDS.iter().enumerate() {
        let octets = message(kind);
        assert!(octets.len() <= 65_535, "{name}");
        for (access, asked) in ACCESSES.iter().enumerate() {
            let given = exhaust(&octets, access, &mut places, &mut buffer);
            let budget = BUDGET_AN_OCTET as usize * octets.len() + BUDGET_AT_LEAST as usize;
            assert!(given < budget / 32, "{asked} of {name}: {given} times");
        }
    }
}

/// Whatever was spent by whom, all that is asked for after fails.
#[test]
fn nothing_is_given_on_credit() {
    let octets = message(0);
    let message = Message::read(&octets).unwrap();
    let mut places = Places::new();
    let records: Vec<_> = message.records().unwrap().take(3).map(Result::unwrap).collect();
    while records[0].owner(&mut places).is_ok() {}
    assert_eq!(message.budget_left(), 0);
    assert!(matches!(records[1].owner(&mut places), Err(Error::Work(_))));
    assert!(matches!(records[2].rdata_uncompressed(&mut [0; 300]), Err(Error::Work(_))));
    assert!(matches!(message.records(), Err(Error::Work(_))));
}

#[test]
#[ignore = "started by the next one, under callgrind"]
fn one_kind() {
    let Ok(kind) = std::env::var(KIND) else { return };
    let number = |name| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let (rounds, access) = (number(ROUNDS), number(ACCESS));
    let (mut places, mut buffer) = (Places::new(), vec![0; 65_535]);
    let octets = message(kind.parse().unwrap());
    for _ in 0..rounds {
        std::hint::black_box(exhaust(&octets, access, &mut places, &mut buffer));
    }
}

#[test]
#[ignore = "needs valgrind and a release build"]
fn instructions() {
    let count = |kind: usize, access: usize, rounds: usize| -> f64 {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        command.arg(std::env::current_exe().unwrap()).args(["--ignored", "--exact", "one_kind"]);
        command.env(KIND, kind.to_string()).env(ACCESS, access.to_string()).env(ROUNDS, rounds.to_string());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let collected = text.lines().find_map(|line| line.split_once("Collected : "));
        collected.and_then(|(_, number)| number.trim().parse().ok()).unwrap_or_else(|| panic!("{text}"))
    };
    let mut worst: f64 = 0.0;
    for (kind, name) in KINDS.iter().enumerate() {
        for (access, asked) in ACCESSES.iter().enumerate() {
            let an_octet = (count(kind, access, 2) - count(kind, access, 1)) / message(kind).len() as f64;
            println!("{an_octet:6.1} instructions an octet: {asked} of {name}");
            worst = worst.max(an_octet);
        }
    }
    assert!(worst <= INSTRUCTIONS_AN_OCTET, "{worst}");
}
