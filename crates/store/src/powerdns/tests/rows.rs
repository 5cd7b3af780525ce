//! Rows to records: which are left out, and which zones are refused.

use proptest::prelude::*;
use zonefile::Buffers;

use super::*;
use crate::powerdns::refusal::Unfit;

const SOA: &str = "ns1.example.org host.example.org 7 3600 600 86400 60";

fn listed() -> Listed {
    Listed {
        id: 5,
        text: b"Example.ORG".to_vec(),
        kind: Kind::Native,
        soa: Some(SOA.into()),
        keys: 0,
        is_presigned: false,
        has_nsec3: false,
        is_soa_edited: false,
    }
}

/// A row of name, type, content and TTL; `-`: NULL.
fn row<'r>([name, rtype, content, ttl]: [&'r str; 4]) -> Row<'r> {
    let column = |text: &'r str| (text != "-").then_some(text.as_bytes());
    Row {
        name: column(name),
        rtype: column(rtype),
        content: column(content),
        ttl: column(ttl),
        prio: None,
        is_disabled: false,
    }
}

fn translate(rules: Rules, rows: &[[&str; 4]]) -> Result<(Vec<String>, LeftOut), Refusal> {
    let mut buffers = Buffers::new();
    let mut translator = Translator::new(&listed(), rules, &mut buffers)?;
    translator.row(&row(["example.org", "SOA", SOA, "300"]));
    rows.iter().for_each(|columns| translator.row(&row(*columns)));
    let (contents, left_out) = translator.finish()?;
    let mut lines = lines(&contents);
    lines.retain(|line| !line.contains(" SOA "));
    Ok((lines, left_out))
}

#[track_caller]
fn check(rows: &[[&str; 4]], expected: &[&str], left_out: &[&str]) {
    let (lines, found) = translate(Rules::default(), rows).unwrap();
    assert_eq!(lines, expected);
    assert_eq!(found.lines(), left_out);
}

#[track_caller]
fn refused(rows: &[[&str; 4]], expected: &str) {
    assert_eq!(translate(Rules::default(), rows).unwrap_err().to_string(), expected);
}

#[test]
fn names_in_any_case_and_with_a_last_dot_or_none() {
    check(
        &[["WWW.example.ORG", "a", "192.0.2.1", "60"], ["b.example.org.", "A", "192.0.2.2", "-"]],
        &["b.example.org. 3600 IN A 192.0.2.2", "www.example.org. 60 IN A 192.0.2.1"],
        &[],
    );
    check(&[["a b.example.org", "A", "192.0.2.1", "60"]], &["a\\032b.example.org. 60 IN A 192.0.2.1"], &[]);
}

#[test]
fn what_powerdns_passes_over() {
    check(
        &[
            ["ent.example.org", "-", "-", "-"],
            ["other.org", "A", "192.0.2.1", "60"],
            ["a..example.org", "A", "192.0.2.1", "60"],
            ["", "A", "192.0.2.1", "60"],
            ["-", "A", "192.0.2.1", "60"],
            ["a.example.org", "A", "192.0.2.1", "-1"],
            ["a.example.org", "SOA", SOA, "60"],
            ["example.org", "CDS", "1 8 2 00", "60"],
            ["example.org", "RRSIG", "no matter what", "60"],
        ],
        &[],
        &[
            "1 row not at or below the zone's name: left out, as PowerDNS does",
            "4 rows without a proper name, or with a negative TTL: left out, as PowerDNS does",
            "1 SOA record below the apex: left out, as in PowerDNS's transfers",
            "2 rows of DNSKEY, CDS, CDNSKEY or RRSIG: left out, as in PowerDNS's transfers without `direct-dnskey`",
        ],
    );
    let rules = Rules { direct_dnskey: true, ..Rules::default() };
    let (lines, left_out) = translate(rules, &[["example.org", "CDS", "0 0 0 00", "60"]]).unwrap();
    assert_eq!((lines, left_out.of_keys), (vec!["example.org. 60 IN CDS 0 0 0 00".to_owned()], 0));
}

#[test]
fn disabled_rows() {
    let mut buffers = Buffers::new();
    let mut translator = Translator::new(&listed(), Rules::default(), &mut buffers).unwrap();
    translator.row(&row(["example.org", "SOA", SOA, "300"]));
    // Whatever it has.
    translator.row(&Row { is_disabled: true, ..row(["a.example.org", "NOSUCH", "x", "x"]) });
    let (contents, left_out) = translator.finish().unwrap();
    assert_eq!((contents.record_count(), left_out.lines()), (1, vec!["1 row disabled: left out".to_owned()]));
}

#[test]
fn one_record_for_two_rows_and_one_ttl_for_an_rrset() {
    check(
        &[
            ["a.example.org", "A", "192.0.2.1", "120"],
            ["a.example.org", "A", "192.0.2.2", "60"],
            ["b.example.org", "CNAME", "a.example.org", "60"],
            ["B.example.org", "CNAME", "A.example.org.", "90"],
            ["c.example.org", "TXT", "one", "30"],
        ],
        &[
            "a.example.org. 60 IN A 192.0.2.1",
            "a.example.org. 60 IN A 192.0.2.2",
            "b.example.org. 60 IN CNAME a.example.org.",
            "c.example.org. 30 IN TXT \"one\"",
        ],
        &["1 row of a record that is there already: left out", "1 RRset of several TTLs: the lowest counts"],
    );
}

/// Occluded names and glue stay, as do records beside a CNAME: whoever serves the zone looks at that.
#[test]
fn what_is_no_matter_of_rows() {
    check(
        &[
            ["sub.example.org", "NS", "ns.sub.example.org", "60"],
            ["ns.sub.example.org", "A", "192.0.2.1", "60"],
            ["d.example.org", "DNAME", "other.org", "60"],
            ["x.d.example.org", "A", "192.0.2.1", "60"],
        ],
        &[
            "d.example.org. 60 IN DNAME other.org.",
            "ns.sub.example.org. 60 IN A 192.0.2.1",
            "sub.example.org. 60 IN NS ns.sub.example.org.",
            "x.d.example.org. 60 IN A 192.0.2.1",
        ],
        &[],
    );
}

#[test]
fn types_that_are_no_records() {
    let rows = [
        ["a.example.org", "ALIAS", "x.org", "60"],
        ["b.example.org", "lua", "A \"f()\"", "60"],
        ["c.example.org", "FOO", "x", "60"],
        ["d.example.org", "ANY", "x", "60"],
        ["e.example.org", "TYPE0", "x", "60"],
        ["f.example.org", "", "x", "60"],
    ];
    refused(
        &rows,
        "refused: a.example.org ALIAS `x.org`: a type of PowerDNS's own, of which it makes records when it is asked\n\
         b.example.org lua `A \"f()\"`: a type of PowerDNS's own, of which it makes records when it is asked\n\
         c.example.org FOO `x`: expected the type of a record\n\
         d.example.org ANY `x`: expected the type of a record\n\
         e.example.org TYPE0 `x`: expected the type of a record\n\
         f.example.org  `x`: expected the type of a record",
    );
    let (lines, left_out) = translate(Rules { unknown: Unknown::Skip, ..Rules::default() }, &rows).unwrap();
    assert!(lines.is_empty());
    let types =
        ["", "ALIAS", "ANY", "FOO", "LUA", "TYPE0"].map(|word| format!("1 row of type {word}: left out"));
    assert_eq!(left_out.lines(), types);
}

#[test]
fn rows_that_are_no_records() {
    refused(
        &[["a.example.org", "A", "192.0.2", "60"]],
        "refused: a.example.org A `192.0.2`: expected an IPv4 address, found \"192.0.2\"",
    );
    for ttl in ["1h", "3000000000"] {
        let row = ["a.example.org", "A", "192.0.2.1", ttl];
        refused(&[row], "refused: a.example.org A `192.0.2.1`: ttl: expected a number of at most 2147483647");
    }
    refused(
        &[["example.org", "SOA", SOA, "60"]],
        &format!("refused: example.org SOA `{SOA}`: expected one SOA record, found a second one"),
    );
    let many = vec![["a.example.org", "A", "", "60"]; 25];
    let Err(Refusal::Rows(rows, 25)) = translate(Rules::default(), &many) else { panic!() };
    assert!(rows.len() == 20 && matches!(rows[0].why, Unfit::Content(_)));
}

#[track_caller]
fn hindered(listed: &Listed, expected: &str) {
    let refusal = Translator::new(listed, Rules::default(), &mut Buffers::new()).map(drop).unwrap_err();
    assert!(refusal.to_string().starts_with(expected), "{refusal}");
    assert_eq!(refusal.is_left_out(), expected.starts_with("left out"));
}

#[test]
fn zones_that_are_not_served() {
    for (word, expected) in [
        ("SLAVE", "left out: a zone of another server"),
        ("secondary", "left out: a zone of another server"),
        ("CONSUMER", "left out: a catalog of another server"),
        ("PRODUCER", "left out: a catalog that PowerDNS makes"),
    ] {
        hindered(&Listed { kind: Kind::of(word.as_bytes()), ..listed() }, expected);
    }
    for word in ["NATIVE", "MASTER", "primary", "whatever"] {
        let listed = Listed { kind: Kind::of(word.as_bytes()), ..listed() };
        assert!(Translator::new(&listed, Rules::default(), &mut Buffers::new()).is_ok());
    }
    hindered(&Listed { keys: 2, ..listed() }, "refused: PowerDNS signs it with 2 active keys");
    hindered(
        &Listed { keys: 1, is_presigned: true, ..listed() },
        "refused: it was signed elsewhere (PRESIGNED)",
    );
    hindered(&Listed { has_nsec3: true, ..listed() }, "refused: it has parameters of NSEC3");
    hindered(&Listed { is_soa_edited: true, ..listed() }, "refused: PowerDNS answers with another serial");
    hindered(&Listed { soa: None, ..listed() }, "refused: no SOA record");
    hindered(&Listed { text: b"a..b".to_vec(), ..listed() }, "refused: `domains.name` is no name");
    let zero = Listed { soa: Some(b"ns.x host.x 0 1 2 3 4".to_vec()), ..listed() };
    hindered(
        &zero,
        "refused: SOA record `ns.x host.x 0 1 2 3 4`: expected two names and five numbers, the first of them (the serial) not 0; as an example (the serial \
         has to be greater than what secondaries have): UPDATE records SET content = 'ns.x host.x 1 1 2 3 4' WHERE domain_id = 5 AND type = 'SOA';",
    );
}

fn column() -> impl Strategy<Value = Option<Vec<u8>>> {
    let words = [
        "example.org",
        "a.example.org",
        "@",
        "*.example.org",
        "A",
        "TXT",
        "MX",
        "SOA",
        "CAA",
        "HTTPS",
        "LOC",
        "LUA",
        "TYPE65280",
        "60",
        "-1",
        "192.0.2.1",
        "\"a\" \"b\"",
        "10 mail",
        "\\# 2 abcd",
        "\\",
        "\"",
        "(",
        ";",
        "\n",
        SOA,
        "0 issue \"x\"",
        "1 . alpn=h2",
    ];
    let word = prop::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec());
    prop_oneof![
        1 => Just(None),
        6 => word.prop_map(Some),
        2 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Some),
        1 => "[a-z.\\\\\"0-9 ]{0,20}".prop_map(|text| Some(text.into_bytes())),
    ]
}

proptest! {
    // Each of them is several zones.
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever rows there are: no panic, and what comes of them is a zone whose text is read as the same records.
    #[test]
    fn any_rows(rows in prop::collection::vec((prop::collection::vec(column(), 5), any::<bool>()), 0..8)) {
        let rules = Rules { unknown: Unknown::Skip, direct_dnskey: true, ..Rules::default() };
        let mut buffers = Buffers::new();
        for chosen in 0..=rows.len() {
            let mut translator = Translator::new(&listed(), rules, &mut buffers).unwrap();
            translator.row(&row(["example.org", "SOA", SOA, "300"]));
            // All of them, and each alone: one that is refused hides what comes of the others.
            for (_, (columns, is_disabled)) in rows.iter().enumerate().filter(|(at, _)| chosen == rows.len() || *at == chosen) {
                let [name, rtype, content, ttl, prio] = [0, 1, 2, 3, 4].map(|at| columns[at].as_deref());
                translator.row(&Row { name, rtype, content, ttl, prio, is_disabled: *is_disabled });
            }
            if let Ok((contents, _)) = translator.finish() {
                let text = lines(&contents).join("\n") + "\n";
                let read = zonefile::records(&text, contents.apex()).unwrap();
                prop_assert_eq!(read.len(), contents.record_count());
                for record in read {
                    let set = contents.find_name(&record.owner).and_then(|node| node.rrset(record.rtype)).unwrap();
                    prop_assert!(set.records().any(|other| other.rdata == record.rdata && other.ttl == record.ttl));
                }
            }
        }
    }
}
