//! POST, PUT and DELETE of zones.

use ::api::frame::{Answer, Asked, Fault, Part, Piece};
use ::api::json::{FAULTS_MAX, read, write};
use hyper::body::{Body as HttpBody, Bytes};
use hyper::header::{HeaderMap, HeaderValue, LOCATION};
use hyper::{Response, StatusCode};
use wire::Name;

use super::change::{sets_of, take, words_of};
use super::head;
use super::refusal::{Refusal, done};
use super::reply::{Body, json_of, nothing};
use super::request::Asker;
use super::stream::{Form, begin};
use super::talk::answer;

/// Has a zone be made, and tells it.
pub(super) async fn post<B>(
    from: &Asker<'_>,
    with_rrsets: bool,
    headers: &HeaderMap,
    body: B,
) -> Result<Response<Body>, Refusal>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    expect_no_condition(headers)?;
    let repeat = head::repeat(headers)?;
    let (body, mut room) = take(from, headers, body).await?;
    let mut made = sets_of(from, &body, read::post).await?;
    drop(body);
    room.grow_for_sets(made.sets.octets())?;
    made.sets.shrink();
    let (zone, fields) = (&*made.zone, made.fields.fields());
    let asked = Asked::Make { zone, repeat, fields, sets: made.sets.sets() };
    let (mut answering, mut frame) = from.hear(&asked).await?;
    let (mut row, mut faults) = (Vec::new(), Vec::new());
    loop {
        match answer(&frame) {
            Answer::Piece(Piece::Rows(rows)) => {
                rows.iter().for_each(|told| write::Zone::begin(&told, false, &mut row).end(&mut row));
            }
            Answer::Piece(Piece::Faults(run)) => {
                let told = run.iter().take(FAULTS_MAX);
                faults.extend(told.map(|fault: Fault<'_>| words_of(&fault, made.sets.sets())));
            }
            Answer::Done(done) if done.status >= 400 => return Err(Refusal::of(&done).at(faults)),
            Answer::Done(_) => break,
            Answer::Piece(_) | Answer::More | Answer::Shown(_) => {}
        }
        answering.took_one();
        frame = answering.next().await.ok_or_else(Refusal::unknown)?;
    }
    drop((answering, frame, room));
    // It is made, whatever becomes of telling it: a key may make zones and not read, or there is no place to be told it now.
    let mut response = match whole(from, zone).await {
        Some(response) if with_rrsets => response,
        _ => json_of(StatusCode::OK, row),
    };
    *response.status_mut() = StatusCode::CREATED;
    let mut location = Vec::new();
    write::url(zone, &mut location);
    if let Ok(location) = HeaderValue::from_bytes(&location) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

/// The zone with its RRsets, if it can be told.
async fn whole(from: &Asker<'_>, zone: &Name) -> Option<Response<Body>> {
    let asked = Asked::Zone { zone, part: Part::All, with_dnssec: false };
    let (answering, frame) = from.hear(&asked).await.ok()?;
    begin(answering, frame, Form::zone(true)).ok()
}

/// Has fields of a zone be others.
pub(super) async fn put<B>(
    from: &Asker<'_>,
    zone: &Name,
    headers: &HeaderMap,
    body: B,
) -> Result<Response<Body>, Refusal>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let (repeat, condition) = (head::repeat(headers)?, head::condition(headers)?);
    let (body, _room) = take(from, headers, body).await?;
    let fields = read::put(&body)?;
    from.done(&Asked::Set { zone, repeat, condition, fields: fields.fields() }).await
}

/// Has a zone be removed.
pub(super) async fn delete(
    from: &Asker<'_>,
    zone: &Name,
    headers: &HeaderMap,
) -> Result<Response<Body>, Refusal> {
    let (repeat, condition) = (head::repeat(headers)?, head::condition(headers)?);
    from.done(&Asked::Drop { zone, repeat, condition }).await
}

impl Asker<'_> {
    /// Has something be done of which nothing is told but that.
    async fn done(&self, asked: &Asked<'_>) -> Result<Response<Body>, Refusal> {
        let (_answering, frame) = self.hear(asked).await?;
        done(&answer(&frame)).map(|_| nothing())
    }
}

/// Of a zone that there is not yet nobody has a version.
fn expect_no_condition(headers: &HeaderMap) -> Result<(), Refusal> {
    match head::condition(headers)?.is_some() {
        false => Ok(()),
        true => Err(Refusal::new(422, "`If-Match`: a zone that is made has no version before").and_end()),
    }
}
