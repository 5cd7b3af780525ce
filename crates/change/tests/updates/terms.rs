//! Who may do what and how much, in which order that is told, and what is answered.
use crate::kit::*;
use change::response::{header_only, response};
use change::{Applied, Asker, Draft, Failure, Limits, Policy, Request, Why};
use wire::Transport;
use wire::iana::rcode::{FORMERR, NOERROR, NOTZONE, NXDOMAIN, REFUSED, YXDOMAIN};
use wire::iana::{class, ede, rtype};

const ZONE: &str = "
    @    60 SOA   ns hostmaster 7 3600 600 86400 60
    @    60 NS    ns
    ns   60 A     192.0.2.53
    host 60 A     192.0.2.1
    host 60 TXT   mine
    host 60 MX    1 host
    old  60 RRSIG A 8 2 60 20300101000000 20200101000000 1 @ AAAA
    was  60 A     192.0.2.2
    was  60 RRSIG A 8 2 60 20300101000000 20200101000000 1 @ AAAA
    was  60 RRSIG TXT 8 2 60 20300101000000 20200101000000 1 @ AAAA
";

fn code(applied: Applied) -> u16 {
    match applied {
        Applied::Done => NOERROR,
        Applied::Failed(failure) => failure.rcode(),
        Applied::Unproved | Applied::CommitFirst => panic!("commit first, or unproved"),
    }
}

#[test]
fn policies_come_before_prerequisites() {
    let policy =
        Policy::new(["grant host.example. self * A TXT", "grant admin. subdomain example. ANY"]).unwrap();
    let pack = pack(&records(ZONE));
    for (key, script, rcode) in [
        ("host.example.", "add host 60 A 192.0.2.2", NOERROR),
        ("host.example.", "del host A", NOERROR),
        ("host.example.", "del host A 192.0.2.1", NOERROR),
        ("host.example.", "add ns 60 A 192.0.2.2", REFUSED),
        ("host.example.", "del host MX", REFUSED),
        // Nothing is told of what is there.
        ("host.example.", "yx none\nadd ns 60 A 192.0.2.2", REFUSED),
        ("host.example.", "yx none\nadd host 60 A 192.0.2.2", NXDOMAIN),
        ("nobody.", "yx none", REFUSED),
        ("", "yx none", REFUSED),
        ("", "add www.other. 60 A 192.0.2.2", REFUSED),
        ("host.example.", "add www.other. 60 A 192.0.2.2", NOTZONE),
        ("admin.", "nx host\nadd ns 60 A 192.0.2.2", YXDOMAIN),
        // All of a name: each type that is there has to be granted, and only where there are any.
        ("host.example.", "del host", REFUSED),
        ("host.example.", "yx none\ndel host", NXDOMAIN),
        ("host.example.", "del ns", REFUSED),
        ("admin.", "del host", NOERROR),
    ] {
        let key = (!key.is_empty()).then(|| name(key));
        let asker = Asker { key: key.as_deref(), ..somebody() };
        let mut draft = Draft::new(view(&pack)).unwrap();
        let applied = draft.update(&message(script).request(), &asker, &terms(Some(&policy))).unwrap();
        assert_eq!(code(applied), rcode, "{key:?} {script}");
    }
    // In a draft where the other types have gone, the same is granted.
    let key = name("host.example.");
    let mut draft = Draft::new(view(&pack)).unwrap();
    assert_eq!(apply(&mut draft, "del host MX"), NOERROR);
    let asker = Asker { key: Some(&key), transport: Transport::Tcp, ..somebody() };
    let applied = draft.update(&message("del host").request(), &asker, &terms(Some(&policy))).unwrap();
    assert_eq!(code(applied), NOERROR);
}

#[test]
fn sets_and_names_grow_to_a_bound() {
    let pack = pack(&records(ZONE));
    let update = |records_per_rrset, records_per_name, script: &str| {
        let mut draft = Draft::new(view(&pack)).unwrap();
        let limits = Limits { records_per_rrset, records_per_name };
        let terms = change::Terms { limits, ..terms(None) };
        match draft.update(&message(script).request(), &somebody(), &terms).unwrap() {
            Applied::Failed(failure) => Some(failure.why),
            _ => None,
        }
    };
    let two_more = "add host 60 A 192.0.2.2\nadd host 60 A 192.0.2.3";
    assert_eq!(update(3, 5, two_more), None);
    assert_eq!(update(2, 5, two_more), Some(Why::RRsetFull(2)));
    assert_eq!(update(3, 4, two_more), Some(Why::NameFull(4)));
    // What is there already may be more, be replaced and shrink.
    assert_eq!(update(0, 0, "add host 90 A 192.0.2.1\ndel host MX"), None);
    assert_eq!(update(0, 0, "add host 60 A 192.0.2.9"), Some(Why::RRsetFull(0)));
    // A message has no room for more.
    let mut large = Message::new();
    let text = [&[255][..], &[b'x'; 255]].concat().repeat(128);
    for number in 0..2 {
        large.push(2, &name("large"), (rtype::TXT, class::IN, 60), &text[number * 256..]);
    }
    let mut draft = Draft::new(view(&pack)).unwrap();
    let applied = draft.update(&large.request(), &somebody(), &terms(None)).unwrap();
    assert_eq!(applied, Applied::Failed(Why::RRsetTooLarge.into()));
    assert!(draft.is_unchanged());
}

/// Signatures of who knows what: they may go, not come, and go with what they sign.
#[test]
fn zones_that_are_not_signed() {
    let pack = pack(&records(ZONE));
    let signature = "RRSIG A 8 2 60 20300101000000 20200101000000 1 @ AAAA";
    for (script, rcode, expected) in [
        (format!("add host 60 {signature}"), REFUSED, String::new()),
        ("add host 60 NSEC ns A".into(), REFUSED, String::new()),
        ("add @ 60 NSEC3PARAM 1 0 0 -".into(), REFUSED, String::new()),
        ("add host 60 NSEC3PARAM 1 0 0 -\ndel host NSEC3PARAM".into(), NOERROR, String::new()),
        (format!("yx old {signature}\nyx old\nyx old RRSIG"), NOERROR, String::new()),
        ("nx old RRSIG".into(), 7, String::new()),
        (
            format!("del old {signature}"),
            NOERROR,
            format!("- old.example. 60 {}", signature.replace('@', "example.")),
        ),
        (
            "del was A".into(),
            NOERROR,
            format!(
                "- was.example. 60 A 192.0.2.2\n- was.example. 60 {}",
                signature.replace('@', "example.")
            ),
        ),
        (
            "add was 90 A 192.0.2.2".into(),
            NOERROR,
            format!(
                "- was.example. 60 A 192.0.2.2\n- was.example. 60 {0}\n+ was.example. 90 A 192.0.2.2\n+ was.example. 90 {0}",
                signature.replace('@', "example.")
            ),
        ),
    ] {
        let mut draft = Draft::new(view(&pack)).unwrap();
        assert_eq!(apply(&mut draft, &script), rcode, "{script}");
        let change = draft.into_change(change::SerialStyle::Increment, NOW);
        let found = change.as_ref().map_or(String::new(), |change| {
            text(change).split_once('\n').map_or(String::new(), |(_, lines)| lines.to_string())
        });
        assert_eq!(found, expected, "{script}");
    }
}

#[test]
fn answers() {
    let mut message = message("yx none");
    message.push(3, &name("."), (rtype::OPT, 1232, 0), &[]);
    let request = message.request();
    let done = response(&request, None, 1232);
    assert_eq!(done[..12], [0xab, 0xcd, 0xa8, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    let zone = &message.octets()[12..12 + 9 + 4];
    assert_eq!(&done[12..25], zone);
    assert_eq!(done[25..], [0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
    let failure = Failure { why: Why::Denied(rtype::A, None), at: None };
    let failed = response(&request, Some(&failure), 1232);
    assert_eq!(failed[3], REFUSED as u8);
    let words = b"no rule of the policy grants A";
    let option = [&[0, 15, 0, words.len() as u8 + 2, 0, ede::PROHIBITED as u8], &words[..]].concat();
    assert_eq!(failed[34..], [&[0, option.len() as u8][..], &option].concat());
    // Without EDNS, and of what could not be read.
    let plain = Message::new();
    let failed = response(&plain.request(), Some(&failure), 1232);
    assert_eq!((failed.len(), failed[11]), (25, 0));
    let cut = &plain.octets()[..20];
    let failure = Request::read(cut).unwrap_err();
    assert_eq!(
        header_only(cut, &failure).unwrap(),
        [0xab, 0xcd, 0xa8, FORMERR as u8, 0, 0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(header_only(&done, &failure), None, "answers are not answered");
    assert_eq!(header_only(&cut[..11], &failure), None);
}

/// A draft has so many octets of records, however few names: what is beyond commits first, and none is too large for a draft of its own.
#[test]
fn a_draft_is_bounded() {
    let pack = pack(&records(ZONE));
    let mut draft = Draft::new(view(&pack)).unwrap();
    let rdata = [&[255][..], &[b'x'; 255]].concat().repeat(100);
    let (mut octets, mut number) = (0, 0);
    loop {
        let mut message = Message::new();
        message.push(2, &name(&format!("n{number}")), (rtype::TXT, class::IN, 60), &rdata);
        match draft.update(&message.request(), &somebody(), &terms(None)).unwrap() {
            Applied::Done => octets += rdata.len(),
            Applied::Unproved | Applied::CommitFirst => break,
            Applied::Failed(failure) => panic!("{failure}"),
        }
        number += 1;
        assert!(octets < 8 << 20, "without end");
    }
    assert!(octets > 1 << 20, "{octets}");
    let mut next = Draft::new(view(&pack)).unwrap();
    let mut message = Message::new();
    message.push(2, &name("n"), (rtype::TXT, class::IN, 60), &rdata);
    assert_eq!(code(next.update(&message.request(), &somebody(), &terms(None)).unwrap()), NOERROR);
}
