//! The service: datagrams are answered at once, AXFR over TCP by a stream of so many octets.

use net::{Driver, Item, Messages, Pull, Queries, Service, Transport};
use wire::iana::rtype;

/// One worker's.
pub struct Toy {
    /// Octets of the messages of a stream.
    pub octets: u64,
    /// Octets of a message but the last.
    pub message: usize,
}

impl Service for Toy {
    type Message = ();

    fn queries(&mut self, queries: &mut Queries<'_>, driver: &mut Driver<'_, ()>) {
        while let Some(item) = queries.next() {
            let is_transfer =
                item.context.transport == Transport::Tcp && qtype(item.query) == Some(rtype::AXFR);
            match is_transfer {
                true => self.stream(item, driver),
                false => echo(item),
            }
        }
    }
}

impl Toy {
    fn stream(&self, mut item: Item<'_>, driver: &mut Driver<'_, ()>) {
        let mut header = [0; 12];
        header.copy_from_slice(&item.query[..12]);
        header[2] |= 0x80;
        let stream = Stream { header, left: self.octets, message: self.message };
        // Refused: the client counts what is missing.
        let _ = item.stream(driver, Box::new(stream));
    }
}

/// The type asked for in the first question.
fn qtype(query: &[u8]) -> Option<u16> {
    let after = wire::record::skip_name(query, 12)?;
    Some(u16::from_be_bytes([*query.get(after)?, *query.get(after + 1)?]))
}

fn echo(item: Item<'_>) {
    let octets = item.query.len().min(item.room.len());
    item.room[..octets].copy_from_slice(&item.query[..octets]);
    if let Some(flags) = item.room[..octets].get_mut(2) {
        *flags |= 0x80;
    }
    item.answer(octets);
}

struct Stream {
    header: [u8; 12],
    left: u64,
    message: usize,
}

impl Messages for Stream {
    fn next(&mut self, room: &mut [u8]) -> Pull {
        let octets = self.message.min(self.left as usize);
        if octets == 0 {
            return Pull::End;
        }
        // As much is written as by one who copies records.
        room[..octets].fill(self.left as u8);
        let header = octets.min(self.header.len());
        room[..header].copy_from_slice(&self.header[..header]);
        self.left -= octets as u64;
        Pull::Message(octets)
    }
}
