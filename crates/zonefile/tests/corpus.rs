//! Every type with a presentation format: known text gives known octets, and prints back to the same.
#![allow(clippy::unwrap_used)]

use wire::{Name, NameBuf, iana::rtype, rdata::Names};
use zonefile::{print, rdata, records};

/// Type, RDATA as text, RDATA on the wire.
fn corpus() -> Vec<(u16, String, Vec<u8>)> {
    let lines = include_str!("corpus/types.txt").lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (text, hex) = line.split_once(" => ").unwrap_or((line.trim_end_matches(" =>"), ""));
            let mnemonic = text.split(' ').next().unwrap();
            let (pairs, _) = hex.as_bytes().as_chunks::<2>();
            let octet = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
            (
                rtype::from_text(mnemonic.as_bytes()).unwrap(),
                text.to_owned(),
                pairs.iter().map(octet).collect(),
            )
        })
        .collect()
}

/// The RDATA of the one record that `text` gives after owner and TTL.
#[track_caller]
fn rdata_of(text: &str) -> Vec<u8> {
    let records =
        records(&format!("a. 60 {text}\n"), Name::root()).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(records.len(), 1, "{text}");
    records[0].rdata.clone()
}

#[test]
fn text_gives_octets() {
    for (_, text, octets) in corpus() {
        assert_eq!(rdata_of(&text), octets, "{text}");
    }
}

#[test]
fn octets_pass_the_check() {
    for (rtype, text, octets) in corpus() {
        assert_eq!(rdata::check(rtype, &octets), Ok(()), "{text}");
    }
}

#[test]
fn generic_form_gives_the_same() {
    for (rtype, text, octets) in corpus() {
        let hex: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        let generic = format!("TYPE{rtype} \\# {} {hex}", octets.len());
        assert_eq!(rdata_of(&generic), octets, "{text}");
    }
}

#[test]
fn octets_print_to_the_same() {
    for (rtype, text, octets) in corpus() {
        let printed = print::rdata(rtype, &octets);
        let typed = format!("{} {printed}", rtype::Text(rtype));
        assert_eq!(rdata_of(&typed), octets, "{text} printed as {printed}");
        let is_generic = printed.starts_with("\\#");
        let has_form = rtype::mnemonic(rtype).is_some() && rtype != rtype::UNSPEC;
        assert_eq!(is_generic, !has_form, "{text} printed as {printed}");
    }
}

#[test]
fn shortened_or_lengthened_octets_fail_or_print_to_the_same() {
    for (rtype, text, octets) in corpus() {
        let lengthened = [&octets[..], b"\0"].concat();
        for changed in (0..octets.len()).map(|length| &octets[..length]).chain([&lengthened[..]]) {
            if rdata::check(rtype, changed).is_ok() {
                let printed = format!("{} {}", rtype::Text(rtype), print::rdata(rtype, changed));
                assert_eq!(rdata_of(&printed), changed, "{text} shortened");
            } else {
                assert!(print::rdata(rtype, changed).starts_with("\\# "), "{text} shortened");
            }
        }
    }
}

/// The corpus has every type of the registry, but for those without presentation format.
#[test]
fn corpus_is_complete() {
    let seen: Vec<u16> = corpus().iter().map(|entry| entry.0).collect();
    let without_form = [rtype::NULL, rtype::UINFO, rtype::UID, rtype::GID];
    for &(rtype, mnemonic) in rtype::ALL {
        let expected = !rtype::is_meta(rtype) && !without_form.contains(&rtype);
        assert!(!expected || seen.contains(&rtype), "{mnemonic} is missing");
    }
}

#[test]
fn names_in_rdata() {
    for (rtype, text, octets) in corpus() {
        let names: Vec<String> = Names::of(rtype, &octets)
            .map(|field| field.unwrap())
            .map(|field| Name::from_wire(&octets[field.at..field.end]).unwrap().to_string())
            .collect();
        // Each name of the text is found, in its order; an escaped one is not worth a parser here.
        let expected: Vec<NameBuf> = text
            .split(' ')
            .skip(1)
            .filter(|word| {
                word.ends_with('.') && !word.contains(['"', '\\']) && (*word != "." || names.len() == 1)
            })
            .map(|word| NameBuf::from_text(word).unwrap())
            .collect();
        if !text.contains("Action\\.domains") && !text.contains("\\#") {
            let expected: Vec<String> = expected.iter().map(|name| name.to_string()).collect();
            assert_eq!(names, expected, "{text}");
        }
    }
}

/// RFC 4034 6.2 as RFC 6840 5.1 corrects it, and RFC 3597 4.
#[test]
fn uses_of_names() {
    let lowered = [
        rtype::RP,
        rtype::AFSDB,
        rtype::RT,
        rtype::SIG,
        rtype::PX,
        rtype::NXT,
        rtype::NAPTR,
        rtype::KX,
        rtype::SRV,
        rtype::DNAME,
        rtype::A6,
        rtype::RRSIG,
    ];
    let compressible = [
        rtype::NS,
        rtype::MD,
        rtype::MF,
        rtype::CNAME,
        rtype::SOA,
        rtype::MB,
        rtype::MG,
        rtype::MR,
        rtype::PTR,
        rtype::MINFO,
        rtype::MX,
    ];
    for (rtype, text, octets) in corpus() {
        let compress = compressible.contains(&rtype);
        let fold = compress || lowered.contains(&rtype);
        for field in Names::of(rtype, &octets) {
            let uses = field.unwrap().uses;
            assert_eq!((uses.compress, uses.fold), (compress, fold), "{text}");
        }
    }
}
