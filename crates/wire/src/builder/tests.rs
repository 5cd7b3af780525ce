use super::*;
use crate::NameBuf;
use crate::iana::{class, rtype};
use crate::message::Message;
use crate::name::NAME_OCTETS_MAX;

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

/// Owner, type and RDATA of all records, as they are read back.
fn read(octets: &[u8]) -> Vec<(String, u16, Vec<u8>)> {
    let message = Message::read(octets).unwrap();
    let (mut owner, mut buffer) = ([0; NAME_OCTETS_MAX], vec![0; 65_535]);
    let records = message.records().unwrap().map(|record| {
        let record = record.unwrap();
        let rdata = record.rdata_uncompressed(&mut buffer).unwrap().to_vec();
        (record.owner_name(&mut owner).unwrap().to_string(), record.view.rtype, rdata)
    });
    records.collect()
}

fn check_name(builder: &mut Builder<'_>, text: &str, expected: &[u8]) {
    let at = builder.out.at();
    builder.name(&name(text)).unwrap();
    assert_eq!(
        builder.message()[at..].escape_ascii().to_string(),
        expected.escape_ascii().to_string(),
        "{text}"
    );
}

#[test]
fn suffixes_become_pointers() {
    let mut octets = [0; 512];
    let mut suffixes = Suffixes::new(1);
    let mut builder = Builder::new(&mut octets, (512, 0), &mut suffixes, Case::Exact, 7).unwrap();
    check_name(&mut builder, "www.example.com", b"\x03www\x07example\x03com\0");
    check_name(&mut builder, "mail.example.com", b"\x04mail\xc0\x10");
    check_name(&mut builder, "a.mail.example.com", b"\x01a\xc0\x1d");
    check_name(&mut builder, "mail.example.com", b"\xc0\x1d");
    check_name(&mut builder, "com", b"\xc0\x18");
    check_name(&mut builder, ".", b"\0");
    // The same label below another parent is another name.
    check_name(&mut builder, "www.com", b"\x03www\xc0\x18");
    check_name(&mut builder, "example.org", b"\x07example\x03org\0");
    check_name(&mut builder, "Www.example.com", b"\x03Www\xc0\x10");
    check_name(&mut builder, "www.eXample.com", b"\x03www\x07eXample\xc0\x18");
}

/// Records of one owner, the later ones by its place, are those that a search finds.
#[test]
fn records_by_the_place_of_their_owner() {
    let write = |by_place: bool, owner: &str| {
        let mut octets = [0; 512];
        let mut suffixes = Suffixes::new(1);
        let mut builder = Builder::new(&mut octets, (512, 0), &mut suffixes, Case::Ignored, 7).unwrap();
        builder.question(&name("example.com"), rtype::MX, class::IN).unwrap();
        let (owner, head) = (name(owner), (rtype::MX, class::IN, 60));
        let begin = builder.message().len();
        builder.record(&owner, head, b"\0\x01\x02mx\x07example\x03com\0").unwrap();
        for rdata in [&b"\0\x02\x02mx\x07example\x03com\0"[..], b"\0\x03\0"] {
            match builder.owner_at(begin).filter(|_| by_place) {
                Some(place) => builder.record_at(place, head, rdata).unwrap(),
                None => builder.record(&owner, head, rdata).unwrap(),
            }
        }
        let length = builder.finish(0, 1);
        octets[..length].to_vec()
    };
    for owner in ["example.com", "EXAMPLE.com", "www.example.com", "www.other.org", "com", "."] {
        assert_eq!(write(true, owner), write(false, owner), "{owner}");
    }
    let mut octets = [0; 40];
    let mut suffixes = Suffixes::new(1);
    let mut builder = Builder::new(&mut octets, (40, 0), &mut suffixes, Case::Ignored, 7).unwrap();
    builder.question(&name("example.com"), rtype::A, class::IN).unwrap();
    assert_eq!(builder.record_at(12, (rtype::A, class::IN, 60), b"abcd"), Err(Full));
    assert_eq!(builder.message().len(), 29);
}

#[test]
fn case_can_be_ignored() {
    let mut octets = [0; 512];
    let mut suffixes = Suffixes::new(2);
    let mut builder = Builder::new(&mut octets, (512, 0), &mut suffixes, Case::Ignored, 7).unwrap();
    check_name(&mut builder, "long-label.example.com", b"\x0along-label\x07example\x03com\0");
    check_name(&mut builder, "Long-LABEL.eXample.COM", b"\xc0\x0c");
    check_name(&mut builder, "long-labem.eXample.COM", b"\x0along-labem\xc0\x17");
}

#[test]
fn records_and_sections() {
    let mut octets = [0; 512];
    let mut suffixes = Suffixes::new(3);
    let mut builder = Builder::new(&mut octets, (512, 20), &mut suffixes, Case::Exact, 0xabcd).unwrap();
    let apex = name("example.com");
    builder.question(&apex, rtype::SOA, class::IN).unwrap();
    let soa = [name("ns.example.com").octets(), name("x.com").octets(), &[9; 20]].concat();
    builder.record(&apex, (rtype::SOA, class::IN, 60), &soa).unwrap();
    builder.begin_section(Section::Authority);
    // Names of other types than those of RFC 1035 stay whole, and broken RDATA stays as it is.
    let srv = [&[0; 6], name("ns.example.com").octets()].concat();
    builder.record(&apex, (rtype::SRV, class::IN, 60), &srv).unwrap();
    builder.record(&apex, (rtype::MX, class::IN, 60), b"\0").unwrap();
    let mut out = builder.release();
    out.octets(&[0; 11]).unwrap();
    out.count_one();
    let length = out.finish(0x8400, 1);
    assert_eq!(octets[..12], *b"\xab\xcd\x84\0\0\x01\0\x01\0\x02\0\x01");
    // Question, then SOA with its names as ns + pointer and x + pointer, SRV, MX, and what stands for OPT.
    assert_eq!(length, 12 + 17 + (12 + 5 + 4 + 20) + (12 + 22) + (12 + 1) + 11);
    assert_eq!(octets[29 + 12..29 + 12 + 9], *b"\x02ns\xc0\x0c\x01x\xc0\x14");
    let whole = Message::read(&octets[..length]).unwrap();
    let soa_read = whole.records().unwrap().next().unwrap().unwrap();
    assert_eq!(soa_read.rdata_uncompressed(&mut [0; 512]).unwrap(), soa);
}

/// What does not fit leaves nothing behind, not even in the table.
#[test]
fn rollback() {
    let mut octets = [0; 512];
    let mut suffixes = Suffixes::new(4);
    let mut builder = Builder::new(&mut octets, (100, 11), &mut suffixes, Case::Exact, 0).unwrap();
    builder.question(&name("a.test"), rtype::NS, class::IN).unwrap();
    let mark = builder.mark();
    let target = name("host.example.net");
    builder.record(&name("a.test"), (rtype::NS, class::IN, 1), target.octets()).unwrap();
    let used = builder.suffixes.used;
    assert_eq!(used, 5);
    assert_eq!(builder.record(&name("b.c.other"), (rtype::TXT, class::IN, 1), &[0; 40]), Err(Full));
    assert_eq!((builder.suffixes.used, builder.count(Section::Answer)), (used, 1));
    let before = builder.message().to_vec();
    builder.rollback(mark);
    assert_eq!((builder.suffixes.used, builder.count(Section::Answer)), (0, 0));
    // Written again, it is written the same: nothing points at what is gone.
    builder.record(&name("a.test"), (rtype::NS, class::IN, 1), target.octets()).unwrap();
    assert_eq!(builder.message(), before);
    assert!(Builder::new(&mut [0; 30], (30, 20), &mut Suffixes::new(0), Case::Exact, 0).is_none());
}

/// A message of 64 KiB has more names than the table has places, and offsets that no pointer reaches.
#[test]
fn what_is_full_is_still_right() {
    let mut octets = vec![0; 65_535];
    for key in 0..4 {
        let mut suffixes = Suffixes::new(key);
        for _ in 0..2 {
            let mut builder = Builder::new(&mut octets, (65_535, 0), &mut suffixes, Case::Exact, 0).unwrap();
            builder.question(&name("example"), rtype::AXFR, class::IN).unwrap();
            let mut expected = Vec::new();
            for number in 0_u32.. {
                let owner = name(&format!("n{}.d{}.example", number.wrapping_mul(0x9e37_79b9), number % 700));
                let target = name(&format!("n{number}.example"));
                if builder.record(&owner, (rtype::NS, class::IN, 1), target.octets()).is_err() {
                    break;
                }
                expected.push((owner.to_string(), rtype::NS, target.octets().to_vec()));
            }
            assert!(builder.suffixes.used > USED_MAX * 9 / 10, "{}", builder.suffixes.used);
            let length = builder.finish(0x8400, 1);
            assert!(read(&octets[..length]) == expected && expected.len() > 1500, "{}", expected.len());
        }
        // All that was filled is empty again.
        suffixes.rollback(0);
        assert!(suffixes.slots.iter().all(|slot| slot.place == 0));
    }
}

/// No entry where no pointer reaches: the last place is 0x3fff.
#[test]
fn reach_of_pointers() {
    for at in [0x3ffe, 0x3fff, 0x4000] {
        let mut octets = vec![0; 65_535];
        let mut suffixes = Suffixes::new(1);
        let mut builder = Builder::new(&mut octets, (65_535, 0), &mut suffixes, Case::Exact, 0).unwrap();
        builder.out.append(at - HEADER_OCTETS, 0).unwrap();
        builder.name(&name("a")).unwrap();
        builder.name(&name("b.a")).unwrap();
        let expected: &[u8] = if at < 0x4000 { b"\x01a\0\x01b" } else { b"\x01a\0\x01b\x01a\0" };
        assert!(builder.message()[at..].starts_with(expected));
        assert_eq!(builder.message().len() - at, expected.len() + usize::from(at < 0x4000) * 2, "{at:x}");
    }
}
