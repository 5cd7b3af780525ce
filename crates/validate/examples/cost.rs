//! What validating costs: signatures of typical responses, cold and warm, and how much of the work is not the arithmetic of signatures.
//!
//! `cargo run --release -p validate --example cost [-- ROUNDS [ALGORITHM]]`, ALGORITHM being `ed25519`, `p256` (usual) or `rsa`
//!
//! A table first: each response with a cache that is empty, and with the keys of its zone known. Then each is validated ROUNDS times, and so are its signatures
//! alone: time of both. The same under callgrind counts instructions, of which those below `verify_octets` are the arithmetic:
//!
//! `valgrind --tool=callgrind --toggle-collect='*Validation*step*' target/release/examples/cost 20`
#![allow(clippy::unwrap_used)]

#[path = "../tests/chains/kit/mod.rs"]
mod kit;

use std::time::Instant;

use kit::{Cache, Reply, World};
use sim::signer::{Denial, Signing};
use validate::Validation;
use wire::iana::{algorithm, rtype};

const ROOT: &str = "";
const TLD: &str = "plain 300 NS ns.plain\nns.plain 300 A 192.0.2.9\n";
const ZONE: &str = "www 300 A 192.0.2.7\nalias 300 CNAME www\n*.wild 300 A 192.0.2.8\nmail 300 A 192.0.2.6\n";

/// Responses: in words, the zone whose servers say it, name and type.
const RESPONSES: [(&str, &str, &str, u16); 6] = [
    ("address", "shop.example.", "www.shop.example.", rtype::A),
    ("alias and address", "shop.example.", "alias.shop.example.", rtype::A),
    ("made from a wildcard", "shop.example.", "a.wild.shop.example.", rtype::A),
    ("no data", "shop.example.", "www.shop.example.", rtype::MX),
    ("no name", "shop.example.", "nothing.shop.example.", rtype::A),
    ("no DS: not signed", "example.", "plain.example.", rtype::DS),
];

fn world(denial: &Denial, algorithm: u8) -> World {
    let signing = || Signing { denial: denial.clone(), algorithms: vec![algorithm], ..Signing::new(7) };
    World::new(&[
        (".", ROOT, Some(signing())),
        ("example.", TLD, Some(signing())),
        ("shop.example.", ZONE, Some(signing())),
    ])
}

/// A cache as a resolver has it: it has seen the zone cuts, and with them DS.
fn cache(world: &World) -> Cache {
    let mut cache = Cache::default();
    for zone in ["example.", "shop.example."] {
        cache.cuts.insert(kit::name(zone));
        cache.put(&kit::name(zone), rtype::DS, Some(world.ask(zone, rtype::DS)));
    }
    for zone in [".", "example.", "shop.example."] {
        cache.put(&kit::name(zone), rtype::DNSKEY, Some(world.ask(zone, rtype::DNSKEY)));
    }
    cache
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let rounds: u32 = arguments.next().map_or(200, |rounds| rounds.parse().unwrap());
    let algorithm = match arguments.next().as_deref() {
        None | Some("p256") => algorithm::ECDSAP256SHA256,
        Some("ed25519") => algorithm::ED25519,
        Some("rsa") => algorithm::RSASHA256,
        Some(other) => panic!("{other}?"),
    };
    println!(
        "{:24} {:6} {:>6} {:>6} {:>10} {:>14}",
        "response", "denial", "cold", "warm", "us, warm", "us a signature"
    );
    let nsec3 = Denial::Nsec3 { iterations: 0, salt: Vec::new(), opt_out: false };
    for (word, denial) in [("nsec", Denial::Nsec), ("nsec3", nsec3)] {
        let world = world(&denial, algorithm);
        for (what, zone, qname, qtype) in RESPONSES {
            let reply = world.ask_at(zone, qname, qtype);
            let mut cache = cache(&world);
            let cold = signatures(&world, &reply, &mut cache);
            let warm = signatures(&world, &reply, &mut cache);
            let begun = Instant::now();
            for _ in 0..rounds {
                signatures(&world, &reply, &mut cache);
            }
            let us = begun.elapsed().as_secs_f64() * 1e6 / f64::from(rounds);
            println!("{what:24} {word:6} {cold:6} {warm:6} {us:10.1} {:14.1}", us / f64::from(warm));
        }
    }
}

/// How many are verified; nothing is remembered of them.
fn signatures(world: &World, reply: &Reply, cache: &mut Cache) -> u16 {
    world.drive(reply, cache, Validation::new()).verdict.work.signatures
}
