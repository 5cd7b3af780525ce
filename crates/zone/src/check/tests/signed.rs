//! Zones with DNSSEC, signed here and broken in one way each, and zones that another signer made.
use super::signer::{EXPIRATION, INCEPTION, NOW, TestZone};
use super::*;
use wire::iana::algorithm;

const TEXT: &str = "@ 300 IN SOA ns1 admin 1 3600 900 604800 300
@ 3600 IN NS ns1
@ 3600 IN NS ns2
ns1 3600 IN A 192.0.2.1
ns2 3600 IN A 192.0.2.2
a.ent 3600 IN A 192.0.2.3
*.w 3600 IN TXT \"hi\"
ins 3600 IN NS ns.ins
ns.ins 3600 IN A 192.0.2.4
only.deleg 3600 IN NS ns1
sec 3600 IN NS ns1
sec 3600 IN DS 1 13 2 ABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABAB
d 3600 IN DNAME example.org.
";

fn nsec() -> TestZone {
    TestZone::new(TEXT).nsec().sign()
}

fn nsec3(opt_out: bool) -> TestZone {
    TestZone::new(TEXT).nsec3(0, &[], opt_out).sign()
}

/// Whether a record is a signature that covers `covered`.
fn covers(covered: u16) -> impl Fn(u16, &[u8]) -> bool {
    move |rtype, rdata| rtype == rtype::RRSIG && rdata.starts_with(&covered.to_be_bytes())
}

#[test]
fn good_zones() {
    nsec().check(&[]);
    nsec3(false).check(&[]);
    nsec3(true).check(&[]);
    let options = Options { now: Some(NOW), threads: 3, ..Options::default() };
    assert_found(nsec().found(&options), &[]);
}

/// Zones signed by BIND's dnssec-signzone: NSEC, NSEC3, NSEC3 with opt-out, salt and iterations.
#[test]
fn zones_of_another_signer() {
    let now = Some(1_785_628_800); // 2026-08-02
    for (text, expected) in [
        (include_str!("bind-nsec.zone"), &[][..]),
        (include_str!("bind-nsec3.zone"), &[]),
        (
            include_str!("bind-nsec3-opt-out.zone"),
            &[
                "warning nsec3-iterations example. NSEC3PARAM :11: 5",
                "notice nsec3-salt example. NSEC3PARAM :11",
            ],
        ),
    ] {
        let contents = contents("example.", text);
        assert_found(findings(&contents, &Options { now, ..Options::default() }), expected);
        let late = findings(&contents, &Options { now: Some(1_800_000_000), ..Options::default() });
        assert!(late.iter().filter(|line| line.starts_with("error rrsig-expired")).count() > 10);
    }
}

#[test]
fn the_root_zone() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/root.zone");
    let mut text = std::fs::read_to_string(path).unwrap();
    let now = Some(1_785_628_800); // 2026-08-02
    let options = Options { now, threads: 2, ..Options::default() };
    let whole = contents(".", &text);
    let mut worst = None;
    let summary =
        super::super::check(&whole, &options, &mut |finding| worst = worst.max(Some(finding.severity)));
    assert_eq!((worst, summary.worst()), (Some(Severity::Warning), worst));
    for check in [Check::GlueMissing, Check::RrsigBad, Check::NsecBitmap, Check::ZonemdMismatch] {
        assert_eq!(summary.count(check), 0, "{}", check.id());
    }
    text = text.replacen("\taaa. NS SOA RRSIG NSEC DNSKEY ZONEMD", "\taaa. NS SOA RRSIG NSEC DNSKEY", 1);
    let found = findings(&contents(".", &text), &options);
    for id in ["error nsec-bitmap . NSEC", "error rrsig-bad . RRSIG", "error zonemd-mismatch . ZONEMD"] {
        assert!(found.iter().any(|line| line.starts_with(id)), "{id}");
    }
}

#[test]
fn missing_and_surplus_signatures() {
    let mut zone = nsec();
    zone.remove("ns1", covers(rtype::A));
    zone.check(&["error rrsig-missing ns1.example. A"]);

    let mut zone = nsec();
    zone.remove("ns1", |rtype, _| rtype == rtype::A);
    zone.add("ns1", rtype::AAAA, 3600, &[0; 16]);
    zone.check(&[
        "error rrsig-missing ns1.example. AAAA",
        "warning rrsig-orphan ns1.example. RRSIG: A",
        "error nsec-bitmap ns1.example. NSEC: found A RRSIG NSEC, expected AAAA RRSIG NSEC",
    ]);

    let mut zone = nsec();
    let contents = zone.contents();
    for (owner, rtype) in [("ins", rtype::NS), ("ns.ins", rtype::A)] {
        let name = NameBuf::from_text(&format!("{owner}.example.")).unwrap();
        let set = contents.find_name(&name).unwrap().rrset(rtype).unwrap();
        let signature = zone.signature(&name, set, |_| ());
        zone.add(owner, rtype::RRSIG, 3600, &signature);
    }
    zone.check(&[
        "warning rrsig-unexpected ins.example. RRSIG: NS",
        "warning rrsig-unexpected ns.ins.example. RRSIG: A",
    ]);
}

/// Replaces the signature of ns1/A by one whose fields were changed before signing.
fn with_signature(change: impl Fn(&mut [u8])) -> TestZone {
    let mut zone = nsec();
    let contents = zone.contents();
    let owner = NameBuf::from_text("ns1.example.").unwrap();
    let set = contents.find_name(&owner).unwrap().rrset(rtype::A).unwrap();
    let signature = zone.signature(&owner, set, change);
    zone.remove("ns1", covers(rtype::A));
    zone.add("ns1", rtype::RRSIG, 3600, &signature);
    zone
}

#[test]
fn fields_of_signatures() {
    with_signature(|_| ()).check(&[]);
    with_signature(|rdata| rdata[3] = 1).check(&["error rrsig-wrong-fields ns1.example. RRSIG: A"]);
    with_signature(|rdata| rdata[3] = 3).check(&["error rrsig-wrong-fields ns1.example. RRSIG: A"]);
    with_signature(|rdata| rdata[19] = b'x').check(&["error rrsig-wrong-fields ns1.example. RRSIG: A"]);
    with_signature(|rdata| rdata[7] ^= 1)
        .check(&["error rrsig-original-ttl ns1.example. RRSIG: found 3600, expected 3601"]);
    let mut zone = with_signature(|_| ());
    let tag = zone.tag ^ 1;
    zone = with_signature(|rdata| rdata[16..18].copy_from_slice(&tag.to_be_bytes()));
    zone.check(&[&format!("error rrsig-without-key ns1.example. RRSIG: ED25519 key {tag}")]);
    let mut zone = nsec();
    zone.edit("ns1", rtype::A, |record| record.ttl = 60);
    zone.check(&[
        "warning rrsig-ttl ns1.example. RRSIG: found 3600, expected 60",
        "error rrsig-original-ttl ns1.example. RRSIG: found 60, expected 3600",
    ]);
}

#[test]
fn damaged_data() {
    let bad = format!("rrsig-bad ns1.example. RRSIG: ED25519 key {}", nsec().tag);
    let mut zone = nsec();
    zone.edit("ns1", rtype::A, |record| record.rdata[3] ^= 1);
    zone.check(&[&format!("error {bad}")]);
    // Beside a good signature a bad one is left over, not a danger.
    let mut zone = nsec();
    let ns1 = NameBuf::from_text("ns1.example.").unwrap();
    let mut signatures = zone.records.iter().filter(|record| record.owner == ns1);
    let mut rdata =
        signatures.find(|record| covers(rtype::A)(record.rtype, &record.rdata)).unwrap().rdata.clone();
    *rdata.last_mut().unwrap() ^= 1;
    zone.add("ns1", rtype::RRSIG, 3600, &rdata);
    zone.check(&[&format!("warning {bad}")]);
    // Without cryptography nobody sees it.
    let mut zone = nsec();
    zone.edit("ns1", rtype::A, |record| record.rdata[3] ^= 1);
    let options = Options { now: Some(NOW), level: Level::Semantic, ..Options::default() };
    assert_found(zone.found(&options), &[]);
}

#[test]
fn periods() {
    let zone = nsec();
    let all = zone.records.iter().filter(|record| record.rtype == rtype::RRSIG).count();
    let count = |now: u64, start: &str| {
        let found = zone.found(&Options { now: Some(now), ..Options::default() });
        assert!(found.iter().all(|line| line.starts_with(start)), "{found:?}");
        found.len()
    };
    assert_eq!(count(u64::from(INCEPTION) - 1, "error rrsig-not-yet-valid"), all);
    assert_eq!(count(u64::from(INCEPTION), ""), 0);
    assert_eq!(count(u64::from(EXPIRATION) - 3 * 86_400, ""), 0);
    assert_eq!(count(u64::from(EXPIRATION), "warning rrsig-expires-soon"), all);
    assert_eq!(count(u64::from(EXPIRATION) + 1, "error rrsig-expired"), all);
    assert_found(zone.found(&Options::default()), &[]); // no time, no periods
}

/// A server that warns of expiry by itself hears nothing of signatures that are still good.
#[test]
fn quick_says_what_has_expired_only() {
    let zone = nsec();
    let found = |now: u32| {
        let options = Options { now: Some(u64::from(now)), level: Level::Quick, ..Options::default() };
        zone.found(&options)
    };
    assert!(found(EXPIRATION).is_empty());
    assert!(found(EXPIRATION + 1).iter().all(|line| line.starts_with("error rrsig-expired")));
    assert!(!found(EXPIRATION + 1).is_empty());
}

#[test]
fn algorithms_of_keys() {
    let mut zone = TestZone::new(TEXT);
    zone.add("@", rtype::DNSKEY, 3600, &[1, 0, 3, algorithm::ECDSAP256SHA256, 9]);
    let zone = zone.nsec().sign();
    let found = zone.found(&Options { now: Some(NOW), ..Options::default() });
    assert!(found.len() > 10 && found.iter().all(|line| line.starts_with("warning rrsig-algorithm-missing")));

    let mut zone = TestZone::new(TEXT);
    zone.add("@", rtype::DNSKEY, 3600, &[0, 0, 3, algorithm::ED25519, 9]); // not a zone key
    zone.add("a.ent", rtype::DNSKEY, 3600, &[1, 0, 3, algorithm::ED25519, 9]);
    zone.nsec().sign().check(&[
        "warning dnskey-unusable example. DNSKEY: ED25519 key 3087",
        "warning dnskey-below-apex a.ent.example. DNSKEY",
    ]);

    let mut zone = nsec3(false);
    for number in [algorithm::RSASHA1, algorithm::ED448] {
        zone.add("@", rtype::DNSKEY, 3600, &[1, 0, 3, number, 9]);
    }
    let found = zone.found(&Options { now: Some(NOW), ..Options::default() });
    for start in [
        "warning dnskey-algorithm-deprecated example. DNSKEY: RSASHA1 key 3333",
        "warning dnskey-algorithm-unsupported example. DNSKEY: ED448 key 3344",
        "error nsec3-algorithm",
    ] {
        assert_eq!(found.iter().filter(|line| line.starts_with(start)).count(), 1, "{start} {found:?}");
    }
}

#[test]
fn nsec_chain() {
    let mut zone = TestZone::new(TEXT).nsec();
    zone.remove("ns1", |rtype, _| rtype == rtype::NSEC);
    zone.sign().check(&["error nsec-missing ns1.example. NSEC"]);

    let mut zone = TestZone::new(TEXT).nsec();
    zone.edit("ns1", rtype::NSEC, |record| record.rdata[3] = b'3');
    zone.sign().check(&["error nsec-next ns1.example. NSEC: found ns3.example., expected ns2.example."]);

    let mut zone = TestZone::new(TEXT).nsec();
    zone.edit("*.w", rtype::NSEC, |record| record.rdata[1] = b'x');
    zone.sign().check(&["error nsec-next *.w.example. NSEC: found xxample., expected example."]);

    let mut zone = TestZone::new(TEXT).nsec();
    zone.edit("ins", rtype::NSEC, |record| {
        let end = record.rdata.len();
        record.rdata[end - 6] |= 0x40; // A, which the name has none of
    });
    zone.sign()
        .check(&["error nsec-bitmap ins.example. NSEC: found A NS RRSIG NSEC, expected NS RRSIG NSEC"]);

    let mut zone = TestZone::new(TEXT).nsec();
    zone.edit("ins", rtype::NSEC, |record| record.ttl = 60);
    zone.add("ns.ins", rtype::NSEC, 300, b"\x01a\0\0\x01\x40");
    let twice = zone.records.iter().find(|record| record.rtype == rtype::NSEC).unwrap().clone();
    zone.add("ns1", rtype::NSEC, 300, &twice.rdata);
    zone.sign().check(&[
        "warning nsec-ttl ins.example. NSEC: found 60, expected 300",
        "error nsec-unexpected ns.ins.example. NSEC",
        "error nsec-multiple ns1.example. NSEC",
        "error nsec-next ns1.example. NSEC: found d.example., expected ns2.example.",
        "error nsec-bitmap ns1.example. NSEC: found NS SOA RRSIG NSEC DNSKEY, expected A RRSIG NSEC",
    ]);

    TestZone::new(TEXT).sign().check(&["error denial-missing example."]);
}

#[test]
fn nsec3_parameters() {
    TestZone::new(TEXT)
        .nsec3(1, &[0xab], false)
        .sign()
        .check(&["warning nsec3-iterations example. NSEC3PARAM: 1", "notice nsec3-salt example. NSEC3PARAM"]);

    // Without NSEC3PARAM in the zone the bitmap at the apex says one type too many.
    let mut zone = TestZone::new(TEXT).nsec3(0, &[], false);
    zone.remove("@", |rtype, _| rtype == rtype::NSEC3PARAM);
    let found = zone.sign().found(&Options { now: Some(NOW), ..Options::default() });
    assert!(found.iter().any(|line| line.starts_with("error nsec3param-missing")), "{found:?}");

    let mut zone = TestZone::new(TEXT).nsec3(0, &[], false);
    zone.add("@", rtype::NSEC3PARAM, 0, &[1, 0, 0, 0, 1, 9]);
    zone.add("@", rtype::NSEC3PARAM, 0, &[1, 1, 0, 0, 0]);
    zone.add("@", rtype::NSEC3PARAM, 0, &[2, 0, 0, 0, 0]);
    zone.add("@", rtype::NSEC3PARAM, 0, &[1, 0, 0xff, 0xff, 0]);
    zone.sign().check(&[
        "error nsec3-chain-missing example. NSEC3PARAM",
        "notice nsec3-salt example. NSEC3PARAM",
        "warning nsec3param-flags example. NSEC3PARAM: 1",
        "error nsec3-unusable example. NSEC3PARAM: 2",
        "error nsec3-unusable example. NSEC3PARAM: 65535",
    ]);
}

#[test]
fn nsec3_chain() {
    let zone = || TestZone::new(TEXT).nsec3(0, &[], false);
    let owner = |name: &str| zone().nsec3_owner(name, 0, &[]);
    let at = |name: &str| format!("{}.example. NSEC3", owner(name));

    // A record less: its name has none, and the record before points at a hash that is not there.
    let mut less = zone();
    less.remove(&owner("ns1"), |rtype, _| rtype == rtype::NSEC3);
    let found = less.sign().found(&Options { now: Some(NOW), ..Options::default() });
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.contains(&"error nsec3-missing ns1.example. NSEC3".to_owned()));
    assert!(found.iter().any(|line| line.starts_with("error nsec3-next")));

    let mut wrong = zone();
    wrong.edit(&owner("ns1"), rtype::NSEC3, |record| *record.rdata.last_mut().unwrap() = 1);
    wrong.sign().check(&["error nsec3-bitmap ns1.example. NSEC3: found A NSEC, expected A RRSIG"]);

    let mut flags = zone();
    flags.edit(&owner("ns1"), rtype::NSEC3, |record| record.rdata[1] = 2);
    flags.sign().check(&[&format!("warning nsec3-flags {}: 2", at("ns1"))]);

    let mut surplus = TestZone::new(&format!("{TEXT}gone 60 TXT hi\n")).nsec3(0, &[], false);
    surplus.remove("gone", |rtype, _| rtype == rtype::TXT);
    surplus.sign().check(&[&format!("error nsec3-unexpected {}", at("gone"))]);

    let mut no_hash = zone();
    let rdata = no_hash.records.iter().find(|record| record.rtype == rtype::NSEC3).unwrap().rdata.clone();
    no_hash.add("no-hash", rtype::NSEC3, 60, &rdata);
    no_hash.sign().check(&[
        "error nsec3-owner no-hash.example. NSEC3",
        "warning nsec-ttl no-hash.example. NSEC3: found 60, expected 300",
    ]);

    let mut malformed = zone();
    malformed.add(&owner("nowhere"), rtype::NSEC3, 300, &[1, 0, 0, 0]);
    malformed.sign().check(&[&format!("error rdata-malformed {}", at("nowhere"))]);

    let mut twice = zone();
    let rdata = twice.nsec3_rdata(&owner("ns1"));
    twice.add(&owner("ns1"), rtype::NSEC3, 300, &rdata[..rdata.len() - 8]); // no types
    let found = twice.sign().found(&Options { now: Some(NOW), ..Options::default() });
    assert!(found.contains(&format!("error nsec3-multiple {}", at("ns1"))), "{found:?}");
    assert!(!found.iter().any(|line| line.contains("nsec3-unexpected")), "{found:?}");
}

#[test]
fn nsec3_opt_out() {
    let owner = |name: &str| nsec3(true).nsec3_owner(name, 0, &[]);
    let set_flags = |zone: &mut TestZone, flags: u8| {
        zone.records
            .iter_mut()
            .filter(|record| record.rtype == rtype::NSEC3)
            .for_each(|record| record.rdata[1] = flags);
    };
    let mut zone = TestZone::new(TEXT).nsec3(0, &[], true);
    set_flags(&mut zone, 0);
    zone.sign()
        .check(&["error nsec3-opt-out ins.example. NSEC3", "error nsec3-opt-out only.deleg.example. NSEC3"]);

    // An empty non-terminal above nothing but insecure delegations may be left out too, others may not.
    let mut zone = TestZone::new(TEXT).nsec3(0, &[], true);
    zone.unlink_nsec3(&owner("deleg"));
    zone.sign().check(&[]);
    let mut zone = TestZone::new(TEXT).nsec3(0, &[], true);
    zone.unlink_nsec3(&owner("ent"));
    zone.unlink_nsec3(&owner("sec"));
    zone.sign().check(&["error nsec3-missing ent.example. NSEC3", "error nsec3-missing sec.example. NSEC3"]);
    let mut zone = TestZone::new(TEXT).nsec3(0, &[], false);
    zone.unlink_nsec3(&owner("deleg"));
    zone.sign().check(&["error nsec3-opt-out deleg.example. NSEC3"]);
}

#[test]
fn two_chains_at_once() {
    let zone = TestZone::new(TEXT).nsec3(0, &[], false);
    let first = zone.records.iter().filter(|record| record.rtype == rtype::NSEC3).count();
    let zone = zone.nsec3(1, &[7], false);
    assert_eq!(zone.records.iter().filter(|record| record.rtype == rtype::NSEC3).count(), 2 * first);
    zone.sign()
        .check(&["warning nsec3-iterations example. NSEC3PARAM: 1", "notice nsec3-salt example. NSEC3PARAM"]);
}

#[test]
fn requests_to_the_parent() {
    let zone = TestZone::new(TEXT);
    let dnskey = zone.records.iter().find(|record| record.rtype == rtype::DNSKEY).unwrap().rdata.clone();
    let digest = ring::digest::digest(&ring::digest::SHA256, &[zone.apex.octets(), &dnskey].concat());
    let mut cds = zone.tag.to_be_bytes().to_vec();
    cds.extend([algorithm::ED25519, 2]);
    cds.extend(digest.as_ref());
    let with = |records: &[(u16, &[u8])]| {
        let mut zone = TestZone::new(TEXT);
        records.iter().for_each(|(rtype, rdata)| zone.add("@", *rtype, 3600, rdata));
        zone.nsec().sign()
    };
    let delete_cds = [0, 0, 0, 0, 0];
    with(&[(rtype::CDS, &cds), (rtype::CDNSKEY, &dnskey)]).check(&[]);
    with(&[(rtype::CDS, &cds)]).check(&["notice cds-without-cdnskey example. CDS"]);
    with(&[(rtype::CDS, &delete_cds), (rtype::CDNSKEY, &[0, 0, 3, 0, 0])]).check(&[]);
    with(&[(rtype::CDS, &delete_cds), (rtype::CDS, &cds), (rtype::CDNSKEY, &dnskey)])
        .check(&["error cds-delete-beside-others example. CDS"]);
    let mut other = cds.clone();
    *other.last_mut().unwrap() ^= 1;
    with(&[(rtype::CDS, &other), (rtype::CDNSKEY, &[1, 1, 3, algorithm::ED25519, 9])])
        .check(&["error cds-mismatch example. CDS", "error cds-mismatch example. CDNSKEY"]);
}
