//! RRsets that are to be so: each is, or nothing has changed.

use crate::kit::{NOW, name, pack, records, text, trimmed, view};
use change::alteration::{Altered, Fault, Refused, What, check_form};
use change::draft::NoChange;
use change::{Draft, Limits, SerialStyle, Why};
use wire::NameBuf;
use wire::iana::rtype;
use zone::Pack;

const ZONE: &str = "@ 60 SOA ns host 7 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\n\
                    www 60 A 192.0.2.2\nwww 60 A 192.0.2.3\nalias 60 CNAME www\ntxt 60 TXT a\ntxt 60 TXT b\n";

/// A line: what, owner, TTL, type, contents between `|`.
fn parsed(line: &str) -> (What, NameBuf, u32, u16, Vec<Vec<u8>>) {
    let mut words = line.trim().splitn(5, ' ');
    let (what, owner, ttl, kind) =
        (words.next().unwrap(), words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let what = match what {
        "replace" => What::Replace,
        "delete" => What::Delete,
        "extend" => What::Extend,
        "prune" => What::Prune,
        other => panic!("{other}"),
    };
    let of = |content: &str| records(&format!("{owner} {ttl} {kind} {content}\n")).remove(0).3;
    let rdatas = words.next().map_or(Vec::new(), |contents| contents.split('|').map(of).collect());
    (what, name(owner), ttl.parse().unwrap(), rtype::from_text(kind.as_bytes()).unwrap(), rdatas)
}

fn altered(pack: &Pack, script: &str) -> Result<String, Refused> {
    let lines: Vec<_> = script.trim().lines().map(parsed).collect();
    let sets: Vec<Altered<'_>> = lines
        .iter()
        .map(|(what, owner, ttl, rtype, rdatas)| Altered {
            owner,
            rtype: *rtype,
            what: *what,
            ttl: *ttl,
            rdatas: rdatas.iter().map(Vec::as_slice).collect(),
        })
        .collect();
    let mut draft = Draft::new(view(pack)).unwrap();
    let limits = Limits { records_per_rrset: 3, records_per_name: 4 };
    let done = draft.alter(&sets, &limits, (SerialStyle::Increment, NOW)).unwrap();
    assert!(done.is_ok() || draft.is_unchanged(), "nothing of it is done");
    done?;
    match draft.into_change(SerialStyle::Increment, NOW) {
        Ok(change) => Ok(text(&change)),
        Err(NoChange::Nothing) => Ok("nothing".into()),
        Err(NoChange::Damaged) => panic!("damaged"),
    }
}

#[track_caller]
fn check(script: &str, expected: &str) {
    assert_eq!(altered(&pack(&records(ZONE)), script).unwrap(), trimmed(expected));
}

#[track_caller]
fn refused(script: &str, set: usize, fault: Fault) {
    assert_eq!(altered(&pack(&records(ZONE)), script), Err(Refused { set: Some(set), fault }), "{script}");
}

#[test]
fn each_is_as_it_was_said() {
    check(
        "replace www 60 A 192.0.2.3|192.0.2.4",
        "7 -> 8
         - www.example. 60 A 192.0.2.2
         + www.example. 60 A 192.0.2.4",
    );
    check(
        "extend txt 60 TXT c|a\nprune www 0 A 192.0.2.2|192.0.2.9\ndelete ns 0 A",
        "7 -> 8
         - ns.example. 60 A 192.0.2.1
         - www.example. 60 A 192.0.2.2
         + txt.example. 60 TXT \"c\"",
    );
    // The last of a name goes with its RRset; what is so already changes nothing.
    check(
        "prune txt 0 TXT a|b\nreplace www 60 A 192.0.2.3|192.0.2.2\ndelete none 0 A",
        "7 -> 8
         - txt.example. 60 TXT \"a\"
         - txt.example. 60 TXT \"b\"",
    );
    check("replace www 60 A 192.0.2.3|192.0.2.2\ndelete none 0 A\nprune www 0 A 192.0.2.77", "nothing");
    // Another TTL is another set.
    check(
        "extend txt 61 TXT a",
        "7 -> 8
         - txt.example. 60 TXT \"a\"
         - txt.example. 60 TXT \"b\"
         + txt.example. 61 TXT \"a\"
         + txt.example. 61 TXT \"b\"",
    );
}

#[test]
fn order_means_nothing() {
    for script in ["replace www 60 CNAME ns\ndelete www 0 A", "delete www 0 A\nreplace www 60 CNAME ns"] {
        check(
            script,
            "7 -> 8
             - www.example. 60 A 192.0.2.2
             - www.example. 60 A 192.0.2.3
             + www.example. 60 CNAME ns.example.",
        );
    }
}

#[test]
fn soa_records() {
    // All but the serial; also the serial where it is greater; nothing where it is as it was.
    check("replace @ 60 SOA ns admin 7 2 3 4 5", "7 -> 8");
    check("replace @ 60 SOA ns host 3 2 3 4 5", "nothing");
    check("replace @ 60 SOA ns host 70 2 3 4 5", "7 -> 70");
    for script in [
        "delete @ 0 SOA",
        "extend @ 60 SOA ns host 8 2 3 4 5",
        "prune @ 0 SOA ns host 7 2 3 4 5",
        "replace www 60 SOA ns host 8 2 3 4 5",
        "replace @ 60 SOA ns host 8 2 3 4 5|ns host 9 2 3 4 5",
    ] {
        refused(script, 0, Fault::OneSoa);
    }
}

#[test]
fn what_no_zone_can_have() {
    refused("replace txt 60 TXT z\nextend www 60 CNAME ns", 1, Fault::BesideCname);
    refused("replace alias 60 A 192.0.2.7", 0, Fault::BesideCname);
    refused("replace alias 60 CNAME ns|www", 0, Fault::NotTogether);
    refused("extend alias 60 CNAME ns", 0, Fault::NotTogether);
    refused("delete @ 0 NS", 0, Fault::LastNs);
    refused("prune @ 0 NS ns", 0, Fault::LastNs);
    refused("extend www 60 A 192.0.2.4|192.0.2.5", 0, Fault::Why(Why::RRsetFull(3)));
    refused("extend www 60 TXT a|b|c", 0, Fault::Why(Why::NameFull(4)));
    // Too many are so before the first of them is put in, whatever else is wrong with them: one by one they would take the longer the more there are.
    for what in ["replace", "extend"] {
        refused(&format!("{what} c 60 CNAME a|b|c"), 0, Fault::NotTogether);
        refused(&format!("{what} c 60 CNAME a|b|c|d"), 0, Fault::Why(Why::RRsetFull(3)));
    }
}

#[test]
fn forms() {
    let form = |line: &str, rdata: Option<&[u8]>| {
        let (what, owner, ttl, rtype, rdatas) = parsed(line);
        let rdatas = rdata.map_or(rdatas.iter().map(Vec::as_slice).collect(), |rdata| vec![rdata]);
        check_form(&name("@"), &Altered { owner: &owner, rtype, what, ttl, rdatas })
    };
    assert_eq!(form("replace www 60 A 192.0.2.1", None), Ok(()));
    assert_eq!(form("replace www.other. 60 A 192.0.2.1", None), Err(Fault::Why(Why::NotZone)));
    assert!(matches!(form("delete www 60 A", Some(&[1, 2, 3])), Err(Fault::Why(Why::Rdata(_)))));
    assert_eq!(form("delete www 0 ANY", None), Err(Fault::Why(Why::Form)));
    assert_eq!(form("delete @ 0 NSEC3PARAM", None), Err(Fault::Why(Why::NotByUpdate(rtype::NSEC3PARAM))));
}
