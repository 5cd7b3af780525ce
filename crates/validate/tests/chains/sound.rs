//! What servers answer of sound zones: secure, in every form of answer, by every form of denial.
use crate::kit;
use crate::kit::{Cache, World};
use sim::signer::{Denial, Signing};
use validate::{Ending, Insecurity, RrsetVerdict, Security};
use wire::iana::{algorithm, rcode, rtype};

const ROOT: &str = "";
const EXAMPLE: &str = "\
www 300 A 192.0.2.7\n\
www 300 TXT \"words\"\n\
alias 300 CNAME www\n\
twice 300 CNAME alias\n\
out 300 CNAME www.elsewhere.\n\
dangling 300 CNAME nothing\n\
empty 300 CNAME ent\n\
*.wild 300 A 192.0.2.8\n\
here.wild 300 TXT \"here\"\n\
*.aliases 300 CNAME www\n\
tree 300 DNAME other\n\
x.other 300 A 192.0.2.9\n\
a.b.ent 300 A 192.0.2.10\n";

fn signing(denial: Denial) -> Signing {
    Signing { denial, ..Signing::new(7) }
}

fn nsec3(iterations: u16, opt_out: bool) -> Denial {
    Denial::Nsec3 { iterations, salt: vec![0xab, 0xcd], opt_out }
}

fn world(denial: Denial) -> World {
    let plain = Some(Signing::new(7));
    World::new(&[(".", ROOT, plain), ("example.", EXAMPLE, Some(signing(denial)))])
}

fn denials() -> [Denial; 3] {
    [Denial::Nsec, nsec3(0, false), nsec3(5, false)]
}

/// Every form of answer, with the ending that it proves.
const QUESTIONS: [(&str, u16, Ending); 25] = [
    ("www.example.", rtype::A, Ending::Answer),
    ("WWW.Example.", rtype::A, Ending::Answer),
    ("www.example.", rtype::ANY, Ending::Answer),
    ("example.", rtype::SOA, Ending::Answer),
    ("example.", rtype::NS, Ending::Answer),
    ("example.", rtype::DNSKEY, Ending::Answer),
    ("example.", rtype::DS, Ending::Answer),
    ("alias.example.", rtype::A, Ending::Answer),
    ("twice.example.", rtype::TXT, Ending::Answer),
    ("alias.example.", rtype::CNAME, Ending::Answer),
    ("any.wild.example.", rtype::A, Ending::Answer),
    ("a.b.c.wild.example.", rtype::A, Ending::Answer),
    ("*.wild.example.", rtype::A, Ending::Answer),
    ("any.aliases.example.", rtype::A, Ending::Answer),
    ("x.tree.example.", rtype::A, Ending::Answer),
    ("out.example.", rtype::A, Ending::Elsewhere),
    ("www.example.", rtype::MX, Ending::NoData),
    ("ent.example.", rtype::A, Ending::NoData),
    ("b.ent.example.", rtype::A, Ending::NoData),
    ("any.wild.example.", rtype::MX, Ending::NoData),
    ("here.wild.example.", rtype::A, Ending::NoData),
    ("empty.example.", rtype::A, Ending::NoData),
    ("nothing.example.", rtype::A, Ending::NameError),
    ("a.b.nothing.ent.example.", rtype::A, Ending::NameError),
    ("dangling.example.", rtype::A, Ending::NameError),
];

#[test]
fn every_form_of_answer() {
    for denial in denials() {
        let world = world(denial);
        let mut cache = Cache::default();
        for (qname, qtype, ending) in QUESTIONS {
            let outcome = world.validate_with(&world.ask(qname, qtype), &mut cache);
            outcome.secure();
            assert_eq!(outcome.verdict.ending, ending, "{qname}");
            let unchecked = |set: &&RrsetVerdict| set.security != Security::Unchecked;
            assert!(
                outcome.verdict.rrsets.iter().filter(unchecked).all(|set| set.security == Security::Secure)
            );
        }
    }
}

/// Without a cache: what is fetched and verified for each zone once.
#[test]
fn each_zone_costs_one_fetch_and_two_signatures() {
    let world = world(Denial::Nsec);
    let outcome = world.resolve("www.example.", rtype::A);
    outcome.secure().fetches(&[". DNSKEY", "example. DS", "example. DNSKEY"]);
    assert_eq!(outcome.work().signatures, 4, "DNSKEY of the root, DS, DNSKEY, A");
    assert_eq!((outcome.work().failures, outcome.work().digests), (0, 2));
    let mut cache = Cache::default();
    world.validate_with(&world.ask("www.example.", rtype::A), &mut cache);
    cache.forget_fetched();
    let outcome = world.validate_with(&world.ask("nothing.example.", rtype::A), &mut cache);
    outcome.secure().fetches(&[]);
    assert_eq!(outcome.work().signatures, 3, "SOA, NSEC of the name, NSEC of the wildcard");
    let mut forgetful = Cache::default();
    forgetful.is_forgetful = true;
    assert_eq!(
        world.validate_with(&world.ask("www.example.", rtype::A), &mut forgetful).work().signatures,
        4
    );
}

#[test]
fn every_algorithm() {
    use algorithm::{ECDSAP256SHA256, ECDSAP384SHA384, ED25519, RSASHA256, RSASHA512};
    for algorithm in [RSASHA256, RSASHA512, ECDSAP256SHA256, ECDSAP384SHA384, ED25519] {
        for ds_digests in [vec![1], vec![2], vec![4], vec![1, 2, 4], vec![9, 2]] {
            let signing = Some(Signing { algorithms: vec![algorithm], ds_digests, ..Signing::new(3) });
            let world = World::new(&[(".", ROOT, signing.clone()), ("example.", EXAMPLE, signing)]);
            world.resolve("www.example.", rtype::A).secure();
        }
    }
}

/// The TTL of an RRset is bounded by its signature (RFC 4035 5.3.3).
#[test]
fn ttls() {
    let mut world = world(Denial::Nsec);
    let mut reply = world.ask("www.example.", rtype::A);
    assert_eq!(world.validate(&reply).verdict.ttl_max, 300);
    reply.answer(rtype::A).ttl = 86_400;
    assert_eq!(world.validate(&reply).verdict.ttl_max, 300, "original TTL");
    reply.answer(rtype::A).ttl = 17;
    assert_eq!(world.validate(&reply).verdict.ttl_max, 17, "received");
    world.now = u64::from(Signing::new(0).expiration) - 5;
    assert_eq!(world.validate(&reply).verdict.ttl_max, 5, "expiration");
}

#[test]
fn zones_are_kept_no_longer_than_ds_and_keys() {
    let world = world(Denial::Nsec);
    let mut cache = Cache::default();
    world.validate_with(&world.ask("www.example.", rtype::A), &mut cache);
    assert_eq!(cache.kept("example.").unwrap().1, kit::NOW + 300, "TTL of DS");
    assert_eq!(cache.kept(".").unwrap().1, kit::NOW + 3600, "TTL of DNSKEY");
}

/// RFC 5155 9.2: what relies on a span with opt-out is not authentic; what does not is.
#[test]
fn opt_out() {
    let world = world(nsec3(0, true));
    world.resolve("www.example.", rtype::A).secure();
    world.resolve("www.example.", rtype::MX).secure();
    world.resolve("nothing.example.", rtype::A).insecure(Insecurity::OptOut);
    world.resolve("any.wild.example.", rtype::A).insecure(Insecurity::OptOut);
    world.resolve("any.wild.example.", rtype::MX).insecure(Insecurity::OptOut);
}

/// RFC 9276 3.2: insecure, once the signature of the record is verified; nothing is hashed.
#[test]
fn too_many_iterations_are_insecure() {
    let world = world(nsec3(51, false));
    for question in ["nothing.example.", "ent.example.", "any.wild.example."] {
        let outcome = world.resolve(question, rtype::A);
        outcome.insecure(Insecurity::Nsec3Iterations);
        assert_eq!(outcome.work().hash_rounds, 0);
        assert_eq!(outcome.verdict.reason.as_ref().unwrap().ede(), Some(27));
    }
    world.resolve("www.example.", rtype::A).secure();
    let mut forged = world.ask("nothing.example.", rtype::A);
    forged.authority.iter_mut().for_each(|set| set.signatures.clear());
    assert_eq!(world.validate(&forged).verdict.security, Security::Bogus);
}

/// Signatures are not signed (RFC 4035 2.2).
#[test]
fn signatures_as_an_answer() {
    let world = world(Denial::Nsec);
    world.resolve("www.example.", rtype::RRSIG).insecure(Insecurity::Unsignable);
    world.resolve("ent.example.", rtype::RRSIG).secure();
}

/// A server that says that an empty non-terminal does not exist is corrected by its own proof.
#[test]
fn name_error_at_an_empty_non_terminal_is_no_data() {
    for denial in denials() {
        let world = world(denial);
        let mut reply = world.ask("b.ent.example.", rtype::A);
        reply.rcode = rcode::NXDOMAIN;
        let outcome = world.validate(&reply);
        assert_eq!(outcome.secure().verdict.ending, Ending::NoData);
    }
}

/// Keys do not prolong themselves: a DNSKEY RRset is kept no longer than the DS that leads to it, and not by what was kept of the zone.
#[test]
fn keys_are_proved_from_above() {
    let mut world = world(Denial::Nsec);
    let mut cache = Cache::default();
    world.validate_with(&world.ask("www.example.", rtype::A), &mut cache).secure();
    let outcome = world.validate_with(&world.ask("example.", rtype::DNSKEY), &mut cache);
    assert_eq!(outcome.secure().verdict.ttl_max, 300, "TTL of DS");
    // The parent has withdrawn its DS meanwhile.
    let mut withdrawn = world.ask("example.", rtype::DS);
    withdrawn.answer.clear();
    world.instead.insert((kit::name("example."), rtype::DS), Some(withdrawn));
    cache.forget_fetched();
    let outcome = world.validate_with(&world.ask("example.", rtype::DNSKEY), &mut cache);
    assert_eq!(outcome.verdict.security, Security::Bogus);
}

/// A DNSKEY RRset as the answer is what would be fetched to validate it.
#[test]
fn keys_as_an_answer_are_not_fetched_again() {
    let world = world(Denial::Nsec);
    let outcome = world.resolve("example.", rtype::DNSKEY);
    outcome.secure().fetches(&[". DNSKEY", "example. DS"]);
    world.resolve(".", rtype::DNSKEY).secure().fetches(&[]);
    let mut forged = world.ask(".", rtype::DNSKEY);
    forged.answer(rtype::DNSKEY).rdatas =
        world.ask("example.", rtype::DNSKEY).answer(rtype::DNSKEY).rdatas.clone();
    assert_eq!(world.validate(&forged).verdict.security, Security::Bogus);
}
