//! Instructions an answer over many small zones with uniform names: `uniform ZONES QUERIES [forget]`.

mod common;

use auth::{Client, Responder, Server, Transport, inspect};
use common::{apex, name, pack};
use wire::iana::rtype;
use zone::Catalog;

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
