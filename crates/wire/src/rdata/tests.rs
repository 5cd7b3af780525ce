use super::*;
use crate::iana::rtype;

/// The names of uncompressed RDATA, as `octets:uses`, and `!` at the end where it leaves its form.
fn found(rtype: u16, rdata: &[u8]) -> String {
    let text = |name: Result<NameField, BadRdata>| match name {
        Ok(name) => {
            let NameUse { expand, compress, fold } = name.uses;
            let mark = |flag, letter| if flag { letter } else { "" };
            let octets = rdata[name.at..name.end].escape_ascii();
            format!("{octets}:{}{}{}", mark(expand, "e"), mark(compress, "c"), mark(fold, "f"))
        }
        Err(BadRdata(at)) => format!("!{at}"),
    };
    Names::of(rtype, rdata).map(text).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(rtype: u16, rdata: &[u8], expected: &str) {
    assert_eq!(found(rtype, rdata), expected, "{}", rtype::Text(rtype));
}

#[test]
fn names_of_common_types() {
    check(rtype::NS, b"\x01a\0", "\\x01a\\x00:ecf");
    check(rtype::SOA, b"\x01a\0\x01b\x0012345678901234567890", "\\x01a\\x00:ecf \\x01b\\x00:ecf");
    check(rtype::MX, b"\0\x01\x01a\0", "\\x01a\\x00:ecf");
    check(rtype::SRV, b"123456\x01a\0", "\\x01a\\x00:ef");
    check(rtype::RRSIG, &[&[7; 18], &b"\x01s\0sig"[..]].concat(), "\\x01s\\x00:f");
    check(rtype::SIG, &[&[7; 18], &b"\x01s\0sig"[..]].concat(), "\\x01s\\x00:ef");
    check(rtype::NSEC, b"\x01a\0\0\x01\x40", "\\x01a\\x00:");
    check(rtype::DNAME, b"\0", "\\x00:f");
    check(rtype::SVCB, b"\0\x01\x01a\0\0\x01\0\0", "\\x01a\\x00:");
    for other in [rtype::A, rtype::TXT, rtype::DNSKEY, rtype::NSEC3, rtype::OPT, rtype::DLV, 65280] {
        check(other, b"\x01", "");
        assert!(!has_names(other));
    }
}

#[test]
fn names_of_odd_types() {
    check(rtype::NAPTR, b"1234\x01U\0\x02XY\x01r\0", "\\x01r\\x00:ef");
    check(rtype::A6, b"\x40ABCDEFGH\x01z\0", "\\x01z\\x00:f");
    check(rtype::A6, b"\x00ABCDEFGHIJKLMNOP", "");
    check(rtype::A6, b"\x80\0", "\\x00:f");
    check(rtype::A6, b"\x81\0", "!0");
    check(rtype::IPSECKEY, b"\x0a\x03\x02\x01g\0key", "\\x01g\\x00:");
    check(rtype::IPSECKEY, b"\x0a\x01\x02\x01g\0\0key", "");
    check(rtype::IPSECKEY, b"\x0a\x02\x02short", "!3");
    check(rtype::IPSECKEY, b"\x0a\x04\x02", "!3");
    check(rtype::AMTRELAY, b"\x0a\x83\x01g\0", "\\x01g\\x00:");
    check(rtype::AMTRELAY, b"\x0a\x00", "");
    check(rtype::AMTRELAY, b"\x0a\x003", "!2");
    check(rtype::HIP, b"\x01\x02\0\x02Tkk\x01a\0\0\x01b\0", "\\x01a\\x00: \\x00: \\x01b\\x00:");
    check(rtype::HIP, b"\x01\x02\0\x02Tkk", "");
    check(rtype::HIP, b"\x01\x02\0\x03Tkk", "!0");
    check(rtype::NXT, b"\x01a\0bits", "\\x01a\\x00:ef");
    check(rtype::PX, b"\0\x01\0\x01b\0", "\\x00:ef \\x01b\\x00:ef");
    check(rtype::MINFO, b"\0\0", "\\x00:ecf \\x00:ecf");
    check(rtype::RP, b"\0\0", "\\x00:ef \\x00:ef");
    check(rtype::LP, b"\0\x01\0", "\\x00:");
    check(rtype::DSYNC, b"\0\x01\x01\0\x35\0", "\\x00:");
    check(rtype::TALINK, b"\0\0", "\\x00: \\x00:");
    check(rtype::NSAP_PTR, b"\0", "\\x00:");
    check(rtype::TSIG, b"\x01h\x00times+fu\0\x02MMidER\0\x01o", "\\x01h\\x00:e");
    check(rtype::TKEY, b"\x01h\x00incpexpimoer\0\x01k\0\0", "\\x01h\\x00:e");
}

#[test]
fn what_leaves_the_form() {
    check(rtype::NS, b"", "!0");
    check(rtype::NS, b"\x01a", "!0");
    check(rtype::NS, b"\xc0\x0c", "!0");
    check(rtype::NS, b"\x40a\0", "!0");
    check(rtype::NS, b"\0\0", "\\x00:ecf !1");
    check(rtype::MX, b"\0", "!0");
    check(rtype::SOA, b"\0\x00123456789012345678", "\\x00:ecf \\x00:ecf !2");
    check(rtype::NAPTR, b"1234\x09U", "!4");
    check(rtype::TSIG, b"\0times+fu\0\x02M", "\\x00:e !9");
    let long = [&[1, b'a'].repeat(127)[..], &[0]].concat();
    assert!(Names::of(rtype::NS, &long).next().unwrap().is_ok());
    assert!(Names::of(rtype::NS, &[&b"\x01a"[..], &long].concat()).next().unwrap().is_err());
}

/// In a message, pointers stand where senders may put them, and nowhere else.
#[test]
fn pointers() {
    let mut message = vec![0; 13];
    message.extend(b"\x01a\xc0\x0c");
    let names = |rtype| Names::in_message(rtype, &message, 13, 17).next().unwrap();
    for rtype in [NS, PTR, CNAME, MB, NXT] {
        let name = names(rtype).unwrap();
        assert_eq!((name.at, name.end, name.has_pointer), (13, 17, true));
    }
    for rtype in [DNAME, NSEC, NSAP_PTR] {
        assert_eq!(names(rtype), Err(BadRdata(13)));
    }
    // The pointer is cut by the end of the RDATA, not by that of the message.
    assert_eq!(Names::in_message(NS, &message, 13, 16).next(), Some(Err(BadRdata(13))));
    assert_eq!(Names::in_message(NS, &message, 13, 99).next(), Some(names(NS)));
}

#[test]
fn compressible_names() {
    let found: Vec<(u16, usize, usize)> = (0..=u16::MAX)
        .map(|rtype| (rtype, compressible(rtype).before, compressible(rtype).names))
        .filter(|entry| entry.2 > 0)
        .collect();
    let expected = [
        (NS, 0, 1),
        (MD, 0, 1),
        (MF, 0, 1),
        (CNAME, 0, 1),
        (SOA, 0, 2),
        (MB, 0, 1),
        (MG, 0, 1),
        (MR, 0, 1),
        (PTR, 0, 1),
        (MINFO, 0, 2),
        (MX, 2, 1),
    ];
    assert_eq!(found, expected);
}

/// The tests of one bit say what the table says.
#[test]
fn sets() {
    for rtype in 0..=u16::MAX {
        assert_eq!(has_names(rtype), has(layout(rtype), false), "{rtype}");
        assert_eq!(has_folded_names(rtype), has(layout(rtype), true), "{rtype}");
    }
    // RFC 4034 6.2 as RFC 6840 5.1 corrects it.
    let folded: Vec<u16> = (0..=u16::MAX).filter(|&rtype| has_folded_names(rtype)).collect();
    let mut listed = vec![
        NS,
        MD,
        MF,
        CNAME,
        SOA,
        MB,
        MG,
        MR,
        PTR,
        MINFO,
        MX,
        RP,
        AFSDB,
        RT,
        SIG,
        PX,
        NXT,
        NAPTR,
        KX,
        SRV,
        DNAME,
        rtype::A6,
        RRSIG,
    ];
    listed.sort_unstable();
    assert_eq!(folded, listed);
}
