//! How fast zones leave: messages of a whole zone of a million records, rendered one after another on one thread; by its processor time.
//!
//! `cargo run --release -p transfer --example outgoing_rate [RECORDS]`

use std::sync::Arc;

use transfer::outgoing::{LARGE_OCTETS, Next, Transfer};
use wire::envelope::{Envelope, Signer};
use wire::iana::rtype;
use wire::query::Query;
use wire::tsig::{Algorithm, Key, verify};
use wire::{Name, NameBuf, Places, SortKey};
use zone::catalog::ViewSource;
use zone::contents::SourcePosition;
use zone::{Catalog, Contents, ContentsBuilder, Pack, PackBuilder, TextStamp};

const NOW: u64 = 1_800_000_000;
const ROUNDS: usize = 5;

type Failed = Box<dyn std::error::Error>;

/// Four records a name: two NS, one A of its own server, one TXT elsewhere; or one A at names four labels deep.
fn contents(apex: &Name, records: usize, is_deep: bool) -> Result<Contents, Failed> {
    let mut builder = ContentsBuilder::new(apex);
    let mut push = |owner: &Name, rtype, rdata: &[u8]| {
        builder
            .push(owner, false, rtype, 3600, rdata, SourcePosition::default())
            .map_err(|_| "a record".to_owned())
    };
    let soa = [&[0; 2][..], &7u32.to_be_bytes(), &[0; 16]].concat();
    push(apex, rtype::SOA, &soa)?;
    push(apex, rtype::NS, "ns.elsewhere.".parse::<NameBuf>()?.octets())?;
    for number in 0..if is_deep { records } else { records / 4 } {
        let mixed = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
        let address = &(number as u32).to_be_bytes();
        if is_deep {
            let [a, b, c] = [number / 10_000, number / 100 % 100, number % 100];
            push(&format!("h{c}.r{b}.d{a}.{apex}").parse::<NameBuf>()?, rtype::A, address)?;
            continue;
        }
        let owner: NameBuf = format!("name{mixed:x}.{apex}").parse()?;
        let own: NameBuf = format!("ns1.{owner}").parse()?;
        let other: NameBuf = format!("ns{}.hoster.net.", number % 97).parse()?;
        push(&owner, rtype::NS, own.octets())?;
        push(&owner, rtype::NS, other.octets())?;
        push(&own, rtype::A, address)?;
        let text: NameBuf = format!("t{mixed:x}.{apex}").parse()?;
        push(&text, rtype::TXT, b"\x1ev=spf1 include:_spf.hoster.net")?;
    }
    Ok(builder.finish())
}

fn envelope(apex: &Name, key: Option<&Arc<Key>>) -> Result<Envelope, Failed> {
    let mut message =
        [&[7, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], apex.octets(), &rtype::AXFR.to_be_bytes(), &[0, 1]].concat();
    if let Some(key) = key {
        let octets = message.len();
        message.resize(octets + key.octets(), 0);
        let (octets, _) = key.sign(&mut message, octets, NOW).ok_or("a signature")?;
        message.truncate(octets);
    }
    let query = Query::read(&message, &mut Places::new()).ok_or("a query")?;
    let mut envelope = Envelope::of(&query, LARGE_OCTETS);
    if let Some(key) = key {
        let reply = verify(&message, &**key, NOW).map_err(|rejected| rejected.fault)?.reply.detached();
        envelope.signer = Some(Signer { key: Arc::clone(key), reply });
    }
    Ok(envelope)
}

/// Processor time of this thread so far: others may use the machine too.
fn processor_seconds() -> Result<f64, Failed> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = text.split_whitespace().next().ok_or("a time")?;
    Ok(nanoseconds.parse::<f64>()? / 1e9)
}

fn main() -> Result<(), Failed> {
    let records = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let apex: NameBuf = "example.".parse()?;
    let key = Arc::new(Key::new(&"key.".parse::<NameBuf>()?, Algorithm::HmacSha256, b"secret"));
    for (what, is_deep) in [("delegations", false), ("hosts", true)] {
        let mut builder = PackBuilder::new(7);
        builder.add_zone(&contents(&apex, records, is_deep)?, TextStamp::default()).map_err(|_| "a zone")?;
        let catalog = Catalog::new(5);
        let hold = catalog.add_pack(Arc::new(Pack::open(builder.finish().map_err(|_| "a pack")?)?));
        catalog.insert(&[(apex.clone(), ViewSource::Pack(hold.number(), 0))]);
        for key in [None, Some(&key)] {
            let mut best = f64::MAX;
            let mut sent = Default::default();
            for _ in 0..ROUNDS {
                let pinned = catalog.reader().with(|view| {
                    let found = view.find(&SortKey::of(&apex), apex.label_count()).found;
                    view.pin(&found, [192, 0, 2, 1].into())
                });
                let mut transfer = Transfer::axfr(pinned.map_err(|_| "a pin")?, envelope(&apex, key)?);
                let mut room = vec![0; LARGE_OCTETS];
                let start = processor_seconds()?;
                while let Next::Message(_) = transfer.next(&mut room, NOW) {}
                best = best.min(processor_seconds()? - start);
                sent = transfer.sent();
            }
            println!(
                "{what}, {}: {} records, {} octets, {} messages in {:.1} ms: {:.2} million records/s, {:.0} MB/s",
                if key.is_some() { "signed (hmac-sha256)" } else { "unsigned" },
                sent.records,
                sent.octets,
                sent.messages,
                best * 1e3,
                sent.records as f64 / best / 1e6,
                sent.octets as f64 / best / 1e6
            );
        }
    }
    Ok(())
}
