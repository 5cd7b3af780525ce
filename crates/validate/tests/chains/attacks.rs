//! What others got wrong, and what would harm: each class of faults of 2025 and 2026 in validation and in counting work is a test.
use crate::kit;
use crate::kit::{Cache, NOW, Outcome, Reply, World, name};
use sim::FaultKind;
use sim::signer::{Denial, Signing, sign_set};
use validate::limits::{
    DENIALS_MAX, FAILURES_MAX, FAILURES_OF_RRSET_MAX, HASH_ROUNDS_MAX, Limit, QUESTION_FAILURES_MAX,
    SIGNATURES_MAX,
};
use validate::{Fault, Insecurity, Security, Validation};
use wire::iana::{rcode, rtype};
use wire::rrset::{RdataListBuf, RrsetBuf};
use wire::{Name, NameBuf};

const ZONE: &str = "\
www 300 A 192.0.2.7\n\
mail 300 A 192.0.2.17\n\
*.wild 300 A 192.0.2.8\n\
here.wild 300 TXT \"here\"\n\
*.aliases 300 CNAME www\n\
sub 300 NS ns.sub\n\
tree 300 DNAME other\n\
x.other 300 A 192.0.2.9\n";

fn signing() -> Signing {
    Signing::new(7)
}

fn nsec3(iterations: u16, opt_out: bool) -> Signing {
    Signing { denial: Denial::Nsec3 { iterations, salt: vec![], opt_out }, ..signing() }
}

/// The root and `example.`, signed; `example.` with faults.
fn world(example: Signing) -> World {
    World::new(&[(".", "", Some(signing())), ("example.", ZONE, Some(example))])
}

fn with(fault: sim::Fault) -> World {
    world(signing().with(fault))
}

/// An RRset signed as `example.` signs.
fn signed(owner: &str, rtype: u16, rdatas: &[&[u8]], signing: &Signing) -> RrsetBuf {
    signed_by("example.", owner, rtype, rdatas, signing)
}

fn signed_by(apex: &str, owner: &str, rtype: u16, rdatas: &[&[u8]], signing: &Signing) -> RrsetBuf {
    let signatures = sign_set(&name(apex), signing, &name(owner), rtype, 300, rdatas);
    RrsetBuf {
        owner: name(owner),
        rtype,
        ttl: 300,
        rdatas: rdatas.iter().copied().collect(),
        signatures: signatures.iter().map(Vec::as_slice).collect(),
    }
}

fn nsec(owner: &str, next: &str, types: &[u16], signing: &Signing) -> RrsetBuf {
    let mut rdata = name(next).octets().to_vec();
    let mut types = types.to_vec();
    types.extend([rtype::RRSIG, rtype::NSEC]);
    types.sort_unstable();
    dnssec_types(&types, &mut rdata);
    signed(owner, rtype::NSEC, &[&rdata], signing)
}

/// A type bitmap of types below 256.
fn dnssec_types(types: &[u16], rdata: &mut Vec<u8>) {
    let mut bits = [0u8; 32];
    types.iter().for_each(|&rtype| bits[rtype as usize / 8] |= 0x80 >> (rtype % 8));
    let octets = 1 + bits.iter().rposition(|&octet| octet != 0).unwrap();
    rdata.extend([0, octets as u8]);
    rdata.extend(&bits[..octets]);
}

fn negative(qname: &str, qtype: u16, rcode: u16, authority: Vec<RrsetBuf>) -> Reply {
    Reply { qname: name(qname), qtype, rcode, answer: vec![], authority }
}

#[track_caller]
fn is_bogus(outcome: &Outcome) {
    assert_eq!(outcome.verdict.security, Security::Bogus, "{:?}", outcome.verdict);
}

// Signatures ------------------------------------------------------------------------------------------------------------------------------

#[test]
fn rrsig_labels_fewer_than_the_signers() {
    // `*.` or `*.example.` in place of a name of sub zones: labels 0 below the signer's 1.
    for (labels, fault) in [(0, Fault::WrongLabels), (3, Fault::WrongLabels)] {
        let world = with(FaultKind::Labels(labels).at(&name("www.example."), rtype::A));
        world.resolve("www.example.", rtype::A).bogus(fault, "www.example. A");
    }
    // 1 is `*.example.`: a wildcard that the records of the answer do not prove.
    let world = with(FaultKind::Labels(1).at(&name("www.example."), rtype::A));
    world.resolve("www.example.", rtype::A).bogus(Fault::WildcardUnproved, "www.example. A");
}

#[test]
fn types_that_are_never_made_from_a_wildcard() {
    let dname = with(FaultKind::Labels(1).at_type(rtype::DNAME));
    dname.resolve("x.tree.example.", rtype::A).bogus(Fault::WildcardExpanded, "tree.example. DNAME");
    let nsec = with(FaultKind::Labels(1).at(&name("www.example."), rtype::NSEC));
    nsec.resolve("www.example.", rtype::MX).bogus(Fault::WildcardExpanded, "www.example. NSEC");
}

/// The signed answer of a wildcard given for a name that exists, or with the proof left out or of another name.
#[test]
fn wildcard_replay() {
    for signing in [signing(), nsec3(0, false)] {
        let world = world(signing);
        let sound = world.ask("any.wild.example.", rtype::A);
        world.validate(&sound).secure();
        let mut reply = sound.clone();
        reply.authority.clear();
        world.validate(&reply).bogus(Fault::WildcardUnproved, "any.wild.example. A");
        let mut reply = sound.clone();
        reply.qname = name("here.wild.example.");
        reply.answer[0].owner = name("here.wild.example.");
        is_bogus(&world.validate(&reply));
        // Nor does the sound proof that it has no addresses stand for one that it does not exist (CVE-2026-123579).
        reply.authority = world.ask("here.wild.example.", rtype::A).authority;
        is_bogus(&world.validate(&reply));
        // Below a name that exists the wildcard does not reach.
        let mut reply = sound.clone();
        reply.qname = name("below.here.wild.example.");
        reply.answer[0].owner = name("below.here.wild.example.");
        is_bogus(&world.validate(&reply));
        let other = world.ask("nothing.example.", rtype::A);
        let mut reply = sound;
        reply.authority = other.authority;
        is_bogus(&world.validate(&reply));
    }
}

#[test]
fn wildcard_cname_needs_its_proof() {
    for signing in [signing(), nsec3(0, false)] {
        let world = world(signing);
        let sound = world.ask("any.aliases.example.", rtype::A);
        assert_eq!(sound.answer[0].rtype, rtype::CNAME);
        world.validate(&sound).secure();
        let mut reply = sound;
        reply.authority.clear();
        world.validate(&reply).bogus(Fault::WildcardUnproved, "any.aliases.example. CNAME");
    }
}

#[test]
fn times() {
    let expired = with(FaultKind::Expired.at(&name("www.example."), rtype::A));
    let outcome = expired.resolve("www.example.", rtype::A);
    outcome.bogus(Fault::Expired, "www.example. A");
    assert_eq!(outcome.verdict.reason.unwrap().ede(), Some(7));
    let early = with(FaultKind::NotYetValid.at(&name("www.example."), rtype::A));
    let outcome = early.resolve("www.example.", rtype::A);
    outcome.bogus(Fault::NotYetValid, "www.example. A");
    assert_eq!(outcome.verdict.reason.unwrap().ede(), Some(8));
    assert_eq!(outcome.verdict.work.failures, 0, "nothing was verified");
}

#[test]
fn signatures_that_are_missing_broken_or_of_others() {
    let www = name("www.example.");
    let at = |kind: FaultKind| with(kind.at(&www, rtype::A)).resolve("www.example.", rtype::A);
    at(FaultKind::Missing).bogus(Fault::SignatureMissing, "www.example. A");
    at(FaultKind::Broken).bogus(Fault::BadSignature, "www.example. A");
    at(FaultKind::UnknownKey).bogus(Fault::KeyMissing, "www.example. A");
    at(FaultKind::SignerName(name("sibling."))).bogus(Fault::WrongSigner, "www.example. A");
    at(FaultKind::SignerName(name("www.example."))).bogus(Fault::WrongSigner, "www.example. A");
    at(FaultKind::SignerName(name("a.www.example."))).bogus(Fault::WrongSigner, "www.example. A");
    at(FaultKind::SignerName(name("."))).bogus(Fault::KeyMissing, "www.example. A");
}

/// A sibling and a child with sound keys of their own sign what is not theirs; the parent's signature counts for its own data only.
#[test]
fn signatures_of_other_zones() {
    let zones = |fault: FaultKind| {
        let example = signing().with(fault.at(&name("www.example."), rtype::A));
        World::new(&[
            (".", "", Some(signing())),
            ("example.", ZONE, Some(example)),
            ("sibling.", "", Some(signing())),
            ("www.example.", "", Some(signing())),
        ])
    };
    let ask = |world: &World| {
        let reply = world.ask_at("example.", "www.example.", rtype::TXT);
        assert!(reply.answer.is_empty(), "it is delegated");
        let mut reply = reply;
        reply.qtype = rtype::A;
        reply.authority.clear();
        reply.answer = vec![signed("www.example.", rtype::A, &[&[192, 0, 2, 99]], &signing())];
        reply
    };
    let world = zones(FaultKind::Missing);
    let mut reply = ask(&world);
    reply.answer = vec![signed_by("sibling.", "www.example.", rtype::A, &[&[9; 4]], &signing())];
    is_bogus(&world.validate(&reply));
    reply.answer = vec![signed_by("www.example.", "mail.example.", rtype::A, &[&[9; 4]], &signing())];
    reply.qname = name("mail.example.");
    is_bogus(&world.validate(&reply));
    // The parent of a zone that is known.
    let mut cache = Cache::default();
    world.validate_with(&world.ask("www.example.", rtype::SOA), &mut cache).secure();
    let reply = ask(&world);
    world.validate_with(&reply, &mut cache).bogus(Fault::WrongSigner, "www.example. A");
}

/// KSK, DNSKEY and SOA are the apex's, whoever signs.
#[test]
fn types_of_an_apex_are_signed_by_it() {
    let world = world(signing());
    for rtype in [rtype::SOA, rtype::DNSKEY] {
        let mut reply = world.ask("www.example.", rtype);
        reply.rcode = rcode::NOERROR;
        reply.authority.clear();
        reply.answer = vec![signed("www.example.", rtype, &[&[1; 40]], &signing())];
        is_bogus(&world.validate(&reply));
    }
}

// Denial ----------------------------------------------------------------------------------------------------------------------------------

#[test]
fn denials_that_are_left_out() {
    for signing in [signing(), nsec3(0, false)] {
        let world = world(signing);
        for (qname, qtype) in
            [("nothing.example.", rtype::A), ("www.example.", rtype::MX), ("any.wild.example.", rtype::MX)]
        {
            let sound = world.ask(qname, qtype);
            world.validate(&sound).secure();
            let place = format!("{qname} {}", rtype::Text(qtype));
            for (at, left_out) in sound.authority.iter().enumerate() {
                let mut reply = sound.clone();
                reply.authority.remove(at);
                let outcome = world.validate(&reply);
                let is_needed = left_out.rtype != rtype::SOA;
                assert_eq!(outcome.verdict.security == Security::Bogus, is_needed, "{qname} {left_out:?}");
            }
            let mut reply = sound.clone();
            reply.authority.clear();
            world.validate(&reply).bogus(Fault::DenialMissing, &place);
            let mut reply = sound;
            reply.authority.retain(|set| set.rtype == rtype::SOA);
            world.validate(&reply).bogus(Fault::DenialMissing, &place);
        }
    }
}

/// Proofs of one question given for another.
#[test]
fn denials_of_other_names_and_types() {
    for signing in [signing(), nsec3(0, false)] {
        let world = world(signing);
        let of = |qname: &str, qtype| world.ask(qname, qtype).authority;
        let check = |qname: &str, qtype, rcode, authority: &[RrsetBuf]| {
            let outcome = world.validate(&negative(qname, qtype, rcode, authority.to_vec()));
            outcome.bogus(Fault::DenialWrong, &format!("{qname} {}", rtype::Text(qtype)));
        };
        check("www.example.", rtype::A, rcode::NXDOMAIN, &of("nothing.example.", rtype::A));
        check("www.example.", rtype::A, rcode::NOERROR, &of("nothing.example.", rtype::A));
        check("www.example.", rtype::A, rcode::NOERROR, &of("www.example.", rtype::MX));
        check("mail.example.", rtype::A, rcode::NOERROR, &of("www.example.", rtype::MX));
        check("any.wild.example.", rtype::A, rcode::NXDOMAIN, &of("any.wild.example.", rtype::MX));
        check("any.wild.example.", rtype::A, rcode::NOERROR, &of("any.wild.example.", rtype::MX));
        check("any.aliases.example.", rtype::MX, rcode::NOERROR, &of("any.wild.example.", rtype::MX));
        check("x.tree.example.", rtype::A, rcode::NXDOMAIN, &of("nothing.example.", rtype::A));
        // No error, and the proof that there is no such name: not what the server says.
        check("nothing.example.", rtype::A, rcode::NOERROR, &of("nothing.example.", rtype::A));
    }
}

#[test]
fn nsec_next_name_outside_of_the_zone() {
    for next in ["zzz.", "com.", "a.sibling."] {
        let mut reply = negative("x.example.", rtype::A, rcode::NXDOMAIN, vec![]);
        reply.authority = vec![
            nsec("www.example.", next, &[rtype::A], &signing()),
            nsec("example.", "mail.example.", &[rtype::NS, rtype::SOA], &signing()),
        ];
        world(signing()).validate(&reply).bogus(Fault::DenialWrong, "x.example. A");
        reply.authority[0] = nsec("www.example.", "example.", &[rtype::A], &signing());
        world(signing()).validate(&reply).secure();
    }
}

/// The parent's record of a cut proves nothing about the child's data, nor the child's about the DS.
#[test]
fn parents_denial_for_the_childs_data() {
    for signing in [signing(), nsec3(0, false)] {
        let world = world(signing);
        let cut = world.ask("sub.example.", rtype::DS);
        world.validate(&cut).secure();
        for (qname, qtype, rcode) in [
            ("sub.example.", rtype::A, rcode::NOERROR),
            ("sub.example.", rtype::SOA, rcode::NOERROR),
            ("www.sub.example.", rtype::A, rcode::NXDOMAIN),
            ("www.sub.example.", rtype::A, rcode::NOERROR),
        ] {
            let outcome = world.validate(&negative(qname, qtype, rcode, cut.authority.clone()));
            outcome.bogus(Fault::DenialWrong, &format!("{qname} {}", rtype::Text(qtype)));
        }
    }
}

/// The same with all that the zone has of such records: the closest encloser is the cut, and the next closer name is covered by some record.
#[test]
fn nothing_is_denied_below_a_cut_or_a_dname() {
    for signing in [signing(), nsec3(0, false)] {
        let world = world(signing);
        let mut all: Vec<RrsetBuf> = Vec::new();
        let asked = (0..200).map(|number| format!("n{number}.example."));
        for qname in asked.chain(["sub.example.".to_owned(), "tree.example.".to_owned()]) {
            for set in world.ask(&qname, rtype::DS).authority {
                if !all.iter().any(|known| known.owner == set.owner && known.rtype == set.rtype) {
                    all.push(set);
                }
            }
        }
        let mut cache = Cache::default();
        let zones_are_known = world.validate_with(&world.ask("nothing.example.", rtype::A), &mut cache);
        zones_are_known.secure();
        for above in ["sub", "tree"] {
            for number in 0..20 {
                let qname = format!("n{number}.{above}.example.");
                for (rcode, qtype) in [(rcode::NXDOMAIN, rtype::A), (rcode::NOERROR, rtype::DS)] {
                    let reply = negative(&qname, qtype, rcode, all.clone());
                    is_bogus(&world.validate_with(&reply, &mut cache));
                }
            }
        }
    }
}

#[test]
fn childs_denial_for_the_parents_ds() {
    for signing in [signing(), nsec3(0, false)] {
        let zones = [(".", "", Some(Signing::new(7))), ("example.", ZONE, Some(signing))];
        let world = World::new(&zones);
        let childs = world.ask_at("example.", "example.", rtype::DS);
        assert!(childs.authority.iter().any(|set| set.rtype == rtype::SOA));
        let outcome = world.validate(&childs);
        outcome.bogus(Fault::DenialMissing, "example. DS");
        // As the proof of a delegation without DS: nothing below it would be validated.
        let mut downgraded = World::new(&zones);
        downgraded.instead.insert((name("example."), rtype::DS), Some(childs));
        is_bogus(&downgraded.resolve("www.example.", rtype::A));
    }
}

/// Both sides of a cut answer on one server: the parent's proof counts, the child's does not harm.
#[test]
fn ds_denied_by_both_sides() {
    let zones = [(".", "", Some(signing())), ("example.", ZONE, Some(signing())), ("sub.example.", "", None)];
    let mut world = World::new(&zones);
    let island = sim::Records::from_text("sub.example.", kit::HEAD).unwrap();
    world.add(&sim::signer::sign(&island, &signing()).unwrap());
    let parents = world.ask_at("example.", "sub.example.", rtype::DS);
    world.validate(&parents).secure();
    let mut both = parents;
    let denial = nsec("sub.example.", "ns.sub.example.", &[rtype::NS, rtype::SOA], &signing());
    let signatures = sign_set(
        &name("sub.example."),
        &signing(),
        &name("sub.example."),
        rtype::NSEC,
        300,
        &denial.rdatas.list().iter().collect::<Vec<_>>(),
    );
    both.authority
        .insert(0, RrsetBuf { signatures: signatures.iter().map(Vec::as_slice).collect(), ..denial });
    let soa = world.ask_at("sub.example.", "sub.example.", rtype::SOA).answer.remove(0);
    both.authority.insert(0, soa);
    world.validate(&both).secure();
    both.authority.truncate(2);
    is_bogus(&world.validate(&both));
}

/// An NSEC3 record of the zone below given as one of this zone: its owner is not one label below the apex.
/// A delegation that is proved not to be signed by records of one kind, beside others of the other kind that nobody has signed (CVE-2026-13204).
#[test]
fn ds_denied_by_nsec_and_nsec3() {
    let ask = |signing| world(signing).ask("sub.example.", rtype::DS);
    for (kept, added) in [(signing(), nsec3(0, false)), (nsec3(0, false), signing())] {
        let world = world(kept.clone());
        let sound = ask(kept);
        let mut others = ask(added).authority;
        others.retain(|set| set.rtype != rtype::SOA);
        others.iter_mut().for_each(|set| set.signatures = RdataListBuf::new());
        for is_first in [true, false] {
            let mut reply = sound.clone();
            let at = if is_first { 0 } else { reply.authority.len() };
            reply.authority.splice(at..at, others.clone());
            assert_ne!(world.validate(&reply).verdict.security, Security::Secure);
            // By themselves they prove nothing.
            reply.authority.retain(|set| matches!(set.rtype, rtype::SOA) || set.signatures.list().is_empty());
            is_bogus(&world.validate(&reply));
        }
    }
}

#[test]
fn nsec3_of_other_zones() {
    let world = World::new(&[
        (".", "", Some(signing())),
        ("example.", ZONE, Some(nsec3(0, false))),
        ("deep.example.", ZONE, Some(nsec3(0, false))),
    ]);
    let deep = world.ask("nothing.deep.example.", rtype::A);
    world.validate(&deep).secure();
    let outcome = world.validate(&negative("nothing.example.", rtype::A, rcode::NXDOMAIN, deep.authority));
    outcome.bogus(Fault::DenialMissing, "nothing.example. A");
}

/// RFC 9824: no data for a name that does not exist, said by a type of its own.
#[test]
fn compact_denial() {
    let world = world(signing());
    let mut rdata = name("\\000.nothing.example.").octets().to_vec();
    dnssec_types(&[rtype::RRSIG, rtype::NSEC, rtype::NXNAME], &mut rdata);
    let set = signed("nothing.example.", rtype::NSEC, &[&rdata], &signing());
    for (rcode, qtype) in
        [(rcode::NOERROR, rtype::A), (rcode::NXDOMAIN, rtype::A), (rcode::NOERROR, rtype::TXT)]
    {
        world.validate(&negative("nothing.example.", qtype, rcode, vec![set.clone()])).secure();
    }
    let outcome = world.validate(&negative("other.example.", rtype::A, rcode::NOERROR, vec![set]));
    is_bogus(&outcome);
}

/// NSEC3 with flags or hashes that nobody knows are as if they were not there (RFC 5155 8.1, 8.2).
#[test]
fn nsec3_of_unknown_kind() {
    let world = world(nsec3(0, false));
    for (at, value) in [(0, 2), (1, 2), (1, 0x80)] {
        let mut reply = world.ask("nothing.example.", rtype::A);
        for set in reply.authority.iter_mut().filter(|set| set.rtype == rtype::NSEC3) {
            let mut rdata = set.rdatas.list().iter().next().unwrap().to_vec();
            rdata[at] = value;
            let owner = set.owner.to_string();
            *set = signed(&owner, rtype::NSEC3, &[&rdata], &nsec3(0, false));
        }
        world.validate(&reply).bogus(Fault::DenialMissing, "nothing.example. A");
    }
}

/// A delegation that is not signed cannot be made up in a zone without opt-out, nor can one with DS be hidden in a span with it.
#[test]
fn opt_out_hides_nothing_that_is_signed() {
    let zones = [(".", "", Some(nsec3(0, true))), ("example.", ZONE, Some(signing())), ("plain.", "", None)];
    let world = World::new(&zones);
    let plain = world.ask("plain.", rtype::DS);
    let mut forged = World::new(&zones);
    forged.instead.insert((name("example."), rtype::DS), Some(plain));
    let mut reply = forged.ask("www.example.", rtype::A);
    reply.answer[0].signatures.clear();
    is_bogus(&forged.validate(&reply));
    let closed = World::new(&[(".", "", Some(nsec3(0, false))), ("example.", ZONE, Some(signing()))]);
    closed.resolve("www.no.such.", rtype::A).secure();
    let mut made_up = closed.ask("www.example.", rtype::A);
    made_up.qname = name("www.no.such.");
    made_up.answer[0].owner = name("www.no.such.");
    made_up.answer[0].signatures.clear();
    closed.validate(&made_up).bogus(Fault::SignatureMissing, "www.no.such. A");
}

// Aliases ---------------------------------------------------------------------------------------------------------------------------------

#[test]
fn cname_that_the_dname_does_not_make() {
    let world = world(signing());
    let sound = world.ask("x.tree.example.", rtype::A);
    world.validate(&sound).secure();
    let mut reply = sound;
    let cname = reply.answer(rtype::CNAME);
    assert!(cname.signatures.list().is_empty());
    cname.rdatas = [name("www.example.").octets()].into_iter().collect();
    world.validate(&reply).bogus(Fault::AliasMismatch, "x.tree.example. CNAME");
}

/// What stands after a chain that was cut short is not proved by it: it is asked for.
#[test]
fn chains() {
    let world = world(signing());
    let mut reply = world.ask("any.aliases.example.", rtype::A);
    reply.answer.retain(|set| set.rtype == rtype::CNAME);
    let outcome = world.validate(&reply);
    assert_eq!(outcome.secure().verdict.ending, validate::Ending::Elsewhere);
    assert_eq!(outcome.verdict.last, name("www.example."));
    // Nothing at all is a denial without a proof.
    let outcome = world.validate(&negative("www.example.", rtype::A, rcode::NOERROR, vec![]));
    outcome.bogus(Fault::DenialMissing, "www.example. A");
    // A loop.
    let looping = signed("loop.example.", rtype::CNAME, &[name("loop.example.").octets()], &signing());
    let mut reply = negative("loop.example.", rtype::A, rcode::NOERROR, vec![]);
    reply.answer = vec![looping];
    world.validate(&reply).bogus(Fault::TooMuchWork(Limit::Rrsets), "loop.example. A");
}

// Work ------------------------------------------------------------------------------------------------------------------------------------

/// CVE-2023-50387: keys of one tag, signatures by the dozen.
#[test]
fn keytrap() {
    let at_www = |kind: FaultKind| kind.at(&name("www.example."), rtype::A);
    let trap =
        signing().with(FaultKind::CollidingKeys(50).everywhere()).with(at_www(FaultKind::Signatures(50)));
    let world = world(trap);
    let outcome = world.resolve("www.example.", rtype::A);
    assert!(outcome.work().failures <= FAILURES_MAX, "{:?}", outcome.work());
    assert!(outcome.work().signatures <= 3 + FAILURES_OF_RRSET_MAX);
    // A pair by chance harms nothing.
    let pair = signing().with(FaultKind::CollidingKeys(1).everywhere());
    kit::World::new(&[(".", "", Some(signing())), ("example.", ZONE, Some(pair))])
        .resolve("www.example.", rtype::A)
        .secure();
}

/// Many RRsets with a failure each.
#[test]
fn failures_of_a_response() {
    let world = with(FaultKind::Broken.at_type(rtype::A));
    let mut reply = world.ask("www.example.", rtype::A);
    reply.qtype = rtype::ANY;
    let one = reply.answer[0].clone();
    for number in 0..100u8 {
        let rtype = 1000 + u16::from(number);
        let mut set = signed("www.example.", rtype, &[&[number]], &signing());
        let broken: Vec<Vec<u8>> = set
            .signatures
            .list()
            .iter()
            .map(|rdata| {
                let mut rdata = rdata.to_vec();
                *rdata.last_mut().unwrap() ^= 1;
                rdata
            })
            .collect();
        set.signatures = broken.iter().map(Vec::as_slice).collect();
        reply.answer.push(set);
    }
    let outcome = world.validate(&reply);
    is_bogus(&outcome);
    assert_eq!(outcome.work().failures, FAILURES_MAX);
    reply.answer = vec![one; 129];
    world.validate(&reply).bogus(Fault::TooMuchWork(Limit::Rrsets), "www.example. ANY");
}

#[test]
fn signatures_of_a_response() {
    let world = world(signing());
    let mut reply = negative("www.example.", rtype::ANY, rcode::NOERROR, vec![]);
    for number in 0..100 {
        reply.answer.push(signed("www.example.", 1000 + number, &[&[1]], &signing()));
    }
    let outcome = world.validate(&reply);
    is_bogus(&outcome);
    assert_eq!(outcome.work().signatures, SIGNATURES_MAX);
    assert!(outcome.verdict.is_fact());
}

/// What was spent stays spent: over fetches, retries, and from one response to the next.
/// ReTrap (CVE-2026-85501): sound records of a kind that a proof is sought in, without end. Each has its bound, whatever is left of others: NSEC and NSEC3 here; of DS, keys
/// and their tags see `keytrap` and `attack/hashtrap`, of zones on the way `endless_chains_of_zones`; additional records are not looked at.
#[test]
fn sound_denials_without_end() {
    let world = world(signing());
    let mut reply = negative("x.example.", rtype::A, rcode::NXDOMAIN, vec![]);
    for number in 100..200 {
        let [owner, next] = [number, number + 1].map(|number| format!("n{number}.example."));
        reply.authority.push(nsec(&owner, &next, &[rtype::A], &signing()));
    }
    let outcome = world.validate(&reply);
    is_bogus(&outcome);
    assert_eq!((outcome.work().signatures, outcome.verdict.is_fact()), (0, true));
    // Beside those that prove it as many as may be.
    let sound = world.ask("x.example.", rtype::A).authority;
    reply.authority.truncate(DENIALS_MAX + 1 - sound.len());
    reply.authority.extend(sound);
    world.validate(&reply).secure();
    let other = reply.authority[0].clone();
    reply.authority.push(other);
    is_bogus(&world.validate(&reply));
}

#[test]
fn no_restart_gives_work_back() {
    let world = with(FaultKind::Broken.at(&name("www.example."), rtype::A));
    let reply = world.ask("www.example.", rtype::A);
    let mut before = validate::Work::default();
    for round in 1..=QUESTION_FAILURES_MAX {
        let outcome = world.drive(&reply, &mut Cache::default(), Validation::continued(before));
        outcome.bogus(Fault::BadSignature, "www.example. A");
        before = outcome.work();
        assert_eq!(before.failures, round);
        assert!(outcome.verdict.is_fact());
    }
    let outcome = world.drive(&reply, &mut Cache::default(), Validation::continued(before));
    is_bogus(&outcome);
    assert!(!outcome.verdict.is_fact(), "says nothing about the response");
    assert_eq!((outcome.work().failures, outcome.work().signatures), (before.failures, before.signatures));
}

/// CVE-2023-50868: deep names, many iterations; the hashes are counted in every kind of proof.
#[test]
fn nsec3_hashes_in_every_proof() {
    let world = world(nsec3(50, false));
    let deep: String = (0..90).map(|_| "a.").collect();
    for (qname, qtype) in [
        (format!("{deep}example."), rtype::A),
        (format!("{deep}example."), rtype::DS),
        (format!("{deep}wild.example."), rtype::MX),
    ] {
        let outcome = world.resolve(&qname, qtype);
        is_bogus(&outcome);
        let rounds = outcome.work().hash_rounds;
        assert!((HASH_ROUNDS_MAX - 51..=HASH_ROUNDS_MAX).contains(&rounds), "{rounds}");
    }
    // One hash is enough where the signature says where the wildcard is.
    let outcome = world.resolve(&format!("{deep}wild.example."), rtype::A);
    assert_eq!(outcome.secure().work().hash_rounds, 51);
    let outcome = world.resolve("www.example.", rtype::MX);
    assert_eq!(outcome.secure().work().hash_rounds, 51);
    let outcome = world.resolve("nothing.example.", rtype::A);
    assert_eq!(outcome.secure().work().hash_rounds, 3 * 51);
}

/// Answers that lead on and on: zones below zones, each with DS.
#[test]
fn endless_chains_of_zones() {
    let mut texts = vec![(String::from("."), String::new())];
    for depth in 1..=24 {
        let apex: String = (0..depth).map(|_| "z.").collect();
        texts.push((apex, "www 300 A 192.0.2.7\n".to_owned()));
    }
    let zones: Vec<_> =
        texts.iter().map(|(apex, text)| (apex.as_str(), text.as_str(), Some(signing()))).collect();
    let world = World::new(&zones);
    let apex: String = (0..24).map(|_| "z.").collect();
    let outcome = world.resolve(&format!("www.{apex}"), rtype::A);
    is_bogus(&outcome);
    assert!(outcome.fetches.len() <= 32);
    world.resolve("www.z.z.z.z.z.z.z.z.", rtype::A).secure();
}

/// A retry after another server was asked goes on from what is sound.
#[test]
fn retry_after_a_bad_server() {
    let mut world = world(signing());
    let sound = world.ask("example.", rtype::DNSKEY);
    let mut bad = sound.clone();
    bad.answer(rtype::DNSKEY).signatures = RdataListBuf::new();
    let key: (NameBuf, u16) = (name("example."), rtype::DNSKEY);
    world.instead.insert(key.clone(), Some(bad));
    let mut cache = Cache::default();
    let reply = world.ask("www.example.", rtype::A);
    let outcome = world.validate_with(&reply, &mut cache);
    outcome.bogus(Fault::SignatureMissing, "example. DNSKEY");
    let Some(validate::Reason::Bogus(broken)) = &outcome.verdict.reason else { unreachable!() };
    assert!(broken.is_in_chain);
    world.instead.remove(&key);
    cache.put(&broken.name, broken.rtype, Some(sound));
    let again = world.drive(&reply, &mut cache, Validation::continued(outcome.work()));
    again.secure().fetches(&[]);
}

/// Nothing that a zone says about a name is found through a name above its anchor.
#[test]
fn the_deepest_anchor_decides() {
    let mut world = world(signing());
    for ds in Signing::new(99).ds(&name("example.")) {
        world.anchors.add_ds(&name("example."), &ds);
    }
    world.resolve("www.example.", rtype::A).bogus(Fault::NoMatchingKey, "example. DNSKEY");
    let mut reply = world.ask("www.example.", rtype::A);
    reply.answer = vec![signed_by(".", "www.example.", rtype::A, &[&[9; 4]], &signing())];
    is_bogus(&world.validate(&reply));
    assert_eq!(world.now, NOW);
}

/// A zone that counts as insecure lends nothing to names that are not below it.
/// An island of security below a zone that is proved not to be signed: whatever that zone says, and whoever signs in its name, denies nothing of the island (CVE-2026-35501,
/// CVE-2026-50106).
#[test]
fn insecure_parents_deny_nothing_of_an_island() {
    let island = Signing::new(8);
    let zones = [
        (".", "", Some(signing())),
        ("example.", "", None),
        ("island.example.", "www 300 A 192.0.2.7\n", Some(island.clone())),
    ];
    let mut world = World::new(&zones);
    for ds in island.ds(&name("island.example.")) {
        world.anchors.add_ds(&name("island.example."), &ds);
    }
    world.resolve("www.island.example.", rtype::A).secure();
    world.resolve("x.island.example.", rtype::A).secure();
    world.resolve("x.example.", rtype::A).insecure(Insecurity::NoDs);
    // A span over all of it; the apex as a cut, without SOA among its types.
    let span = nsec("example.", "zzz.example.", &[rtype::NS, rtype::SOA], &signing());
    let cut = nsec("island.example.", "zzz.example.", &[rtype::NS], &signing());
    let unsigned = RrsetBuf { signatures: RdataListBuf::new(), ..cut.clone() };
    for denial in [span, cut, unsigned] {
        for (qname, qtype, rcode) in [
            ("www.island.example.", rtype::A, rcode::NXDOMAIN),
            ("www.island.example.", rtype::A, rcode::NOERROR),
            ("island.example.", rtype::NSEC, rcode::NOERROR),
            ("island.example.", rtype::DNSKEY, rcode::NOERROR),
        ] {
            is_bogus(&world.validate(&negative(qname, qtype, rcode, vec![denial.clone()])));
        }
    }
}

#[test]
fn insecure_zones_say_nothing_about_others() {
    let world =
        World::new(&[(".", "", Some(signing())), ("example.", ZONE, Some(signing())), ("plain.", "", None)]);
    let mut reply = world.ask("www.example.", rtype::MX);
    reply.authority = world.ask("www.plain.", rtype::MX).authority;
    assert!(!reply.authority.is_empty());
    is_bogus(&world.validate(&reply));
    let mut cache = Cache::default();
    world.validate_with(&world.ask("www.plain.", rtype::A), &mut cache).insecure(Insecurity::NoDs);
    is_bogus(&world.validate_with(&reply, &mut cache));
    assert!(Name::from_wire(reply.qname.octets()).is_ok());
}
