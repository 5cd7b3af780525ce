//! RRsets that are to change: PATCH of a zone, POST of several zones' changes.

use ::api::frame::{
    Answer, Asked, Done, FAULT_SETS_NONE, Fault, Outcome, Piece, Sets, Zone, Zones, ZonesBuf,
};
use ::api::json::{self, FAULTS_MAX, read, write};
use ::api::path::id;
use hyper::body::{Body as HttpBody, Bytes};
use hyper::header::{ETAG, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use wire::Name;
use wire::iana::rtype;

use super::body::{BODY_OCTETS_MAX, DRY_OCTETS_MAX, Room, UNKNOWN_OCTETS_MAX, length, read as read_body};
use super::head;
use super::refusal::{Refusal, Undone};
use super::reply::{Body, json_of, nothing};
use super::request::Asker;
use super::talk::answer;

const OLD_SERIAL: HeaderName = HeaderName::from_static("x-pdns-old-serial");
const NEW_SERIAL: HeaderName = HeaderName::from_static("x-pdns-new-serial");

/// Has RRsets of a zone change, or says what would.
pub(super) async fn patch<B>(
    from: &Asker<'_>,
    zone: &Name,
    is_dry: bool,
    headers: &HeaderMap,
    body: B,
) -> Result<Response<Body>, Refusal>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let (condition, repeat) = (head::condition(headers)?, head::repeat(headers)?);
    // Until it is answered: what the body says waits for the server, then what that says for the client.
    let (body, mut room) = take(from, headers, body).await?;
    let sets = sets_of(from, &body, read::patch).await?;
    drop(body);
    room.grow_for_sets(sets.octets())?;
    let mut zones = ZonesBuf::default();
    zones.push(zone, condition, &sets);
    // They are in what is asked.
    drop(sets);
    let asking = Changing { zones: zones.zones(), is_dry, repeat, is_of_several: false };
    let heard = asking.hear(from, &mut room).await?;
    Ok(if is_dry { heard.reply_of_all(room) } else { heard.reply() })
}

/// Has RRsets of several zones change in one commit, or says what would.
pub(super) async fn changes<B>(
    from: &Asker<'_>,
    headers: &HeaderMap,
    body: B,
) -> Result<Response<Body>, Refusal>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    // Who writes it here must not have all done without.
    if head::condition(headers)?.is_some() {
        return Err(Refusal::new(422, "`If-Match`: `if-match` is a field of each zone here").and_end());
    }
    let repeat = head::repeat(headers)?;
    let (body, mut room) = take(from, headers, body).await?;
    let read::Changes { is_dry, zones } = sets_of(from, &body, read::changes).await?;
    drop(body);
    let zones = zones.zones();
    room.grow_for_sets(zones.octets().len())?;
    let heard = Changing { zones, is_dry, repeat, is_of_several: true }.hear(from, &mut room).await?;
    Ok(heard.reply_of_all(room))
}

/// The body of a request whose key is known, if it is a large one, and the room that it takes.
pub(super) async fn take<B>(
    from: &Asker<'_>,
    headers: &HeaderMap,
    body: B,
) -> Result<(Vec<u8>, Room), Refusal>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let length = length(headers)?;
    if length > UNKNOWN_OCTETS_MAX {
        from.expect_known().await.map_err(Refusal::and_end)?;
        from.complete();
    }
    let room = Room::take(&from.shared.bodies, from.who.octets(), length)?;
    let body = read_body(body, length).await?;
    // Before that it could be a stranger's, who sends slowly.
    from.complete();
    Ok((body, room))
}

/// What RRsets a body has. Of a stranger's there are no more than its connection has room for, whatever the length of the body: what is more is read again once the key is known.
pub(super) async fn sets_of<T>(
    from: &Asker<'_>,
    body: &[u8],
    read: impl Fn(&[u8], usize) -> Result<T, json::Refusal>,
) -> Result<T, Refusal> {
    if body.len() <= UNKNOWN_OCTETS_MAX {
        match read(body, UNKNOWN_OCTETS_MAX) {
            Err(refusal) if refusal.status == 413 => from.expect_known().await?,
            read => return Ok(read?),
        }
    }
    Ok(read(body, BODY_OCTETS_MAX)?)
}

/// What is to change.
#[derive(Clone, Copy)]
struct Changing<'z> {
    zones: Zones<'z>,
    is_dry: bool,
    /// By what it is known if it comes again.
    repeat: Option<&'z str>,
    /// Whether what became of each zone is told, though it may be one.
    is_of_several: bool,
}

/// What became of it.
#[derive(Default)]
struct Heard {
    serials: Option<(u32, u32)>,
    tag: Option<String>,
    faults: Vec<Faulty>,
    /// What became of each zone, or would.
    told: Vec<u8>,
}

/// What is wrong, with which zone.
struct Faulty {
    zone: usize,
    /// Whether it is about an RRset, which the words say.
    is_of_set: bool,
    words: String,
}

impl Changing<'_> {
    /// Asks, and hears all that the server says. The error: the change is not made.
    async fn hear(&self, from: &Asker<'_>, room: &mut Room) -> Result<Heard, Refusal> {
        let Changing { zones, is_dry, repeat, .. } = *self;
        let (mut answering, mut frame) = from.hear(&Asked::Change { repeat, is_dry, zones }).await?;
        let (mut heard, mut outcomes) = (Heard::default(), write::Outcomes::default());
        loop {
            match answer(&frame) {
                Answer::Piece(Piece::Outcomes(run)) => run.iter().for_each(|outcome: Outcome<'_>| {
                    heard.serials = Some((outcome.before, outcome.after));
                    heard.tag = outcome.tag.map(|tag| tag.to_string());
                    outcomes.outcome(&outcome, &mut heard.told);
                }),
                Answer::Piece(Piece::Sets(run)) => {
                    run.iter().for_each(|set| outcomes.set(&set, &mut heard.told))
                }
                Answer::Piece(Piece::Faults(run)) => {
                    let left = FAULTS_MAX.saturating_sub(heard.faults.len());
                    heard.faults.extend(run.iter().take(left).map(|fault| self.faulty(&fault)));
                }
                Answer::Done(done) if done.status >= 400 => return Err(self.refusal(&done, &heard.faults)),
                Answer::Done(_) => {
                    outcomes.end(&mut heard.told);
                    return Ok(heard);
                }
                Answer::Piece(_) | Answer::More | Answer::Shown(_) => {}
            }
            // What is done is told, whatever else is under way: of 256 zones it is bounded.
            if is_dry {
                if heard.told.len() > DRY_OCTETS_MAX {
                    return Err(Refusal::new(413, "too much would change to be shown"));
                }
                // Room is counted as it is taken.
                heard.told.shrink_to_fit();
                room.grow(zones.octets().len() + heard.told.len())?;
            }
            answering.took_one();
            frame = answering.next().await.ok_or_else(Refusal::unknown)?;
        }
    }

    fn faulty(&self, fault: &Fault<'_>) -> Faulty {
        let zone = usize::from(fault.zone);
        let sets = self.zones.iter().nth(zone).map(|zone| zone.sets).unwrap_or_default();
        let is_of_set = fault.set != FAULT_SETS_NONE;
        Faulty { zone, is_of_set, words: words_of(fault, sets) }
    }

    fn refusal(&self, done: &Done<'_>, faults: &[Faulty]) -> Refusal {
        let of_sets = |zone: Option<usize>| -> Vec<String> {
            let is_it = |fault: &&Faulty| fault.is_of_set && zone.is_none_or(|zone| fault.zone == zone);
            faults.iter().filter(is_it).map(|fault| fault.words.clone()).collect()
        };
        let refusal = Refusal::of(done).at(of_sets(None));
        // Of one it is known which; of several where the server says it.
        let is_one = self.zones.iter().nth(1).is_none() && !matches!(done.status, 401 | 429 | 500..);
        if !self.is_of_several || (faults.is_empty() && !is_one) {
            return refusal;
        }
        let undone = |(number, zone): (usize, Zone<'_>)| {
            let own = faults.iter().find(|fault| fault.zone == number);
            let status = if own.is_some() || is_one { done.status } else { DEPENDS };
            let words = own.filter(|fault| !fault.is_of_set).map(|fault| fault.words.clone());
            let words = words.unwrap_or_default();
            Undone { zone: zone.name.to_owned(), status, words, faults: of_sets(Some(number)) }
        };
        refusal.of_zones(self.zones.iter().enumerate().map(undone).collect())
    }
}

/// The status of a zone that is not changed as another one cannot be (RFC 4918 11.4).
const DEPENDS: u16 = 424;

impl Heard {
    /// That it is done, where it is one zone's.
    fn reply(self) -> Response<Body> {
        let mut response = nothing();
        let headers = response.headers_mut();
        if let Some((before, after)) = self.serials {
            headers.insert(OLD_SERIAL, before.into());
            headers.insert(NEW_SERIAL, after.into());
        }
        if let Some(tag) = self.tag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
            headers.insert(ETAG, tag);
        }
        response
    }

    /// What became of each zone, or would.
    fn reply_of_all(self, room: Room) -> Response<Body> {
        let mut response = json_of(StatusCode::OK, self.told);
        response.body_mut().keep_room(room);
        response
    }
}

/// What is wrong with an RRset, as what is wrong with bodies is told.
pub(super) fn words_of(fault: &Fault<'_>, sets: Sets<'_>) -> String {
    match sets.iter().nth(fault.set as usize) {
        Some(set) => {
            let mut name = Vec::new();
            id::put_name(set.owner, &mut name);
            format!("{} {}: {}", String::from_utf8_lossy(&name), rtype::Text(set.rtype), fault.words)
        }
        None => fault.words.to_owned(),
    }
}
