//! What is asked for that is no answer, carried out: transfers here, updates by the changer, notices by the thread of secondaries.

mod handed;

use std::net::SocketAddr;
use std::sync::Arc;

use auth::access::{Decision, Kind};
use auth::{Client, Request, Responder, Server};
use net::{Ahead, Driver, Item, Messages, RenderQueue};
use transfer::outgoing::{NoHistory, Transfer};
use wire::iana::{class, ede, rcode, rtype};
use wire::message::Message;
use wire::name::NAME_OCTETS_MAX;
use wire::render::Section;
use wire::{Name, SortKey};
use zone::CatalogView;
use zone::catalog::{Absence, Found, PinRefused};
use zone::change::soa_serial;

use crate::controller::Controller;
use crate::dynamic::{Dynamic, Said};
use crate::forward::Forwarder;
use crate::secondaries::{Notice, Secondaries};
use crate::sig0::{OVER_QUOTA, Verifier};
use crate::stores::Stores;
use crate::transfers::{Here, Transfers};

pub(crate) use handed::{Handed, Signer};

/// What a worker carries requests out with.
#[derive(Clone)]
pub struct Requests {
    transfers: Arc<Transfers>,
    dynamic: Arc<Dynamic>,
    verifier: Arc<Verifier>,
    forwarder: Arc<Forwarder>,
    secondaries: Arc<Secondaries>,
    stores: Arc<Stores>,
    renderer: RenderQueue,
}

/// What is said to a request that is not carried out: response code, extended error, and why, for the log.
#[derive(Clone, Copy)]
struct Refusal {
    rcode: u16,
    ede: Option<u16>,
    why: &'static str,
    /// Whether it is about a zone of ours.
    is_ours: bool,
}

/// A zone that may be sent.
struct Zone {
    found: Found,
    /// The serial that the client has; `None`: AXFR.
    from: Option<u32>,
}

impl Requests {
    pub(crate) fn new(controller: &Controller, renderer: RenderQueue) -> Requests {
        let Controller { transfers, dynamic, verifier, forwarder, secondaries, stores, .. } = controller;
        let (transfers, dynamic) = (Arc::clone(transfers), Arc::clone(dynamic));
        let (verifier, forwarder) = (Arc::clone(verifier), Arc::clone(forwarder));
        let (secondaries, stores) = (Arc::clone(secondaries), Arc::clone(stores));
        Requests { transfers, dynamic, verifier, forwarder, secondaries, stores, renderer }
    }

    /// Carries out what an item asks for, or says why not.
    #[cold]
    #[inline(never)]
    pub(crate) fn carry_out<M>(
        &self,
        item: Item<'_>,
        (zones, server): (&CatalogView<'_>, &Server),
        client: &Client<'_>,
        responder: &mut Responder,
        driver: &mut Driver<'_, M>,
    ) {
        if item.is_promised() {
            return;
        }
        match responder.request(item.query, server, client, item.room) {
            Err(octets) => item.answer(octets),
            Ok(request) if request.kind == Kind::Transfer => {
                self.transfer(item, &request, (zones, server), client, responder, driver);
            }
            Ok(request) if request.kind == Kind::Update => {
                self.update(item, &request, (zones, server), client, responder, driver);
            }
            Ok(request) if request.kind == Kind::Notify => {
                self.notice(item, &request, (zones, server), client, responder, driver);
            }
            Ok(_) => {
                let octets = responder.decline(item.query, server, client, item.room);
                item.answer(octets);
            }
        }
    }

    /// Hands an update on: to the primary of the zone, if that is wanted; else to the changer, which replies when it is durable, by way of the thread that
    /// verifies what is signed by SIG(0).
    fn update<M>(
        &self,
        item: Item<'_>,
        request: &Request<'_, '_>,
        (zones, server): (&CatalogView<'_>, &Server),
        client: &Client<'_>,
        responder: &mut Responder,
        driver: &mut Driver<'_, M>,
    ) {
        let found = let_in(request, Kind::Update, zones, server, client);
        let group = |found: &Found| zones.group_of(found.version().slot);
        let is_forwarded = found.as_ref().is_ok_and(|found| server.access.forwards_updates(group(found)));
        if let Some(rejected) = &request.unknown_key
            && !is_forwarded
        {
            let octets = responder.reject(&request.envelope, rejected, item.room, client.now);
            return item.answer(octets);
        }
        let let_in = found.map(drop);
        self.hand_on(item, request, client, (responder, driver), let_in, |handed| {
            match (is_forwarded, request.is_sig0) {
                (true, _) => self.forwarder.take(handed).map_err(|handed| (handed, Said::not_now())),
                (_, true) => self.verifier.take(handed).map_err(|handed| (handed, OVER_QUOTA)),
                _ => self.dynamic.request(handed).map_err(|handed| (handed, Said::not_now())),
            }
        });
    }

    /// Hands a NOTIFY to the thread of secondaries, which knows whether a primary of the zone sent it, and replies.
    fn notice<M>(
        &self,
        item: Item<'_>,
        request: &Request<'_, '_>,
        (zones, server): (&CatalogView<'_>, &Server),
        client: &Client<'_>,
        responder: &mut Responder,
        driver: &mut Driver<'_, M>,
    ) {
        let let_in = let_in(request, Kind::Notify, zones, server, client).map(drop);
        let is_let_in = let_in.is_ok();
        let may_be_primary = match let_in {
            // A primary of the zone may all the same.
            Err(refusal) if refusal.rcode == rcode::REFUSED => Ok(()),
            other => other,
        };
        let of_store = || Refusal {
            rcode: rcode::REFUSED,
            ede: Some(ede::PROHIBITED),
            why: "the zone is of a store",
            is_ours: true,
        };
        let may_be_primary = may_be_primary.and_then(|()| match self.stores.has(request.name()) {
            Some(true) => Err(of_store()),
            // Where it cannot be said at once the thread of secondaries says that it is none of these: a primary of others is not to hear that its NOTIFY came to nothing.
            Some(false) | None => Ok(()),
        });
        let may_be_primary = may_be_primary.and_then(|()| match self.secondaries.is_running() {
            true => Ok(()),
            false => Err(Refusal {
                rcode: rcode::NOTAUTH,
                ede: Some(ede::NOT_AUTHORITATIVE),
                why: "no zone is transferred from others",
                is_ours: true,
            }),
        });
        self.hand_on(item, request, client, (responder, driver), may_be_primary, |request| {
            let notice = self.secondaries.notice(Notice { request, is_let_in });
            notice.map_err(|notice| (notice.request, Said::not_now()))
        });
    }

    /// Hands a request that is let in on to a thread that replies; `to` gives it back where that takes no more, with what is said then.
    fn hand_on<M>(
        &self,
        mut item: Item<'_>,
        request: &Request<'_, '_>,
        client: &Client<'_>,
        (responder, driver): (&mut Responder, &mut Driver<'_, M>),
        let_in: Result<(), Refusal>,
        to: impl FnOnce(Box<Handed>) -> Result<(), (Box<Handed>, Said)>,
    ) {
        let is_proved = request.asker.is_proved || request.key.is_some();
        let ticket = let_in.and_then(|()| {
            let busy = |_| Refusal {
                rcode: rcode::SERVFAIL,
                ede: Some(ede::OTHER),
                why: "as many requests as may wait",
                is_ours: true,
            };
            item.later(driver, 0, is_proved).map_err(busy)
        });
        // A primary that hears nothing tells once more; one that hears SERVFAIL does not (RFC 1996 3.6 and 4.8).
        let comes_again = request.kind == Kind::Notify && !client.transport.is_stream();
        let ticket = match ticket {
            Ok(ticket) => ticket,
            Err(refusal) if comes_again && refusal.rcode == rcode::SERVFAIL => return item.answer(0),
            Err(refusal) => return refuse(item, request, &refusal, client, responder),
        };
        let address = client.address.ip();
        let handed = Handed {
            message: request.message.into(),
            client: SocketAddr::new(address, client.address.port()),
            network: driver.prefix_of(address),
            transport: client.transport,
            is_proved,
            is_sig0: request.is_sig0,
            signer: request.key.cloned().map(Signer::Shared),
            envelope: request.envelope.clone(),
            is_alone: false,
            proof: None,
            ticket,
        };
        if let Err((handed, said)) = to(Box::new(handed))
            && !comes_again
        {
            let write = |room: &mut [u8]| request.envelope.write(room, said.rcode, said.ede, client.now);
            // Its row is there; if the worker has no room for the reply the client hears nothing, and comes again.
            let _ = driver.reply(handed.ticket, write);
        }
    }

    fn transfer<M>(
        &self,
        mut item: Item<'_>,
        request: &Request<'_, '_>,
        (zones, server): (&CatalogView<'_>, &Server),
        client: &Client<'_>,
        responder: &mut Responder,
        driver: &mut Driver<'_, M>,
    ) {
        let begun = zone_of(request, zones, server, client)
            .and_then(|zone| self.begin(&zone, request, zones, client, driver, &mut item));
        let (rcode, octets) = match begun {
            Ok(None) => return responder.count_reply(rcode::NOERROR),
            Ok(Some(octets)) => (rcode::NOERROR, octets),
            Err(refusal) => {
                let Refusal { rcode, why, is_ours, .. } = refusal;
                if rcode != rcode::NOERROR {
                    self.transfers.refuse(request.name(), client.address.ip(), why, is_ours);
                }
                return refuse(item, request, &refusal, client, responder);
            }
        };
        responder.count_reply(rcode);
        item.answer(octets);
    }

    /// Begins a stream, or writes a datagram and says of how many octets.
    fn begin<M>(
        &self,
        zone: &Zone,
        request: &Request<'_, '_>,
        zones: &CatalogView<'_>,
        client: &Client<'_>,
        driver: &mut Driver<'_, M>,
        item: &mut Item<'_>,
    ) -> Result<Option<usize>, Refusal> {
        let ip = client.address.ip();
        let busy = |rcode, why| Refusal { rcode, ede: Some(ede::OTHER), why, is_ours: true };
        let pinned = zones.pin(&zone.found, driver.prefix_of(ip)).map_err(|refused| match refused {
            PinRefused::Client => busy(rcode::REFUSED, "as many transfers as a client network may have"),
            PinRefused::Full => busy(rcode::SERVFAIL, "as many transfers as there may be"),
            PinRefused::Absent(absence) => absent(absence),
            PinRefused::Nothing => busy(rcode::SERVFAIL, "the zone cannot be read"),
        })?;
        let (is_stream, envelope) = (client.transport.is_stream(), request.envelope.clone());
        let waits = zone.from.is_some() && !self.transfers.history.is_in_memory();
        // Anybody can pretend to be at an address over UDP.
        let is_known = is_stream || request.asker.is_proved || request.key.is_some();
        let transfer = match zone.from {
            _ if !is_known => Transfer::current(pinned, envelope),
            None => Transfer::axfr(pinned, envelope),
            Some(from) if waits && !is_stream => Transfer::ixfr(pinned, envelope, from, Arc::new(NoHistory)),
            Some(from) => Transfer::ixfr(pinned, envelope, from, Arc::clone(&self.transfers.history)),
        };
        let key = request.key.map(|key| key.name());
        let mut tracked = self
            .transfers
            .begin(transfer, request.name(), ip, key)
            .ok_or(busy(rcode::SERVFAIL, "as many transfers as a zone may have"))?;
        if !is_stream {
            return match tracked.datagram(item.room) {
                0 => Err(busy(rcode::SERVFAIL, "the zone cannot be read")),
                octets => Ok(Some(octets)),
            };
        }
        let messages: Box<dyn Messages> = match tracked.transfer.is_in_memory() && !waits {
            true => Box::new(Here(tracked)),
            false => {
                let ahead = self.renderer.ahead(tracked);
                Box::<Ahead>::new(
                    ahead.map_err(|_| busy(rcode::SERVFAIL, "as many transfers as there may be"))?,
                )
            }
        };
        let begun = item.stream(driver, messages);
        begun
            .map(|()| None)
            .map_err(|_| busy(rcode::REFUSED, "as many transfers as a connection or a worker may have"))
    }
}

/// Says that a request is not carried out, or that it is to come again over TCP.
fn refuse(
    item: Item<'_>,
    request: &Request<'_, '_>,
    refusal: &Refusal,
    client: &Client<'_>,
    responder: &mut Responder,
) {
    let Refusal { rcode, ede, .. } = *refusal;
    let flags = if rcode == rcode::NOERROR { wire::header::TC } else { 0 };
    let octets = request.envelope.write_with(item.room, (rcode, ede, flags), client.now, |_| true);
    responder.count_reply(rcode);
    item.answer(octets);
}

/// The zone that a request is about, once it is known that the client may ask for that.
fn let_in(
    request: &Request<'_, '_>,
    kind: Kind,
    zones: &CatalogView<'_>,
    server: &Server,
    client: &Client<'_>,
) -> Result<Found, Refusal> {
    let name = request.name();
    let refusal = |rcode, ede, why, is_ours| Refusal { rcode, ede, why, is_ours };
    let labels = name.label_count();
    let found = zones.find(&SortKey::of(name), labels).found;
    if found.is_nothing() || usize::from(found.labels) != labels {
        return Err(refusal(rcode::NOTAUTH, Some(ede::NOT_AUTHORITATIVE), "there is no such zone", false));
    }
    if !server.access.is_settled() {
        let why = "it is not known yet which access lists zones have";
        return Err(refusal(rcode::SERVFAIL, Some(ede::NOT_READY), why, true));
    }
    let group = zones.group_of(found.version().slot);
    match server.access.decide(kind, group, &request.asker) {
        Decision::Allowed => Ok(found),
        // It comes again over TCP, which proves its address. Of an update or a notice NOERROR says that it is done, whatever TC says.
        Decision::Unproved if kind == Kind::Transfer && !client.transport.is_stream() => {
            Err(refusal(rcode::NOERROR, None, "", true))
        }
        _ => {
            let why = match request.asker.key {
                Some(_) => "access lists do not let its address, with the key that signed it, in",
                None => "access lists do not let its address in, unsigned",
            };
            Err(refusal(rcode::REFUSED, Some(ede::PROHIBITED), why, true))
        }
    }
}

/// The zone that a transfer is of, once it is known that the client may have it.
fn zone_of(
    request: &Request<'_, '_>,
    zones: &CatalogView<'_>,
    server: &Server,
    client: &Client<'_>,
) -> Result<Zone, Refusal> {
    let found = let_in(request, Kind::Transfer, zones, server, client)?;
    let name = request.name();
    let refusal = |rcode, ede, why, is_ours| Refusal { rcode, ede, why, is_ours };
    let malformed = |why| refusal(rcode::FORMERR, None, why, true);
    if request.qclass != class::IN || request.is_unfit(client.transport) {
        return Err(malformed("a transfer in another class than IN, or an AXFR over UDP"));
    }
    let from = match request.qtype {
        rtype::IXFR => {
            let serial = serial_of(request, name);
            Some(serial.ok_or(malformed("an IXFR without the SOA record of the zone"))?)
        }
        _ => None,
    };
    Ok(Zone { found, from })
}

/// The serial of the version that an IXFR says the client has: that of the one SOA record in its authority section (RFC 1995 3).
fn serial_of(request: &Request<'_, '_>, zone: &Name) -> Option<u32> {
    let message = Message::read(request.message).ok()?;
    let mut serials = Vec::new();
    for record in message.records().ok()? {
        let record = record.ok()?;
        let mut owner = [0; NAME_OCTETS_MAX];
        if record.section == Section::Authority
            && record.view.rtype == rtype::SOA
            && record.view.class == class::IN
            && record.owner_name(&mut owner).ok()?.eq_ignore_case(zone)
        {
            // Its two names may be compressed; the numbers are its end.
            serials.push(soa_serial(record.view.rdata)?);
        }
    }
    match serials[..] {
        [serial] => Some(serial),
        _ => None,
    }
}

/// What is said of a zone without data.
fn absent(absence: Absence) -> Refusal {
    let (ede, why) = match absence {
        Absence::Expired => (ede::INVALID_DATA, "the zone has expired"),
        Absence::NotLoaded => (ede::NOT_READY, "the zone is not loaded"),
    };
    Refusal { rcode: rcode::SERVFAIL, ede: Some(ede), why, is_ours: true }
}
