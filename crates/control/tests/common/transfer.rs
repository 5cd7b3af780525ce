//! A toy of a transfer server: it answers AXFR over TCP with a stream over a pinned zone, rendered ahead or on the worker, and all else with the query
//! itself. What is said to be a message is one: header, then records with their names in full.

use net::{Ahead, Driver, Item, Messages, Pull, Queries, Render, RenderQueue, Rendered, Service, Transport};
use wire::iana::{class, rcode, rtype};
use wire::{Name, SortKey};
use zone::catalog::{PinRefused, PinnedZone};
use zone::{CatalogReader, Crawl, RRset};

/// A query of this type is one for AXFR whose source panics after some messages.
pub const PANICKING: u16 = 65_280;
/// How many.
pub const MESSAGES_BEFORE_PANIC: usize = 3;

/// Octets of a message: no pointer reaches further.
const MESSAGE_OCTETS: usize = 16 << 10;

/// One worker's.
pub struct Toy {
    zones: CatalogReader,
    /// Without one, messages are rendered on the worker.
    queue: Option<RenderQueue>,
}

impl Toy {
    pub fn new(zones: CatalogReader, queue: Option<RenderQueue>) -> Toy {
        Toy { zones, queue }
    }

    fn transfer(
        &self,
        mut item: Item<'_>,
        (apex, qtype): (&Name, u16),
        driver: &mut Driver<'_, std::convert::Infallible>,
    ) {
        let view = self.zones.view().expect("a batch has begun");
        let hit = view.find(&SortKey::of(apex), apex.label_count());
        let pinned = match view.pin(&hit.found, driver.prefix_of(item.context.client.ip())) {
            Ok(pinned) => pinned,
            Err(PinRefused::Client) => return say(item, rcode::REFUSED),
            Err(_) => return say(item, rcode::SERVFAIL),
        };
        let left = (qtype == PANICKING).then_some(MESSAGES_BEFORE_PANIC);
        let source = Transfer { zone: pinned, id: [item.query[0], item.query[1]], next: Next::First, left };
        let messages: Box<dyn Messages> = match &self.queue {
            None => Box::new(Here(source)),
            Some(queue) => match queue.ahead(source) {
                Ok(ahead) => Box::<Ahead>::new(ahead),
                Err(_) => return say(item, rcode::SERVFAIL),
            },
        };
        if item.stream(driver, messages).is_err() {
            say(item, rcode::SERVFAIL);
        }
    }
}

impl Service for Toy {
    type Message = std::convert::Infallible;

    fn queries(&mut self, queries: &mut Queries<'_>, driver: &mut Driver<'_, Self::Message>) {
        self.zones.begin();
        while let Some(item) = queries.next() {
            match asked(item.query) {
                Some((apex, qtype))
                    if item.context.transport == Transport::Tcp
                        && [rtype::AXFR, PANICKING].contains(&qtype) =>
                {
                    self.transfer(item, (apex, qtype), driver);
                }
                _ => say(item, rcode::NOERROR),
            }
        }
        self.zones.end();
    }
}

/// Name and type of the question.
fn asked(query: &[u8]) -> Option<(&Name, u16)> {
    let (name, rest) = Name::split_from(query.get(12..)?).ok()?;
    Some((name, u16::from_be_bytes(*rest.first_chunk()?)))
}

/// Answers with the query and a code.
fn say(item: Item<'_>, rcode: u16) {
    let octets = item.query.len().min(item.room.len());
    item.room[..octets].copy_from_slice(&item.query[..octets]);
    if let [_, _, flags, code, ..] = &mut item.room[..octets] {
        *flags |= 0x80;
        *code = rcode as u8;
    }
    item.answer(octets);
}

/// What comes next.
enum Next {
    /// The SOA record, with which a transfer begins.
    First,
    /// What is at a place of the zone.
    At(Crawl),
    /// The SOA record, with which it ends.
    Last,
    Nothing,
}

/// The messages of a transfer.
pub struct Transfer {
    zone: PinnedZone,
    id: [u8; 2],
    next: Next,
    /// Messages until it panics, if it does.
    left: Option<usize>,
}

impl Render for Transfer {
    fn render(&mut self, room: &mut [u8]) -> Rendered {
        if let Some(left) = &mut self.left {
            assert!(*left > 0, "asked to");
            *left -= 1;
        }
        let Some(view) = self.zone.view() else { return Rendered::Abort };
        let Some(soa) = view.apex_node().and_then(|apex| apex.rrset(rtype::SOA)) else {
            return Rendered::Abort;
        };
        let mut message = Message { room: &mut room[..MESSAGE_OCTETS], end: 12, records: 0 };
        loop {
            let mut owner = [0; 255];
            let (labels, set, after) = match &self.next {
                Next::First => (0, soa, Next::At(Crawl::default())),
                Next::At(crawl) => {
                    let mut crawl = *crawl;
                    match crawl.next(&view) {
                        Ok(Some(step)) if step.rrset.rtype() == rtype::SOA => {
                            self.next = Next::At(crawl);
                            continue;
                        }
                        Ok(Some(step)) => match step.owner.write_labels(&mut owner) {
                            Some(labels) => (labels, step.rrset, Next::At(crawl)),
                            None => return Rendered::Abort,
                        },
                        Ok(None) => {
                            self.next = Next::Last;
                            continue;
                        }
                        Err(_) => return Rendered::Abort,
                    }
                }
                Next::Last => (0, soa, Next::Nothing),
                Next::Nothing => break,
            };
            owner[labels..labels + view.apex().octets().len()].copy_from_slice(view.apex().octets());
            let Ok(owner) = Name::from_wire(&owner[..labels + view.apex().octets().len()]) else {
                return Rendered::Abort;
            };
            if !message.add(owner, view.apex(), &set) {
                break;
            }
            self.next = after;
        }
        match message.finish(self.id) {
            // An RRset larger than a message: none of these zones has one.
            12 if !matches!(self.next, Next::Nothing) => Rendered::Abort,
            12 => Rendered::End,
            octets => Rendered::Message(octets),
        }
    }
}

/// A message that is written.
struct Message<'r> {
    room: &'r mut [u8],
    end: usize,
    records: u16,
}

impl Message<'_> {
    /// Adds an RRset and its signatures, or nothing if they do not fit.
    fn add(&mut self, owner: &Name, apex: &Name, set: &RRset<'_>) -> bool {
        let (end, records) = (self.end, self.records);
        let rdata = set.rdata(owner, apex).unwrap_or_default();
        let signatures = set.signature_rdata();
        let records_of = rdata.iter().map(|rdata| (set.rtype(), rdata));
        for (rtype, rdata) in records_of.chain(signatures.iter().map(|rdata| (rtype::RRSIG, rdata))) {
            if !self.record(owner, (rtype, set.ttl()), rdata) {
                (self.end, self.records) = (end, records);
                return false;
            }
        }
        true
    }

    fn record(&mut self, owner: &Name, (rtype, ttl): (u16, u32), rdata: &[u8]) -> bool {
        let length = rdata.len() as u16;
        let head =
            [&rtype.to_be_bytes()[..], &class::IN.to_be_bytes(), &ttl.to_be_bytes(), &length.to_be_bytes()];
        for part in [owner.octets()].into_iter().chain(head).chain([rdata]) {
            let Some(room) = self.room.get_mut(self.end..self.end + part.len()) else { return false };
            room.copy_from_slice(part);
            self.end += part.len();
        }
        self.records += 1;
        true
    }

    fn finish(self, id: [u8; 2]) -> usize {
        self.room[..12].copy_from_slice(&[id[0], id[1], 0x84, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        self.room[6..8].copy_from_slice(&self.records.to_be_bytes());
        self.end
    }
}

/// The same rendered when it is pulled.
struct Here(Transfer);

impl Messages for Here {
    fn next(&mut self, room: &mut [u8]) -> Pull {
        match self.0.render(room) {
            Rendered::Message(octets) => Pull::Message(octets),
            Rendered::End => Pull::End,
            Rendered::Abort => Pull::Abort,
        }
    }
}
