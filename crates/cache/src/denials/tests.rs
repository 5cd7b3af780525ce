use dnssec::nsec3::{self, Hash, Nsec3Params};
use wire::iana::rtype;
use wire::name::NameBuf;
use wire::rrset::RdataListBuf;

use super::*;

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

fn denials(octets: usize) -> Denials {
    Denials::new(octets, Secret::new([1, 2, 3]))
}

/// RDATA of an RRSIG with so many labels, of which nothing else is looked at.
fn signature(owner: &Name) -> RdataListBuf {
    let labels = owner.label_count() - usize::from(owner.is_wildcard());
    [&[0, 47, 13, labels as u8, 0, 0, 0, 9][..]].into_iter().collect()
}

fn put(denials: &Denials, owner: &str, rtype: u16, rdata: &[u8]) -> bool {
    let (owner, rdatas) = (name(owner), [rdata].into_iter().collect::<RdataListBuf>());
    let signatures = signature(&owner);
    let set = Rrset { owner: &owner, rtype, ttl: 60, rdatas: rdatas.list(), signatures: signatures.list() };
    denials.put(&name("example."), &set, Moment(1_000))
}

/// Types A, NS or DNAME, and NSEC.
fn put_nsec(denials: &Denials, owner: &str, next: &str, bits: u8) -> bool {
    let mut rdata = name(next).octets().to_vec();
    rdata.extend([0, 6, bits, 0, 0, 0, 0, 3]);
    put(denials, owner, rtype::NSEC, &rdata)
}

const A: u8 = 0x40;
const NS: u8 = 0x20;

/// The owners of what is found after the SOA, in their order.
fn check(denials: &Denials, asked: &str, ms: u64, expected: Option<&[&str]>) {
    let mut out = RrsetListBuf::new();
    let found = denials.collect(&name("example."), &name(asked), Moment(ms), &mut out);
    let owners: Vec<String> = out.list().iter().skip(1).map(|set| set.owner.to_string()).collect();
    assert_eq!(
        found.then_some(owners),
        expected.map(|owners| owners.iter().map(|owner| owner.to_string()).collect()),
        "{asked}"
    );
}

fn soa(denials: &Denials) {
    assert!(put(denials, "example.", rtype::SOA, b"soa"));
}

#[test]
fn spans_of_names() {
    let denials = denials(1 << 20);
    put_nsec(&denials, "example.", "b.example.", A);
    check(&denials, "a.example.", 1_000, None);
    soa(&denials);
    put_nsec(&denials, "b.example.", "cut.example.", A);
    put_nsec(&denials, "cut.example.", "x.d.example.", NS);
    put_nsec(&denials, "x.d.example.", "example.", A);
    check(&denials, "a.example.", 1_000, Some(&["example."]));
    check(&denials, "c.example.", 1_000, Some(&["b.example.", "example."]));
    check(&denials, "b.example.", 1_000, Some(&["b.example."]));
    check(&denials, "y.b.example.", 1_000, Some(&["b.example."]));
    check(&denials, "d.example.", 1_000, Some(&["cut.example."]));
    check(&denials, "a.d.example.", 1_000, Some(&["cut.example."]));
    check(&denials, "www.cut.example.", 1_000, None);
    check(&denials, "zz.example.", 1_000, Some(&["x.d.example.", "example."]));
    check(&denials, "a.example.", 61_000, None);
    denials.flush(&name("q.example."));
    check(&denials, "a.example.", 1_000, None);
    assert_eq!(denials.octets(), 0);
}

/// What covers a name, without the SOA, and nothing for names that are there.
#[test]
fn covers_of_names() {
    let denials = denials(1 << 20);
    let cover = |asked: &str, ms| {
        let mut out = RrsetListBuf::new();
        let found = denials.cover(&name("example."), &name(asked), Moment(ms), &mut out);
        found.then(|| out.list().iter().map(|set| set.owner.to_string()).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(cover("m.w.example.", 1_000), None);
    put_nsec(&denials, "*.w.example.", "z.example.", A);
    assert_eq!(cover("m.w.example.", 1_000), Some("*.w.example.".into()));
    assert_eq!(cover("*.w.example.", 1_000), None);
    assert_eq!(cover("a.example.", 1_000), None);
    assert_eq!(cover("z.example.", 1_000), None);
    assert_eq!(cover("m.w.example.", 61_000), None, "expired");
    assert_eq!(cover("m.w.test.", 1_000), None, "of another zone");
}

#[test]
fn what_denies_nothing_else_is_not_kept() {
    let denials = denials(1 << 20);
    assert!(!put_nsec(&denials, "b.example.", "\\000.b.example.", A), "made for one name");
    assert!(!put_nsec(&denials, "b.other.", "c.other.", A), "of another zone");
    assert!(put_nsec(&denials, "*.example.", "a.example.", A));
    let (owner, wildcard) = (name("b.example."), name("*.example."));
    let (rdatas, signatures) =
        ([&b"\0\0\x01\x40"[..]].into_iter().collect::<RdataListBuf>(), signature(&wildcard));
    let set = Rrset {
        owner: &owner,
        rtype: rtype::NSEC,
        ttl: 60,
        rdatas: rdatas.list(),
        signatures: signatures.list(),
    };
    assert!(!denials.put(&name("example."), &set, Moment(1_000)), "from a wildcard");
    assert!(!put(&denials, "c.example.", 1, b"1234"));
    assert!(!put(&denials, "c.example.", rtype::NSEC, b"\x3f"));
}

/// Owner, next and iterations of an NSEC3 with a salt.
fn put_nsec3(denials: &Denials, owner: &Hash, next: &Hash, iterations: u8) -> bool {
    let label = nsec3::owner_label(owner);
    let mut rdata = vec![1, 0, 0, iterations, 2, 0xaa, 0xbb, 20];
    rdata.extend(next);
    rdata.extend([0, 1, A]);
    put(denials, &format!("{}.example.", String::from_utf8_lossy(&label)), rtype::NSEC3, &rdata)
}

/// Whatever name is asked for, what is found matches or covers what it must.
#[test]
fn spans_of_hashes() {
    let denials = denials(1 << 20);
    soa(&denials);
    let params = Nsec3Params::new(0, &[0xaa, 0xbb]).unwrap();
    let mut hashes: Vec<Hash> =
        ["example.", "a.example.", "b.example.", "c.b.example."].map(|text| params.hash(&name(text))).into();
    hashes.sort_unstable();
    for at in 0..hashes.len() {
        assert!(put_nsec3(&denials, &hashes[at], &hashes[(at + 1) % hashes.len()], 0));
    }
    let mut out = RrsetListBuf::new();
    let mut count = |asked: &str| {
        let found = denials.collect(&name("example."), &name(asked), Moment(1_000), &mut out);
        found.then(|| out.list().iter().count())
    };
    assert_eq!(
        ["a.example.", "b.example.", "example."].map(&mut count),
        [Some(2); 3],
        "SOA and what matches"
    );
    assert_eq!(
        ["x.example.", "x.c.b.example.", "y.x.a.example."].map(&mut count),
        [Some(4); 3],
        "encloser, next closer, wildcard"
    );
    assert_eq!(count(&format!("{}example.", "x.".repeat(20))), None, "too many hashes");
    let mut covers = |asked: &str| denials.cover(&name("example."), &name(asked), Moment(1_000), &mut out);
    assert!(covers("x.b.example.") && !covers("a.example.") && !covers("c.b.example."));
    assert!(!put_nsec3(&denials, &[7; 20], &[9; 20], 1), "hashed more than once");
    let mut near = [7; 20];
    near[19] = 8;
    assert!(!put_nsec3(&denials, &[7; 20], &near, 0), "made for one name");
}

#[test]
fn bounded_by_octets() {
    let denials = denials(1 << 20);
    for number in 0..20_000_u32 {
        let zone = name(&format!("z{}.", number % 50));
        let owner = name(&format!("h{number:08}.z{}.", number % 50));
        let next = name(&format!("h{number:08}x.z{}.", number % 50));
        let mut rdata = next.octets().to_vec();
        rdata.extend([0, 1, A]);
        let (rdatas, signatures) = ([&rdata[..]].into_iter().collect::<RdataListBuf>(), signature(&owner));
        let set = Rrset {
            owner: &owner,
            rtype: rtype::NSEC,
            ttl: 60,
            rdatas: rdatas.list(),
            signatures: signatures.list(),
        };
        assert!(denials.put(&zone, &set, Moment(number.into())));
        let (counted, all) = (denials.octets(), denials.groups.iter());
        assert!(counted <= 1 << 20);
        if number % 1_000 == 0 {
            let octets = all
                .map(|group| group.read().unwrap().zones.values().map(|zone| zone.octets).sum::<usize>())
                .sum::<usize>();
            assert_eq!(octets, counted);
        }
    }
    assert!(denials.octets() > 200_000, "{}", denials.octets());
}
