//! Zones without DNSSEC. Each begins with five good lines and `$TTL`, so what is added starts at line 7.
use super::*;

const HEAD: &str = "@ 3600 IN SOA ns1 admin 1 3600 900 604800 300
@ 3600 IN NS ns1
@ 3600 IN NS ns2
ns1 3600 IN A 192.0.2.1
ns2 3600 IN AAAA 2001:db8::2
";

/// Checks what is found in the head and `more`.
#[track_caller]
fn check(more: &str, expected: &[&str]) {
    check_whole(&format!("{HEAD}$TTL 3600\n{more}\n"), expected);
}

#[track_caller]
fn check_whole(text: &str, expected: &[&str]) {
    assert_found(findings(&contents("example.", text), &Options::default()), expected);
}

/// Names written in full without the dot at their end; a shorter zone may well be named twice.
#[test]
fn names_that_repeat_the_origin() {
    let find = |apex: &str, more: &str| {
        let mut found = findings(&contents(apex, &format!("{HEAD}$TTL 3600\n{more}\n")), &Options::default());
        found.retain(|line| line.contains("origin-repeated") || line.contains("fatal"));
        found
    };
    let text = "www.b.example A 192.0.2.1\n@ MX 1 mail.b.EXAMPLE\nc CNAME ns1\n*.b.example TXT x\nx.example A 192.0.2.1\n\
                s SRV 1 1 1 b.example\nxb.example A 192.0.2.1\n@ RP a.b.example.b.example.b.example b";
    assert_found(
        find("b.example.", text),
        &[
            "notice origin-repeated www.b.example.b.example. A :7",
            "notice origin-repeated b.example. MX :8: mail.b.EXAMPLE.b.example.",
            "notice origin-repeated *.b.example.b.example. TXT :10",
            "notice origin-repeated s.b.example. SRV :12: b.example.b.example.",
            "notice origin-repeated b.example. RP :14: a.b.example.b.example.b.example.b.example.",
        ],
    );
    assert_found(find("example.", "www.example A 192.0.2.1\n@ MX 1 mail.example"), &[]);
    assert_found(
        find("b.example.", "b.example SOA ns1 admin 1 3600 900 604800 300"),
        &[
            "fatal soa-below-apex b.example.b.example. SOA :7, its name ends in that of the zone twice: is a dot missing at the end of $ORIGIN?",
            "notice origin-repeated b.example.b.example. SOA :7",
        ],
    );
}

/// A key alone is published ahead (RFC 6781 4.1.1.1): nothing else of the zone has to be signed yet.
#[test]
fn a_key_published_ahead() {
    let key = "@ DNSKEY 257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==";
    check(key, &["warning dnskey-unsigned example. DNSKEY :7"]);
    let found = findings(
        &contents("example.", &format!("{HEAD}$TTL 3600\n{key}\n@ NSEC ns1 A\n")),
        &Options::default(),
    );
    assert!(found.iter().any(|line| line.starts_with("error rrsig-missing")), "{found:#?}");
}

/// Without DNSSEC nothing is said about it, and all else is.
#[test]
fn level_without_dnssec() {
    let text = format!("{HEAD}$TTL 3600\n@ NSEC ns1 A\nsub NS ns.sub\nsub DS 1 8 9 00\nm MX 1 none\n");
    let contents = contents("example.", &text);
    let options = Options { level: Level::NoDnssec, ..Options::default() };
    let plain = [
        "error glue-missing sub.example. NS :8: ns.sub.example.",
        "warning mx-no-address m.example. MX :10: none.example.",
    ];
    assert_found(findings(&contents, &options), &plain);
    let semantic = findings(&contents, &Options { level: Level::Semantic, ..options });
    let more = ["error dnskey-missing example. NSEC :7", "warning ds-digest-unknown sub.example. DS :9: 9"];
    assert_found(semantic, &[&plain[..], &more[..]].concat());
}

/// Owners of NSEC3 records are hashes: 32 characters, no padding, right below the apex.
#[test]
fn owners_of_nsec3() {
    let hash = "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom";
    let record = |owner: &str| format!("{owner} NSEC3 1 0 0 - {hash} A");
    check(&record(hash), &[&format!("error dnskey-missing {hash}.example. NSEC3 :7")]);
    for owner in [&hash[..24], &format!("{}=", &hash[..31]), "xxx", &format!("{hash}.b")] {
        let [missing, wrong] =
            ["dnskey-missing", "nsec3-owner"].map(|id| format!("error {id} {owner}.example. NSEC3 :7"));
        check(&record(owner), &[&missing, &wrong]);
    }
}

#[test]
fn good_zone() {
    check("", &[]);
    check(
        "www CNAME ns1\n*.w TXT hi\nsub NS ns.sub\nsub NS ns1\nns.sub A 192.0.2.3\nd DNAME example.org.\n\
         @ MX 10 ns1\n@ MX 20 mail.example.org.\n_s._tcp SRV 0 0 1 ns1\n_t._tcp SRV 0 0 0 .\nmail A 192.0.2.4",
        &[],
    );
}

#[test]
fn apex() {
    let without = |type_text: &str| -> String {
        HEAD.lines().filter(|line| !line.contains(type_text)).map(|line| format!("{line}\n")).collect()
    };
    check_whole(&without(" SOA "), &["fatal soa-missing example. SOA"]);
    check_whole(&without(" NS "), &["fatal ns-missing example. NS"]);
    check_whole("a 1 TXT x\n", &["fatal soa-missing example. SOA", "fatal ns-missing example. NS"]);
    check("@ SOA ns1 admin 2 3600 900 604800 300", &["fatal soa-multiple example. SOA :7"]);
    check("x SOA ns1 admin 2 3600 900 604800 300", &["fatal soa-below-apex x.example. SOA :7"]);
    check_whole(&HEAD.replace("@ 3600 IN NS ns2\n", ""), &["notice ns-single example. NS :2"]);
}

#[test]
fn level_load_finds_only_what_is_fatal() {
    let options = Options { level: Level::Load, ..Options::default() };
    let text = format!("{HEAD}@ 60 CNAME a\nb 60 MX 10 nowhere\n");
    assert_found(
        findings(&contents("example.", &text), &options),
        &["fatal cname-and-other-data example. NS :2"],
    );
}

#[test]
fn aliases() {
    check("a CNAME ns1\na A 192.0.2.9", &["fatal cname-and-other-data a.example. A :8"]);
    check("a CNAME ns1\na CNAME ns2", &["fatal cname-multiple a.example. CNAME :8"]);
    check("a DNAME x.\na DNAME y.", &["fatal dname-multiple a.example. DNAME :8"]);
    check("a DNAME x.\na CNAME y.", &["fatal cname-and-other-data a.example. DNAME :7"]);
    check("a DNAME x.\na NS ns1", &["error dname-and-ns a.example. DNAME :7"]);
    check(
        "a DNAME x.\nb.a A 192.0.2.9\nc.b.a TXT hi",
        &["error below-dname b.a.example.", "error below-dname c.b.a.example."],
    );
    check(
        "a CNAME b\nb CNAME a",
        &[
            "warning cname-loop a.example. CNAME :7: a.example.",
            "warning cname-loop b.example. CNAME :8: b.example.",
        ],
    );
    check("a CNAME a", &["warning cname-loop a.example. CNAME :7: a.example."]);
    check(
        "a CNAME b\nb CNAME c\nc CNAME b",
        &[
            "warning cname-loop b.example. CNAME :8: b.example.",
            "warning cname-loop c.example. CNAME :9: c.example.",
        ],
    );
    check(
        "a CNAME nowhere\nb CNAME x.w\n*.w TXT hi\nc CNAME x.d\nd DNAME x.",
        &["notice cname-dangling a.example. CNAME :7: nowhere.example."],
    );
}

#[test]
fn sets() {
    check(
        "a 100 A 192.0.2.5\na 200 A 192.0.2.6",
        &["warning ttl-mismatch a.example. A :8: found 200, expected 100"],
    );
    check("a A 192.0.2.5\na A 192.0.2.5", &["notice duplicate-record a.example. A :8"]);
    check("a NS ns1\na NS NS1", &["notice duplicate-record a.example. NS :8"]);
    check("a TXT x\na TXT X", &[]);
}

#[test]
fn a_ttl_with_its_upper_bit_set() {
    let mut builder = ContentsBuilder::new(&NameBuf::from_text("example.").unwrap());
    let owner = NameBuf::from_text("example.").unwrap();
    builder.push(&owner, false, rtype::TXT, 1 << 31, b"\x00", SourcePosition::default()).unwrap();
    let found = findings(&builder.finish(), &Options::default());
    assert!(found.contains(&"warning ttl-too-large example. TXT :0: 2147483648".to_owned()), "{found:?}");
}

#[test]
fn soa_numbers() {
    let check_soa = |numbers: &str, expected: &[&str]| {
        check_whole(&HEAD.replace("1 3600 900 604800 300", numbers), expected);
    };
    check_soa(
        "1 0 900 604800 300",
        &["warning soa-timer-zero example. SOA :1", "notice soa-retry-too-long example. SOA :1: 900"],
    );
    check_soa(
        "1 3600 900 4499 300",
        &["warning soa-expire-too-short example. SOA :1: found 4499, expected 4500"],
    );
    check_soa("1 3600 3601 604800 300", &["notice soa-retry-too-long example. SOA :1: 3601"]);
    check_soa("1 3600 900 604800 86401", &[]); // the TTL of the SOA record is lower
    let long = HEAD.replace("1 3600 900 604800 300", "1 3600 900 604800 86401").replacen("3600", "90000", 1);
    check_whole(&long, &["notice soa-minimum-too-long example. SOA :1: 86401"]);
    check_whole(
        &HEAD.replace("SOA ns1 admin", "SOA ns_1 a.b_c"),
        &[
            "warning host-name-target example. SOA :1: ns_1.example.",
            "warning mailbox-name example. SOA :1: a.b_c.example.",
        ],
    );
}

#[test]
fn delegations() {
    check("sub NS ns.sub", &["error glue-missing sub.example. NS :7: ns.sub.example."]);
    check("sub NS sub\nsub A 192.0.2.3", &[]);
    check("a NS ns.b\nb NS ns1", &["warning glue-missing-sibling a.example. NS :7: ns.b.example."]);
    check("a NS ns.b\nb NS ns1\nns.b A 192.0.2.3", &[]);
    check("sub NS nowhere", &["error ns-no-address sub.example. NS :7: nowhere.example."]);
    check("sub NS t\nt TXT hi", &["error ns-no-address sub.example. NS :7: t.example."]);
    check("sub NS x.w\n*.w A 192.0.2.3", &[]);
    check("sub NS c\nc CNAME ns1", &["error ns-is-cname sub.example. NS :7: c.example."]);
    check(
        "sub NS n.sub\nn.sub CNAME ns1",
        &[
            "error ns-is-cname sub.example. NS :7: n.sub.example.",
            "warning below-cut n.sub.example. CNAME :8",
        ],
    );
    check("sub NS n.d\nd DNAME x.", &["error ns-below-dname sub.example. NS :7: n.d.example."]);
    check("sub NS 192.0.2.3.", &["warning ns-is-address sub.example. NS :7: 192.0.2.3."]);
    check("sub NS a_b.org.", &["warning host-name-target sub.example. NS :7: a_b.org."]);
    check("*.w NS ns1", &["error wildcard-ns *.w.example. NS"]);
    check("@ NS ns3", &["error ns-no-address example. NS :7: ns3.example."]);
    check(
        "@ NS ns.sub\nsub NS ns.sub",
        &[
            "warning glue-missing-sibling example. NS :7: ns.sub.example.",
            "error glue-missing sub.example. NS :8: ns.sub.example.",
        ],
    );
}

#[test]
fn below_and_at_cuts() {
    check(
        "sub NS ns1\nx.sub A 192.0.2.3\ny.sub TXT hi\nsub TXT hi\nsub A 192.0.2.3\nz.y.sub NS ns1",
        &[
            "notice glue-unneeded x.sub.example. A :8",
            "warning below-cut y.sub.example. TXT :9",
            "warning cut-other-data sub.example. TXT :10",
            "notice glue-unneeded sub.example. A :11",
            "warning below-cut z.y.sub.example. NS :12",
        ],
    );
    // What follows a cut in canonical order without being below it is not hidden.
    check("sub NS ns1\nsub2 TXT hi\nsuc TXT hi", &[]);
}

#[test]
fn targets() {
    check("@ MX 10 m\nm CNAME ns1", &["warning mx-is-cname example. MX :7: m.example."]);
    check("@ MX 10 m.d\nd DNAME x.", &["warning mx-is-cname example. MX :7: m.d.example."]);
    check("@ MX 10 m", &["warning mx-no-address example. MX :7: m.example."]);
    check("@ MX 10 m\nm TXT hi", &["warning mx-no-address example. MX :7: m.example."]);
    check("@ MX 10 m.sub\nsub NS ns1", &[]);
    check("@ MX 10 192.0.2.5.", &["warning mx-is-address example. MX :7: 192.0.2.5."]);
    check(
        "@ MX 10 192.0.2.5",
        &[
            "warning mx-is-address example. MX :7: 192.0.2.5.example.",
            "warning mx-no-address example. MX :7: 192.0.2.5.example.",
        ],
    );
    check("@ MX 0 .", &[]);
    check("@ MX 0 .\n@ MX 10 ns1", &["warning mx-null-beside-others example. MX :7"]);
    check("_s._tcp SRV 1 1 1 s\ns CNAME ns1", &["warning srv-is-cname _s._tcp.example. SRV :7: s.example."]);
    check("_s._tcp SRV 1 1 1 s", &["warning srv-no-address _s._tcp.example. SRV :7: s.example."]);
    check("@ HTTPS 0 a.org.\n@ HTTPS 1 . alpn=h2", &["warning svcb-alias-beside-others example. HTTPS :7"]);
    check("@ HTTPS 1 .\n@ HTTPS 2 a.org.", &[]);
}

#[test]
fn spelling() {
    check("a_b A 192.0.2.5\na_b AAAA ::1\na_b TXT hi", &["warning host-name-owner a_b.example. A :7"]);
    check("a_b MX 10 ns1", &["warning host-name-owner a_b.example. MX :7"]);
    check("a_b TXT hi\n*.h A 192.0.2.5\na-b A 192.0.2.5", &[]);
    check("@ MX 10 a_b.org.", &["warning host-name-target example. MX :7: a_b.org."]);
    check("_s._tcp SRV 1 1 1 a_b.org.", &["warning host-name-target _s._tcp.example. SRV :7: a_b.org."]);
    check("@ AFSDB 1 a_b.org.", &["warning host-name-target example. AFSDB :7: a_b.org."]);
    check("@ RP a.b_c. .", &["warning mailbox-name example. RP :7: a.b_c."]);
    check("p PTR a_b.org.", &[]);
    let reverse =
        "@ 60 SOA ns.org. a.org. 1 2 1 9 1\n@ 60 NS ns1.org.\n@ 60 NS ns2.org.\n1 60 PTR a_b.org.\n";
    let contents = contents("2.0.192.in-addr.arpa.", reverse);
    assert_found(
        findings(&contents, &Options::default()),
        &["warning host-name-target 1.2.0.192.in-addr.arpa. PTR :4: a_b.org."],
    );
}

#[test]
fn policies() {
    check("@ SPF \"v=spf1 -all\"", &["warning spf-without-txt example. SPF :7"]);
    check("@ SPF \"v=spf1 -all\"\n@ TXT \"v=spf1 -all\"", &[]);
    check("@ TXT \"v=spf1 -all\"\n@ TXT \"V=SPF1 +all\"", &["warning spf-multiple example. TXT :8"]);
    check("@ TXT \"v=spf1 -all\"\n@ TXT \"v=spf10 +all\"\n@ TXT \"v=spf2.0/pra\"", &[]);
}

#[test]
fn delegation_signers() {
    let digest = "ab".repeat(32);
    let ds = |fields: &str| format!("a NS ns1\na DS {fields}");
    check(&ds(&format!("1 13 2 {digest}")), &[]);
    check(&format!("a DS 1 13 2 {digest}"), &["warning ds-without-ns a.example. DS :7"]);
    check(&format!("@ DS 1 13 2 {digest}"), &["error ds-at-apex example. DS :7"]);
    check(&format!("b.a DS 1 13 2 {digest}\na NS ns1"), &["warning below-cut b.a.example. DS :7"]);
    check(&ds(&format!("1 13 77 {digest}")), &["warning ds-digest-unknown a.example. DS :8: 77"]);
    check(&ds(&format!("1 13 1 {}", "ab".repeat(20))), &["warning ds-digest-deprecated a.example. DS :8"]);
    check(
        &ds(&format!("1 5 2 {digest}")),
        &["warning ds-algorithm-deprecated a.example. DS :8: RSASHA1 key 1"],
    );
}

/// A zone file with such a digest does not get here, a zone from a primary may.
#[test]
fn digest_of_wrong_length() {
    let mut builder = ContentsBuilder::new(&NameBuf::from_text("example.").unwrap());
    let owner = NameBuf::from_text("a.example.").unwrap();
    builder.push(&owner, false, rtype::NS, 60, b"\x01a\0", SourcePosition::default()).unwrap();
    builder.push(&owner, true, rtype::DS, 60, &[0, 1, 13, 2, 7], SourcePosition::default()).unwrap();
    builder.push(&owner, true, rtype::DS, 60, &[0, 1], SourcePosition::default()).unwrap();
    let found = findings(&builder.finish(), &Options::default());
    for expected in ["error ds-digest-length a.example. DS :0: 2", "error rdata-malformed a.example. DS :0"] {
        assert!(found.contains(&expected.to_owned()), "{found:?}");
    }
}

#[test]
fn dnssec_records_without_keys() {
    check("@ NSEC ns1 NS SOA RRSIG NSEC\na NSEC ns1 A", &["error dnskey-missing example. NSEC :7"]);
    check(
        "a CDS 0 0 0 00\n@ CDS 0 0 0 00",
        &["warning cds-below-apex a.example. CDS :7", "notice cds-without-cdnskey example. CDS :8"],
    );
    check("@ CDS 0 0 0 00\n@ CDNSKEY 0 3 0 AA==", &[]);
}

#[test]
fn findings_of_one_kind_are_bounded_and_counted() {
    let more: String = (0..300).map(|number| format!("a{number} NS nowhere\n")).collect();
    let contents = contents("example.", &format!("{HEAD}$TTL 3600\n{more}"));
    let mut count = 0;
    let summary = super::super::check(&contents, &Options::default(), &mut |_| count += 1);
    assert_eq!((count, summary.count(Check::NsNoAddress)), (FINDINGS_PER_CHECK_MAX, 300));
    assert_eq!((summary.worst(), summary.is_fatal()), (Some(Severity::Error), false));
}

/// The example of RFC 8976 A.1, and what can be wrong with such a record.
#[test]
fn zone_digests() {
    const TEXT: &str = "example. 86400 IN SOA ns1 admin 2018031900 1800 900 604800 86400
example. 86400 IN NS ns1
example. 86400 IN NS ns2
ns1 3600 IN A 203.0.113.63
ns2 3600 IN AAAA 2001:db8::63
";
    const DIGEST: &str =
        "c68090d90a7aed716bc459f9340e3d7c1370d4d24b7e2fc3a1ddc0b9a87153b9a9713b3c9ae5cc27777f98b8e730044c";
    let check_digest = |serial: u32, numbers: &str, more: &str, expected: &[&str]| {
        check_whole(&format!("{TEXT}@ 86400 ZONEMD {serial} {numbers} {DIGEST}\n{more}"), expected);
    };
    check_digest(2018031900, "1 1", "", &[]);
    check_digest(2018031900, "1 1", "a 1 TXT x\n", &["error zonemd-mismatch example. ZONEMD :6"]);
    let serial = "warning zonemd-serial example. ZONEMD :6: found 2018031901, expected 2018031900";
    check_digest(2018031901, "1 1", "", &[serial]);
    check_digest(2018031900, "241 1", "", &["notice zonemd-unsupported example. ZONEMD :6"]);
    check_digest(2018031900, "1 240", "", &["notice zonemd-unsupported example. ZONEMD :6"]);
    let second = format!("@ 86400 ZONEMD 2018031900 1 1 {}\n", "ff".repeat(48));
    check_digest(2018031900, "1 1", &second, &["error zonemd-duplicate example. ZONEMD :7"]);
    let below = format!("x 1 ZONEMD 1 1 1 {}\n", "ff".repeat(48));
    check_digest(
        2018031900,
        "241 1",
        &below,
        &["notice zonemd-unsupported example. ZONEMD :6", "notice zonemd-below-apex x.example. ZONEMD :7"],
    );
}

/// RFC 2181 8: with the top bit set a TTL counts as zero, and that is what is served.
#[test]
fn ttls_out_of_range() {
    check(
        "a 4294967295 A 192.0.2.9\n$TTL 2147483648\nb A 192.0.2.9\nc 2147483647 A 192.0.2.9",
        &[
            "warning ttl-too-large a.example. A :7: 4294967295",
            "warning ttl-too-large b.example. A :9: 2147483648",
        ],
    );
    let zone = contents("example.", "a 4294967295 A 192.0.2.9\na 60 TXT x\n");
    let node = zone.find_name(&NameBuf::from_text("a.example.").unwrap()).unwrap();
    let ttls: Vec<u32> = node.rrsets().map(|set| set.ttl()).collect();
    assert_eq!(ttls, [0, 60]);
}

#[test]
fn duplicates_with_other_ttls() {
    check(
        "a 60 A 192.0.2.9\na 30 A 192.0.2.9\na 30 A 192.0.2.9",
        &[
            "notice duplicate-record a.example. A :8",
            "notice duplicate-record a.example. A :9",
            "warning ttl-mismatch a.example. A :8: found 60, expected 30",
        ],
    );
}

#[test]
fn proof_without_keys() {
    check("@ NSEC3PARAM 1 0 0 -", &["error dnskey-missing example. NSEC3PARAM :7"]);
}
