//! Instructions an answer over many small zones with uniform names: `uniform ZONES QUERIES [forget]`.
use auth::{Client, Responder, Server, Transport, inspect};
use wire::NameBuf;
use wire::iana::rtype;
use zone::contents::SourcePosition;
use zone::{Catalog, ContentsBuilder, Pack, PackBuilder, TextStamp};
fn name(text: &str) -> Result<NameBuf, String> {
    text.parse().map_err(|error| format!("{text}: {error}"))
}

/// Zone number `at`, with one parent for all or one for each.
fn apex(at: usize, has_own_parent: bool) -> Result<NameBuf, String> {
    match has_own_parent {
        true => name(&format!("z{at}.p{at}.example")),
        false => name(&format!("z{at}.example")),
    }
}

/// A pack of small zones: SOA, NS and an address.
fn pack(apexes: &[NameBuf], seed: u64, serial: u32) -> Result<Pack, String> {
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

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let zones: usize = arguments[0].parse().map_err(|_| "zones")?;
    let count: usize = arguments[1].parse().map_err(|_| "count")?;
    let forget = arguments.len() > 2;
    let apexes = (0..zones).map(|at| apex(at, false)).collect::<Result<Vec<_>, _>>()?;
    let pack = pack(&apexes, 1, 1)?;
    let catalog = Catalog::new(1);
    inspect::serve(&catalog, pack);
    let mut reader = catalog.reader();
    reader.begin();
    let (mut responder, server, mut buffer) = (Responder::new(), Server::default(), vec![0; 1232]);
    let queries = (0..if forget { 64 } else { 50_000usize })
        .map(|at| {
            let prefix = ["ns.", "", "no."][at % 3];
            let name = name(&format!("{prefix}z{}.example", at * 7919 % zones))?;
            Ok(inspect::query(
                0,
                &name,
                [rtype::A, rtype::MX][at / 3 % 2],
                if at % 2 == 0 { Some((1232, at % 4 == 0)) } else { None },
            ))
        })
        .collect::<Result<Vec<_>, String>>()?;
    let mut octets = 0;
    for at in 0..count {
        let query = &queries[at % queries.len()];
        let view = reader.view().ok_or("a batch")?;
        octets += responder.answer(query, &view, &server, &Client::unknown(Transport::Udp), &mut buffer);
    }
    println!("{octets}");
    Ok(())
}
