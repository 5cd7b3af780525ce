//! Zone files that are wrong: what, where, exit status 1, in bounded time and memory.

use std::io::Write;
use std::process::Command;

use crate::kit::{SOUND, Said, folder, text, zonda, zonda_within};

/// Checks a zone file with this content; it must fail with a line that holds these words.
fn assert_refused(content: &[u8], words: &[&str]) {
    let folder = folder(&[("bad.zone", content)]);
    let path = folder.path().join("bad.zone");
    zonda(&["check-zone", "example.", text(&path)]).assert_fails(1, words);
}

#[test]
fn a_sound_file_is_fine_and_printed_one_record_a_line() {
    let folder = folder(&[("good.zone", SOUND.as_bytes())]);
    let path = folder.path().join("good.zone");
    zonda(&["check-zone", "example.", text(&path)]).assert_fine();
    let printed = zonda(&["check-zone", "example.", text(&path), "--print"]);
    let lines: Vec<&str> = printed.assert_fine().output.lines().collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines.iter().any(|line| line.split_whitespace().eq([
        "www.example.",
        "60",
        "IN",
        "A",
        "192.0.2.2"
    ])));
}

#[test]
fn the_real_zones_are_fine() {
    let root = zonda_tests::zone::repository().join("data/root.zone");
    // Its signatures have ended by now. Nothing else is wrong with it.
    let said = zonda(&["check-zone", ".", text(&root)]);
    let error = |line: &&str| line.contains(" error: ") || line.contains(" fatal: ");
    let other = |line: &&str| !line.contains("signature") && !line.contains("RRSIG");
    let others: Vec<&str> = said.errors.lines().filter(error).filter(other).collect();
    assert!(others.is_empty(), "{others:#?}");
    assert!(said.output.contains("24,877 records"), "{}", said.output);
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let zone = format!("{SOUND}a A 1.2.3\nb MX mail\nc NOSUCHTYPE x\nd A 192.0.2.7\ne TXT \"open\n");
    let folder = folder(&[("bad.zone", zone.as_bytes())]);
    let path = folder.path().join("bad.zone");
    let said = zonda(&["check-zone", "example.", text(&path)]);
    said.assert_fails(1, &["bad.zone:6:", "1.2.3"]);
    said.assert_fails(1, &["bad.zone:7:"]);
    said.assert_fails(1, &["bad.zone:8:", "NOSUCHTYPE"]);
    said.assert_fails(1, &["bad.zone:10:"]);
    let all = format!("{}{}", said.errors, said.output);
    assert!(!all.contains("bad.zone:9:"), "nothing is wrong with line 9: {all}");
}

#[test]
fn a_file_that_is_not_there_or_not_readable_or_no_file() {
    let folder = folder(&[]);
    let absent = folder.path().join("absent.zone");
    zonda(&["check-zone", "example.", text(&absent)]).assert_fails(1, &["absent.zone", "no such file"]);
    zonda(&["check-zone", "example.", text(folder.path())]).assert_fails(1, &["irectory"]);
}

#[test]
fn an_empty_file() {
    assert_refused(b"", &["bad.zone:1:1:", "end of the file"]);
    assert_refused(b"; nothing but a comment\n\n", &["bad.zone", "end of the file"]);
}

#[test]
fn a_binary_file() {
    let octets: Vec<u8> = (0..20000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    assert_refused(&octets, &["bad.zone:"]);
    assert_refused(&[0; 5000], &["bad.zone:1:"]);
}

#[test]
fn a_file_that_includes_itself() {
    assert_refused(format!("{SOUND}$INCLUDE bad.zone\n").as_bytes(), &["bad.zone:6:"]);
}

#[test]
fn files_that_include_each_other() {
    let folder = folder(&[
        ("one.zone", format!("{SOUND}$INCLUDE two.zone\n").as_bytes()),
        ("two.zone", b"$INCLUDE one.zone\n"),
    ]);
    let path = folder.path().join("one.zone");
    let said = zonda(&["check-zone", "example.", text(&path)]);
    assert_eq!(said.status, 1, "{said:#?}");
    assert!(format!("{}{}", said.errors, said.output).len() < 20_000, "{said:#?}");
}

#[test]
fn an_included_file_that_is_not_there() {
    assert_refused(format!("{SOUND}$INCLUDE absent.zone\n").as_bytes(), &["bad.zone:6:", "include"]);
}

#[test]
fn a_truncated_file() {
    for (end, at) in
        [("x SOA ns host ( 1 2 3", 6), ("x TXT \"abc", 6), ("x A", 6), ("x MX 10", 6), ("x (", 6)]
    {
        assert_refused(format!("{SOUND}{end}").as_bytes(), &[&format!("bad.zone:{at}")]);
    }
}

#[test]
fn a_line_without_end() {
    // Four gibioctets of one line come through a pipe; nothing of that size may be kept.
    for octets in [&b"a"[..], b"a ", b"( "] {
        let folder = folder(&[]);
        let pipe = folder.path().join("endless.zone");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            let block = octets.repeat((1 << 20) / octets.len());
            move || {
                let mut file = std::fs::File::options().write(true).open(pipe).expect("the pipe");
                for _ in 0..4096 {
                    if file.write_all(&block).is_err() {
                        return; // Refused in time.
                    }
                }
                panic!("four gibioctets were read");
            }
        });
        let said = zonda_within(1_000_000, &["check-zone", "example.", text(&pipe)]);
        said.assert_fails(1, &["endless.zone:1:"]);
        writer.join().expect("the file is refused before it ends");
    }
}

#[test]
fn semantic_mistakes_are_errors() {
    let cases: [(&str, &str); 5] = [
        ("www CNAME x\n", "CNAME"),
        ("@ SOA ns host 2 2 3 4 5\n", "SOA"),
        ("two CNAME a\ntwo CNAME b\n", "CNAME"),
        ("d DNAME a\nd DNAME b\n", "DNAME"),
        ("@ CNAME x\n", "CNAME"),
    ];
    for (wrong, word) in cases {
        assert_refused(format!("{SOUND}{wrong}").as_bytes(), &[word]);
    }
    // What lies outside is left out, which must be told.
    let folder = folder(&[("out.zone", format!("{SOUND}outside.elsewhere. A 192.0.2.1\n").as_bytes())]);
    let said = zonda(&["check-zone", "example.", text(&folder.path().join("out.zone"))]);
    assert!(said.errors.contains("out.zone:6:") && said.errors.contains("outside.elsewhere."), "{said:#?}");
    assert_refused(b"$TTL 60\n@ SOA ns host 1 2 3 4 5\nwww A 192.0.2.1\n", &["NS"]);
}

#[test]
fn generate_is_bounded() {
    assert_refused(format!("{SOUND}$GENERATE 0-4294967295 h$ A 192.0.2.1\n").as_bytes(), &["bad.zone:6:"]);
    assert_refused(format!("{SOUND}$GENERATE 5-1 h$ A 192.0.2.1\n").as_bytes(), &["bad.zone:6:"]);
}

/// What careful servers refuse of the fields of a record.
#[test]
fn values_that_no_record_can_have() {
    let hash = "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom";
    let mut cases = vec![
        ("l LOC 1 N 1 E 0m 90000000.01m".to_owned(), "90000000.00"),
        ("l LOC 1 N 1 E 0m 1m 90000000.01m".into(), "90000000.00"),
        ("l LOC 1 N 1 E 0m 1m 1m 99999999.99m".into(), "90000000.00"),
        (format!("{hash} NSEC3 1 0 0 - 2t7b4g4v A"), "32 characters"),
        (format!("{hash} NSEC3 1 0 0 - {hash}2t7b4g4v A"), "32 characters"),
        (format!("{hash} NSEC3 1 0 0 - {hash}==== A"), "base32"),
        (format!("{} NSEC3 1 0 0 - {hash} A", &hash[..24]), "nsec3-owner"),
        (format!("{}= NSEC3 1 0 0 - {hash} A", &hash[..31]), "nsec3-owner"),
        (format!("{hash}.b NSEC3 1 0 0 - {hash} A"), "nsec3-owner"),
        ("$GENERATE 5-1 h$ A 192.0.2.1".into(), "does not end before it begins"),
        ("$GENERATE 5-1/2 h$ A 192.0.2.1".into(), "does not end before it begins"),
    ];
    cases.extend(
        ["AQ==AQ==", "AQ== AQ==", "AQI=AQID", "A=ID"]
            .map(|key| (format!("k DNSKEY 256 3 13 {key}"), "base64")),
    );
    for (line, word) in cases {
        assert_refused(format!("{SOUND}{line}\n").as_bytes(), &["bad.zone:6:", word]);
    }
    let folder =
        folder(&[("good.zone", format!("{SOUND}l LOC 1 N 1 E 0m 90000000.00m 90000000m\n").as_bytes())]);
    zonda(&["check-zone", "example.", text(&folder.path().join("good.zone"))]).assert_fine();
}

/// Checks a zone `example.com.` with these lines added to the small sound one, and more arguments.
fn check_with(lines: &str, arguments: &[&str]) -> Said {
    let folder = folder(&[("some.zone", format!("{SOUND}{lines}").as_bytes())]);
    let path = folder.path().join("some.zone");
    zonda(&[&["check-zone", "example.com", text(&path)], arguments].concat())
}

#[test]
fn hints_at_what_was_probably_meant() {
    let said = check_with(
        "t TXT v=spf1 -all\nq TXT \"v=spf1 -all\"\nmail.example.com A 192.0.2.1\n@ MX 1 mail.example.com\n",
        &[],
    );
    let said = format!("{}{}", said.assert_fine().errors, said.output);
    let hints: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("[text-words]") || line.contains("[origin-repeated]"))
        .collect();
    let places: Vec<&str> =
        hints.iter().filter_map(|line| line.split("some.zone:").nth(1)?.split(':').next()).collect();
    assert_eq!(places, ["9", "8", "6"], "{hints:#?}");
    assert!(hints[0].contains("mail.example.com.example.com."), "{hints:#?}");
}

#[test]
fn errors_come_first() {
    let said =
        check_with("sub NS ns.sub\nm MX 1 none\n@ DNAME a\nt TXT a b\nx.elsewhere. A 192.0.2.1\n", &[]);
    let severity = |line: &str| {
        ["fatal", "error", "warning", "notice"].iter().position(|word| line.contains(&format!(" {word}: ")))
    };
    let order: Vec<usize> = said.errors.lines().filter_map(severity).collect();
    assert!(
        order.is_sorted() && order.contains(&1) && order.contains(&2) && order.contains(&3),
        "{:#?}",
        said.errors
    );
    let json = check_with("sub NS ns.sub\nm MX 1 none\n", &["--json"]);
    let first = json.output.lines().next().unwrap_or_default();
    assert!(first.contains("\"severity\":\"error\""), "{}", json.output);
}

#[test]
fn a_level_without_dnssec() {
    let lines = "@ NSEC ns A\nm MX 1 none\n";
    check_with(lines, &[]).assert_fails(1, &["dnskey-missing"]);
    let said = check_with(lines, &["--level", "no-dnssec"]);
    assert!(said.assert_fine().errors.contains("mx-no-address"), "{said:#?}");
    assert!(!said.errors.contains("dnskey-missing"), "{said:#?}");
}

#[test]
fn a_key_published_ahead_is_a_warning() {
    let key = "@ DNSKEY 257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==\n";
    let said = check_with(key, &[]);
    assert!(said.assert_fine().errors.contains("warning: example.com. DNSKEY"), "{said:#?}");
}

/// A name that is not that of the text: the file and the name it is of are told.
#[test]
fn a_wrong_origin() {
    let whole = "$TTL 60\nexample.com. SOA ns host 1 2 3 4 5\nexample.com. NS ns\nns A 192.0.2.1\n";
    let folder = folder(&[
        ("some.zone", whole.as_bytes()),
        ("dot.zone", format!("$ORIGIN example.com\n{SOUND}").as_bytes()),
    ]);
    let path = folder.path().join("some.zone");
    zonda(&["check-zone", "example.org", text(&path)])
        .assert_fails(1, &["some.zone:2:", "no SOA record", "example.com.", "right zone"]);
    zonda(&["check-zone", "example.org", text(&path)]).assert_fails(1, &["some.zone:", "no NS records"]);
    let zone = format!("example.org={}", text(&path));
    let pack = folder.path().join("pack");
    zonda(&["compile", "-o", text(&pack), &zone])
        .assert_fails(1, &["some.zone:2:", "example.com.", "right zone"]);
    let path = folder.path().join("dot.zone");
    zonda(&["check-zone", "example.com", text(&path)]).assert_fails(1, &["dot.zone:3:", "twice", "dot"]);
}

#[test]
fn a_bad_ttl_is_one_mistake() {
    // An SOA record has a TTL to take from itself, what stands before it has none.
    let zone =
        format!("$TTL sixty\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n{}", SOUND.replace("$TTL 60\n", ""));
    let folder = folder(&[("bad.zone", zone.as_bytes())]);
    let said = zonda(&["check-zone", "example.", text(&folder.path().join("bad.zone"))]);
    said.assert_fails(1, &["bad.zone:1:6:", "sixty"]);
    assert_eq!(said.errors.lines().count(), 1, "{said:#?}");
}

/// The root zone that comes with the program was current when it was made: whoever checks or serves it hears how to get today's.
#[test]
fn a_root_zone_whose_signatures_ran_out() {
    let root = zonda_tests::zone::repository().join("data/root.zone");
    let later = zonda(&["check-zone", ".", text(&root), "--now", "20270101000000"]);
    later.assert_fails(1, &["today's root zone", "https://www.internic.net/domain/root.zone"]);
    let then = zonda(&["check-zone", ".", text(&root), "--now", "20260802000000"]);
    assert!(!then.assert_fine().errors.contains("today's root zone"), "{then:#?}");
}

#[test]
fn many_mistakes_do_not_flood_the_terminal() {
    let mut zone = SOUND.to_owned();
    for _ in 0..100_000 {
        zone.push_str("x A bad\n");
    }
    let folder = folder(&[("bad.zone", zone.as_bytes())]);
    let path = folder.path().join("bad.zone");
    let said = zonda(&["check-zone", "example.", text(&path)]);
    assert_eq!(said.status, 1);
    assert!(said.errors.lines().count() + said.output.lines().count() < 1000);
}

#[test]
fn all_errors_count_also_those_not_shown() {
    use std::fmt::Write;
    let mut zone = SOUND.to_owned();
    // Data beside an alias, which is an error of one kind.
    for number in 0..250 {
        write!(zone, "a{number} CNAME www\na{number} A 192.0.2.9\n").expect("a string grows");
    }
    let folder = folder(&[("example.zone", zone.as_bytes())]);
    let path = folder.path().join("example.zone");
    zonda(&["check-zone", "example.", text(&path)]).assert_fails(1, &["zone example.: 250 errors"]);
    zonda(&["check-zone", "--json", "example.", text(&path)]).assert_fails(1, &["\"errors\":250"]);
}
