//! PATCH of a zone: RRsets that are to change.

use ::api::frame::{Answer, Asked, Done, Fault, Outcome, Piece, Sets, ZonesBuf};
use ::api::json::{self, FAULTS_MAX, read, write};
use ::api::path::id;
use hyper::body::{Body as HttpBody, Bytes};
use hyper::header::{ETAG, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use wire::Name;
use wire::iana::rtype;

use super::body::{BODY_OCTETS_MAX, DRY_OCTETS_MAX, Room, UNKNOWN_OCTETS_MAX, length, read as read_body};
use super::head;
use super::refusal::Refusal;
use super::reply::{Body, json_of, nothing};
use super::request::Asker;
use super::talk::{Answering, answer};

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
    let condition = head::condition(headers)?;
    // Until it is answered: what the body says waits for the server, then what that says for the client.
    let (body, mut room) = take(from, headers, body).await?;
    let sets = sets_of(from, &body, read::patch).await?;
    drop(body);
    room.grow_for_sets(sets.octets())?;
    let mut zones = ZonesBuf::default();
    zones.push(zone, condition, &sets);
    // They are in what is asked.
    drop(sets);
    let zones = zones.zones();
    let sets = zones.iter().next().map(|zone| zone.sets).unwrap_or_default();
    let (answering, first) = from.hear(&Asked::Change { repeat: None, is_dry, zones }).await?;
    let heard = Heard::all(answering, first, sets, &mut room).await?;
    match is_dry {
        true => {
            let mut response = json_of(StatusCode::OK, heard.dry);
            response.body_mut().keep_room(room);
            Ok(response)
        }
        false => Ok(heard.reply()),
    }
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
    head::expect_no_repeat(headers)?;
    let length = length(headers)?;
    if length > UNKNOWN_OCTETS_MAX {
        from.expect_known().await.map_err(Refusal::and_end)?;
        from.complete();
    }
    let room = Room::take(&from.shared.bodies, from.key, length)?;
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

/// What became of a change.
#[derive(Default)]
struct Heard {
    serials: Option<(u32, u32)>,
    tag: Option<String>,
    faults: Vec<String>,
    /// What a dry run says.
    dry: Vec<u8>,
}

impl Heard {
    /// All that the server says. The error: the change is not made.
    async fn all(
        mut answering: Answering,
        first: Box<[u8]>,
        sets: Sets<'_>,
        room: &mut Room,
    ) -> Result<Heard, Refusal> {
        let (mut heard, mut outcomes, mut frame) = (Heard::default(), write::Outcomes::default(), first);
        loop {
            match answer(&frame) {
                Answer::Piece(Piece::Outcomes(run)) => run.iter().for_each(|outcome: Outcome<'_>| {
                    heard.serials = Some((outcome.before, outcome.after));
                    heard.tag = outcome.tag.map(|tag| tag.to_string());
                    outcomes.outcome(&outcome, &mut heard.dry);
                }),
                Answer::Piece(Piece::Sets(run)) => {
                    run.iter().for_each(|set| outcomes.set(&set, &mut heard.dry))
                }
                Answer::Piece(Piece::Faults(run)) => {
                    let left = FAULTS_MAX.saturating_sub(heard.faults.len());
                    heard.faults.extend(run.iter().take(left).map(|fault| words_of(&fault, sets)));
                }
                Answer::Done(done) => return heard.end(outcomes, &done),
                Answer::Piece(_) | Answer::More | Answer::Shown(_) => {}
            }
            if heard.dry.len() > DRY_OCTETS_MAX {
                return Err(Refusal::new(413, "too much would change to be shown"));
            }
            // Room is counted as it is taken.
            heard.dry.shrink_to_fit();
            room.grow(sets.octets().len() + heard.dry.len())?;
            answering.took_one();
            frame = answering.next().await.ok_or_else(Refusal::unknown)?;
        }
    }

    fn end(mut self, outcomes: write::Outcomes, done: &Done<'_>) -> Result<Heard, Refusal> {
        if done.status >= 400 {
            return Err(Refusal::of(done).at(self.faults));
        }
        outcomes.end(&mut self.dry);
        Ok(self)
    }

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
