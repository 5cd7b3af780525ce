//! What holds of all responses, for tests and fuzzing.

use wire::header::{HEADER_OCTETS, u16_at};
use wire::iana::rtype;
use wire::message::{Error, Message, Record};
use wire::name::NAME_OCTETS_MAX;
use wire::question::Question;
use wire::rrset::RrsetList;
use wire::{Name, NameBuf, Places};

use super::{Asked, ClientCookie, Kind, NEVER_SERVERS, Reader, Reply, Source};

/// Reads any octets as a response to a question that they choose. The first three: who was asked and how; how many labels the zone asked has;
/// how many fewer the question has than the name that is to be found out. The rest is the message, and its question what was asked.
pub fn check_response(data: &[u8]) {
    let Some((&[choice, zone_labels, hidden], octets)) = data.split_first_chunk::<3>() else { return };
    let Ok(question) = Question::read(octets, &mut Places::new()) else { return };
    let qname = Name::trusted(&octets[HEADER_OCTETS..question.end - 4]);
    let full = longer(qname, hidden % 4);
    let zone = qname.to_lowercase();
    let asked = Asked {
        zone: ancestor(&zone, usize::from(zone_labels)),
        qname,
        qtype: question.qtype,
        full: &full,
        id: u16_at(octets, 0),
        source: if choice & 1 != 0 { Source::Forwarder } else { Source::Authority },
        has_edns: choice & 2 != 0,
        cookie: (choice & 4 != 0).then_some(ClientCookie { client: [0; 8], is_required: choice & 8 != 0 }),
        is_case_random: choice & 16 != 0,
        is_stream: choice & 32 != 0,
        not_servers: if choice & 64 != 0 { &[] } else { NEVER_SERVERS },
    };
    let (mut reader, mut reply) = (Reader::new(u64::from(choice)), Reply::new());
    let read = reader.read(&asked, octets, &mut reply);
    assert_eq!(read.is_err(), reply.kind == Kind::Unread);
    check_scrubbed(&asked, octets, &reply);
    check_kind(&asked, &reply);
    // What was read before makes no difference.
    let before = reply.clone();
    assert_eq!(reader.read(&asked, octets, &mut reply), read);
    assert_eq!(reply, before);
}

/// A name with so many labels before it, as far as there is room.
fn longer(name: &Name, labels: u8) -> NameBuf {
    let mut octets = name.octets().to_ascii_lowercase();
    for _ in 0..labels {
        if octets.len() + 2 <= NAME_OCTETS_MAX {
            octets.splice(..0, *b"\x01a");
        }
    }
    Name::trusted(&octets).to_owned()
}

/// The ancestor with so many labels; the name itself where it has fewer.
fn ancestor(name: &Name, labels: usize) -> &Name {
    let mut name = name;
    while name.label_count() > labels
        && let Some(parent) = name.parent()
    {
        name = parent;
    }
    name
}

/// Owner, type and RDATA of the records of a message, as far as they can be read; `None` where that takes more work than it is worth: a reader
/// looks at less.
fn records_of(octets: &[u8]) -> Option<Vec<(NameBuf, u16, Vec<u8>)>> {
    let (mut name, mut expanded, mut all) = ([0; NAME_OCTETS_MAX], vec![0; 65_535], Vec::new());
    let mut read = |record: Record<'_, '_>| {
        let owner = record.owner_name(&mut name)?.to_owned();
        let rdata = record.rdata_uncompressed(&mut expanded)?.to_vec();
        all.push((owner, record.view.rtype, rdata));
        Ok(())
    };
    let Ok(message) = Message::read(octets) else { return Some(all) };
    let Ok(records) = message.records() else { return Some(all) };
    for record in records {
        if let Err(Error::Work(_)) = record.and_then(&mut read) {
            return None;
        }
    }
    Some(all)
}

/// What holds of every reply: owners are at or below the zone asked, and each record is one of the message, but for CNAMEs made from a
/// DNAME.
pub(super) fn check_scrubbed(asked: &Asked<'_>, octets: &[u8], reply: &Reply) {
    let all = records_of(octets);
    let is_there = |owner: &Name, rtype: u16, rdata: &[u8]| {
        all.as_ref().is_none_or(|all| {
            all.iter().any(|(name, there, data)| {
                *there == rtype && data.eq_ignore_ascii_case(rdata) && name.eq_ignore_case(owner)
            })
        })
    };
    let has_dname = reply.answer.list().iter().any(|set| set.rtype == rtype::DNAME);
    for list in [&reply.answer, &reply.authority, &reply.referral, &reply.glue] {
        assert!(RrsetList::from_octets(list.list().octets()).is_some());
        for set in list.list() {
            assert!(set.owner.is_at_or_below(asked.zone), "{} is not of {}", set.owner, asked.zone);
            assert!(!set.rdatas.is_empty() && set.ttl <= i32::MAX as u32);
            let is_made = set.rtype == rtype::CNAME && has_dname && set.signatures.is_empty();
            for rdata in set.rdatas {
                assert!(is_made || is_there(set.owner, set.rtype, rdata), "{set:?}");
            }
            for rdata in set.signatures {
                assert!(is_there(set.owner, rtype::RRSIG, rdata), "{set:?}");
            }
        }
    }
    assert!(
        reply
            .referral
            .list()
            .iter()
            .all(|set| asked.zone.octets().len() < set.owner.octets().len() || asked.zone.is_root())
    );
}

/// What holds between a kind and what comes with it.
pub(super) fn check_kind(asked: &Asked<'_>, reply: &Reply) {
    let [answer, authority, referral, glue] =
        [&reply.answer, &reply.authority, &reply.referral, &reply.glue].map(|list| list.list());
    let text = format!("{asked:?} {reply:?}");
    match reply.kind {
        Kind::Answer => {
            assert!(answer.iter().any(|set| set.rtype == asked.qtype || asked.qtype == rtype::ANY), "{text}")
        }
        Kind::Alias => {
            assert!(answer.iter().any(|set| set.rtype == rtype::CNAME) && referral.is_empty(), "{text}")
        }
        Kind::NoData | Kind::NameError => {
            assert!(
                reply.name().is_at_or_below(asked.zone) && referral.is_empty() && glue.is_empty(),
                "{text}"
            );
            let soa = authority.iter().find(|set| set.rtype == rtype::SOA);
            assert!(soa.is_none_or(|soa| reply.name().is_at_or_below(soa.owner)), "{text}");
        }
        Kind::Referral => {
            let cut = reply.name();
            assert!(answer.is_empty() && asked.qname.is_at_or_below(cut), "{text}");
            assert!(cut.is_at_or_below(asked.zone) && !cut.eq_ignore_case(asked.zone), "{text}");
            assert!(referral.iter().next().is_some_and(|set| set.rtype == rtype::NS), "{text}");
            assert!(referral.iter().all(|set| set.owner.eq_ignore_case(cut)), "{text}");
        }
        Kind::Exists => assert!(!answer.is_empty() && asked.is_minimised(), "{text}"),
        Kind::TooLong => assert!(answer.iter().any(|set| set.rtype == rtype::DNAME), "{text}"),
        _ => assert!(
            answer.is_empty() && authority.is_empty() && referral.is_empty() && glue.is_empty(),
            "{text}"
        ),
    }
    for set in glue {
        let is_named = |rdata: &[u8]| rdata.eq_ignore_ascii_case(set.owner.octets());
        assert!(
            referral.iter().any(|servers| servers.rtype == rtype::NS && servers.rdatas.iter().any(is_named)),
            "{text}"
        );
    }
    // Each alias leads to the next owner, and the last one to the name.
    let mut at = asked.qname.to_lowercase();
    for set in answer {
        assert!(
            matches!(set.rtype, rtype::DNAME | rtype::RRSIG | rtype::NSEC)
                || set.owner.eq_ignore_case(&at)
                || reply.kind == Kind::Answer,
            "{text}"
        );
        if set.rtype == rtype::CNAME && !matches!(asked.qtype, rtype::CNAME | rtype::ANY) {
            let target = set.rdatas.iter().next().expect("sets are not empty");
            at = Name::from_wire(target).expect("RDATA of CNAME is a name").to_lowercase();
        }
    }
    if matches!(reply.kind, Kind::Answer | Kind::Alias | Kind::NoData | Kind::NameError)
        && !matches!(asked.qtype, rtype::CNAME | rtype::ANY)
    {
        assert_eq!(at, reply.name().to_owned(), "{text}");
    }
}
