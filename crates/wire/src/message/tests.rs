use super::*;
use crate::iana::rtype;

/// A message of a header with these flags and counts, and octets.
fn message(flags: u16, counts: [u16; 4], body: &[u8]) -> Vec<u8> {
    let mut octets = vec![0xab, 0xcd];
    octets.extend(flags.to_be_bytes());
    counts.iter().for_each(|count| octets.extend(count.to_be_bytes()));
    octets.extend(body);
    octets
}

/// A record.
fn record(owner: &[u8], rtype: u16, class: u16, rdata: &[u8]) -> Vec<u8> {
    let mut octets = owner.to_vec();
    octets.extend([rtype.to_be_bytes(), class.to_be_bytes(), [0, 0], [0, 9]].concat());
    octets.extend((rdata.len() as u16).to_be_bytes());
    octets.extend(rdata);
    octets
}

/// The question of most messages here: its name stands at 12, its root label at 15.
const QUESTION: &[u8] = b"\x02Ex\0\0\x02\0\x01";

/// Reads a message to its end; lines of owner, type and uncompressed RDATA.
fn lines(octets: &[u8]) -> Result<Vec<String>, Error> {
    let message = Message::read(octets)?;
    let (mut owner, mut buffer) = ([0; NAME_OCTETS_MAX], vec![0; 65535]);
    let mut lines = Vec::new();
    for record in message.records()? {
        let record = record?;
        let owner = record.owner_name(&mut owner)?.to_string();
        let rdata = record.rdata_uncompressed(&mut buffer)?.escape_ascii().to_string();
        lines.push(format!("{:?} {owner} {} {rdata}", record.section, rtype::Text(record.view.rtype)));
    }
    Ok(lines)
}

#[test]
fn a_whole_message() {
    let records = [
        record(b"\xc0\x0c", rtype::NS, 1, b"\x01a\xc0\x0c"),
        record(b"\xc0\x0c", rtype::SOA, 1, b"\x01b\xc0\x0c\xc0\x0f12345678901234567890"),
        record(b"\x01a\xc0\x0c", rtype::A, 1, b"\xc0\x0c\xc0\x0c"),
        record(b"\0", rtype::OPT, 1232, b""),
    ];
    let octets = message(0x8400, [1, 1, 1, 2], &[QUESTION, &records.concat()].concat());
    let expected = [
        "Answer Ex. NS \\x01a\\x02Ex\\x00",
        "Authority Ex. SOA \\x01b\\x02Ex\\x00\\x0012345678901234567890",
        "Additional a.Ex. A \\xc0\\x0c\\xc0\\x0c",
        "Additional . OPT ",
    ];
    assert_eq!(lines(&octets).unwrap(), expected);
    let read = Message::read(&octets).unwrap();
    assert_eq!((read.id(), read.flags(), read.opcode()), (0xabcd, 0x8400, 0));
    let mut places = Places::new();
    assert_eq!(read.question(&mut places).unwrap().unwrap().qtype, rtype::NS);
    let mut records = read.records().unwrap();
    let first = records.next().unwrap().unwrap();
    first.owner(&mut places).unwrap();
    assert_eq!(places.labels(), [12]);
    let mut names = first.names();
    let name = names.next().unwrap().unwrap();
    names.follow(&name, &mut places).unwrap();
    assert_eq!((name.end - name.at, places.label_count()), (4, 2));
    assert!(names.next().is_none());
    records.by_ref().for_each(|record| assert!(record.is_ok()));
    assert_eq!(records.at(), octets.len());
    for end in 0..octets.len() {
        assert!(lines(&octets[..end]).is_err(), "{end}");
    }
    // Octets after the last record are no error here.
    assert_eq!(lines(&[&octets[..], b"more"].concat()).unwrap(), expected);
}

/// What needs no expansion is not copied.
#[test]
fn nothing_is_copied_without_need() {
    let octets = message(0, [0, 1, 0, 0], &record(b"\0", rtype::MX, 1, b"\0\x01\x01a\0"));
    let message = Message::read(&octets).unwrap();
    let record = message.records().unwrap().next().unwrap().unwrap();
    assert_eq!(record.rdata_uncompressed(&mut []), Ok(&octets[23..]));
}

#[track_caller]
fn check(flags: u16, counts: [u16; 4], body: &[&[u8]], expected: Error) {
    assert_eq!(lines(&message(flags, counts, &body.concat())), Err(expected));
}

#[test]
fn faults() {
    let ns = |target: &[u8]| record(b"\0", rtype::NS, 1, target);
    check(0, [1, 0, 0, 0], &[b"\x02Ex\0\0\x02\0"], Error::Truncated(12));
    check(0, [1, 0, 0, 0], &[b"\xc0\x00\0\x02\0\x01"], Error::BadName(12));
    check(0, [2, 0, 0, 0], &[QUESTION, QUESTION], Error::Counts);
    check(0, [0, 2, 0, 0], &[&record(b"\0", 1, 1, b"1234")], Error::Counts);
    check(0, [0, 1, 0, 0], &[&ns(b"\0")[..10], b"\xff"], Error::Truncated(12));
    check(0, [0, 1, 0, 0], &[b"\x80", &ns(b"\0")], Error::BadName(12));
    check(0, [0, 1, 0, 0], &[&record(b"\xc0\x0c", 1, 1, b"")], Error::BadName(12));
    check(0, [0, 1, 0, 0], &[&ns(b"\x01a")], Error::BadRdata(23));
    check(0, [0, 1, 0, 0], &[&ns(b"\0\0")], Error::BadRdata(24));
    check(0, [0, 1, 0, 0], &[&ns(b"\xc0\x17")], Error::BadName(23));
    check(0, [0, 1, 0, 0], &[&record(b"\0", rtype::NSEC, 1, b"\xc0\x0c")], Error::BadRdata(23));
    check(0, [0, 1, 0, 0], &[&record(b"\0", rtype::MX, 1, b"")], Error::BadRdata(23));
    // Header octets that look like a name, named by a pointer: the ID is 0xabcd, the counts 0, 1, 0, 0.
    check(0, [0, 1, 0, 0], &[&record(b"\xc0\x04", rtype::A, 1, b"1234")], Error::BadName(12));
    assert_eq!(lines(&[0; 11]), Err(Error::Truncated(0)));
    assert_eq!(lines(&[0; 12]), Ok(vec![]));
}

/// RFC 2136 2.4, 2.5: ANY and NONE without data are no malformed RDATA, and with data they are read.
#[test]
fn updates() {
    let records = [
        record(b"\xc0\x0c", rtype::MX, class::ANY, b""),
        record(b"\xc0\x0c", rtype::SOA, class::NONE, b""),
        record(b"\xc0\x0c", rtype::MX, class::NONE, b"\0\x01\xc0\x0c"),
        record(b"\xc0\x0c", rtype::ANY, class::ANY, b""),
    ];
    let body = [QUESTION, &records.concat()].concat();
    let expected = [
        "Answer Ex. MX ",
        "Answer Ex. SOA ",
        "Authority Ex. MX \\x00\\x01\\x02Ex\\x00",
        "Authority Ex. ANY ",
    ];
    assert_eq!(lines(&message(0x2800, [1, 2, 2, 0], &body)).unwrap(), expected);
    // In any other message, they are.
    check(0, [1, 2, 2, 0], &[&body], Error::BadRdata(32));
    // And in an update, data are still read by their type.
    let bad = record(b"\xc0\x0c", rtype::MX, class::NONE, b"\0");
    check(0x2800, [1, 0, 1, 0], &[QUESTION, &bad], Error::BadRdata(32));
}

/// A name of 247 octets whose labels overlap, in the RDATA that points at it: so a message of less than 65,535 octets can
/// have RDATA that is longer when it is expanded.
#[test]
fn expansion_has_an_end() {
    let read = |octets: usize| {
        let mut rdata = vec![8; octets];
        // The RDATA begins at 23 of the message, the name 18 octets later.
        let mut put = |at: usize, octets: &[u8]| rdata[at - 23..][..octets.len()].copy_from_slice(octets);
        put(41, &[0xc0, 40]);
        for (at, length) in [(40, 63), (39, 61), (38, 60), (37, 58)] {
            put(at, &[length]);
            put(at + 1 + length as usize, &[0xc0, at as u8 - 1]);
        }
        put(36, &[0]);
        let octets = message(0, [0, 1, 0, 0], &record(b"\0", rtype::SIG, 1, &rdata));
        assert!(octets.len() <= 65_535);
        lines(&octets).map(|lines| lines.len())
    };
    assert_eq!(read(65_535 + 2 - 247), Ok(1));
    assert_eq!(read(65_535 + 3 - 247), Err(Error::BadRdata(43)));
    let name = [&[1, b'a'].repeat(127)[..], &[0]].concat();
    let question = [&name[..], &[0, 24, 0, 1]].concat();
    // The caller's room counts too, though 510 octets more than there were are enough.
    let octets =
        message(0, [1, 1, 0, 0], &[&question[..], &record(b"\0", rtype::NS, 1, b"\xc0\x0c")].concat());
    let message = Message::read(&octets).unwrap();
    let record = message.records().unwrap().next().unwrap().unwrap();
    assert_eq!(record.rdata_uncompressed(&mut [0; 254]), Err(Error::BadRdata(282)));
    assert_eq!(record.rdata_uncompressed(&mut [0; 255]).map(<[u8]>::len), Ok(255));
}

/// Names behind many pointers, as senders may write them in a transfer: 34 labels, each behind a pointer of its own.
#[test]
fn deep_names_can_be_read() {
    let mut octets = message(0x8400, [1, 0, 0, 0], b"\x04arpa\0\0\xfc\0\x01");
    let mut above = 12_u16;
    for _ in 0..33 {
        let at = octets.len() as u16;
        octets.extend(record(
            &[&[1, b'f'][..], &(0xc000 | above).to_be_bytes()].concat(),
            rtype::TXT,
            1,
            b"\0",
        ));
        above = at;
    }
    while octets.len() < 16_000 {
        let owner = [&[1, b'e'][..], &(0xc000 | above).to_be_bytes()].concat();
        octets.extend(record(&owner, rtype::PTR, 1, b"\x08host1234\x07example\x03net\0"));
    }
    let count = (octets.len() - 22 - 33 * 16) / 36 + 33;
    octets[6..8].copy_from_slice(&(count as u16).to_be_bytes());
    let message = Message::read(&octets).unwrap();
    let (mut name, mut buffer) = ([0; NAME_OCTETS_MAX], vec![0; 65535]);
    let mut read = 0;
    for record in message.records().unwrap() {
        let record = record.unwrap();
        record.owner_name(&mut name).unwrap();
        record.rdata_uncompressed(&mut buffer).unwrap();
        read += 1;
    }
    assert_eq!(read, count);
}
