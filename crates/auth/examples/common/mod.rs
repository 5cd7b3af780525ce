//! Packs of small zones, which several examples serve.

use wire::NameBuf;
use wire::iana::rtype;
use zone::contents::SourcePosition;
use zone::{ContentsBuilder, Pack, PackBuilder, TextStamp};

/// A name from its text.
pub fn name(text: &str) -> Result<NameBuf, String> {
    text.parse().map_err(|error| format!("{text}: {error}"))
}

/// Zone number `at`, with one parent for all or one for each.
pub fn apex(at: usize, has_own_parent: bool) -> Result<NameBuf, String> {
    match has_own_parent {
        true => name(&format!("z{at}.p{at}.example")),
        false => name(&format!("z{at}.example")),
    }
}

/// A pack of small zones: SOA, NS and an address.
pub fn pack(apexes: &[NameBuf], seed: u64, serial: u32) -> Result<Pack, String> {
    let mut builder = PackBuilder::new(seed);
    for apex in apexes {
        let mut contents = ContentsBuilder::new(apex);
        let mut server = b"\x02ns".to_vec();
        server.extend(apex.octets());
        let mut soa = [&server[..], &server[..]].concat();
        for number in [serial, 2, 3, 4, 5] {
            soa.extend(number.to_be_bytes());
        }
        let server = name(&format!("ns.{apex}"))?;
        let address = [192, 0, 2, serial as u8];
        for (owner, rtype, rdata) in
            [(apex, rtype::SOA, &soa[..]), (apex, rtype::NS, server.octets()), (&server, rtype::A, &address)]
        {
            let taken = contents.push(owner, false, rtype, 60, rdata, SourcePosition::default());
            taken.map_err(|refusal| format!("{owner}: {refusal:?}"))?;
        }
        let added = builder.add_zone(&contents.finish(), TextStamp::default());
        added.map_err(|_| format!("{apex} is not taken"))?;
    }
    Pack::open(builder.finish().map_err(|_| "the index is crowded")?).map_err(|error| error.to_string())
}
