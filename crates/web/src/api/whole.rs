//! What is told once all of it is there: how the server is, as it says that itself; its numbers, of which one may be asked for that there is not; what a search found, as the head says whether that is all; what leads back to a version, which
//! is sent again as it is told.

use ::api::frame::{Answer, Asked, Facts, Piece};
use ::api::json::write;
use hyper::header::{ETAG, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use wire::Name;

use super::body::Room;
use super::refusal::Refusal;
use super::reply::{Body, json_of};
use super::request::Asker;
use super::talk::answer;

/// Why a search ended before all was looked at.
const CUT: HeaderName = HeaderName::from_static("x-zonda-cut");

/// Tells the numbers of the server, or the one of a name.
pub(super) async fn numbers(from: &Asker<'_>, wanted: Option<&str>) -> Result<Response<Body>, Refusal> {
    let (mut numbers, mut text) = (write::Numbers::default(), Vec::new());
    pieces(from, &Asked::Facts(Facts::Numbers), |piece| {
        if let Piece::Numbers(run) = piece {
            let told = run.iter().filter(|number| wanted.is_none_or(|wanted| wanted == number.name));
            told.for_each(|number| numbers.number(&number, &mut text));
        }
        Ok(())
    })
    .await?;
    if wanted.is_some() && text.is_empty() {
        return Err(Refusal::new(422, "`statistic` is the name of no number that there is"));
    }
    numbers.end(&mut text);
    Ok(json_of(StatusCode::OK, text))
}

/// Tells versions of a zone, the newest ones first.
pub(super) async fn history(from: &Asker<'_>, zone: &Name) -> Result<Response<Body>, Refusal> {
    let (mut history, mut text) = (write::History::default(), Vec::new());
    let mut room = Room::take(&from.shared.bodies, from.who.octets(), 0)?;
    pieces(from, &Asked::History { zone, undo: None }, |piece| {
        if let Piece::Versions(versions) = piece {
            versions.iter().for_each(|version| history.version(&version, &mut text));
        }
        // Room is counted as it is taken.
        text.shrink_to_fit();
        room.grow(text.len())
    })
    .await?;
    history.end(&mut text);
    let mut response = json_of(StatusCode::OK, text);
    response.body_mut().keep_room(room);
    Ok(response)
}

/// Tells what leads back to a version of a zone: the body of a PATCH, and the tag of the version that it is for.
pub(super) async fn undo(from: &Asker<'_>, zone: &Name, serial: u32) -> Result<Response<Body>, Refusal> {
    let (mut sets, mut text, mut tag) = (write::Sets::wanted(), b"{\"rrsets\":".to_vec(), None);
    let mut room = Room::take(&from.shared.bodies, from.who.octets(), 0)?;
    pieces(from, &Asked::History { zone, undo: Some(serial) }, |piece| {
        match piece {
            Piece::Rows(rows) => tag = rows.iter().find_map(|row| row.tag),
            Piece::Sets(run) => run.iter().for_each(|set| sets.set(&set, &mut text)),
            _ => {}
        }
        // Room is counted as it is taken.
        text.shrink_to_fit();
        room.grow(text.len())
    })
    .await?;
    sets.end(&mut text);
    text.push(b'}');
    let mut response = json_of(StatusCode::OK, text);
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag.to_string()).ok()) {
        response.headers_mut().insert(ETAG, tag);
    }
    response.body_mut().keep_room(room);
    Ok(response)
}

/// Tells what the server has put into JSON itself.
pub(super) async fn json(from: &Asker<'_>, asked: &Asked<'_>) -> Result<Response<Body>, Refusal> {
    let mut text = Vec::new();
    let mut room = Room::take(&from.shared.bodies, from.who.octets(), 0)?;
    pieces(from, asked, |piece| {
        if let Piece::Json(parts) = piece {
            parts.iter().for_each(|part| text.extend_from_slice(part));
        }
        // Room is counted as it is taken.
        text.shrink_to_fit();
        room.grow(text.len())
    })
    .await?;
    let mut response = json_of(StatusCode::OK, text);
    response.body_mut().keep_room(room);
    Ok(response)
}

/// Tells the names of TSIG keys.
pub(super) async fn keys(from: &Asker<'_>) -> Result<Response<Body>, Refusal> {
    let (mut keys, mut text) = (write::Keys::default(), Vec::new());
    let mut room = Room::take(&from.shared.bodies, from.who.octets(), 0)?;
    pieces(from, &Asked::Facts(Facts::Keys), |piece| {
        if let Piece::Keys(names) = piece {
            names.iter().for_each(|name| keys.key(name, &mut text));
        }
        // Room is counted as it is taken.
        text.shrink_to_fit();
        room.grow(text.len())
    })
    .await?;
    keys.end(&mut text);
    let mut response = json_of(StatusCode::OK, text);
    response.body_mut().keep_room(room);
    Ok(response)
}

/// Tells what a search found.
pub(super) async fn search(from: &Asker<'_>, asked: &Asked<'_>) -> Result<Response<Body>, Refusal> {
    let (mut found, mut text) = (write::Found::default(), Vec::new());
    // What is small is bounded by the connections.
    let mut room = Room::take(&from.shared.bodies, from.who.octets(), 0)?;
    let cut = pieces(from, asked, |piece| {
        match piece {
            Piece::Rows(rows) => rows.iter().for_each(|row| found.zone(&row, &mut text)),
            Piece::Found(records) => records.iter().for_each(|record| found.records(&record, &mut text)),
            _ => {}
        }
        // Room is counted as it is taken.
        text.shrink_to_fit();
        room.grow(text.len())
    })
    .await?;
    found.end(&mut text);
    let mut response = json_of(StatusCode::OK, text);
    if let Some(Ok(why)) = cut.map(|why| HeaderValue::from_str(&why)) {
        response.headers_mut().insert(CUT, why);
    }
    response.body_mut().keep_room(room);
    Ok(response)
}

/// Asks, and has each piece of the answer taken. Says why it was cut off, if it was.
pub(super) async fn pieces(
    from: &Asker<'_>,
    asked: &Asked<'_>,
    mut take: impl FnMut(&Piece<'_>) -> Result<(), Refusal>,
) -> Result<Option<String>, Refusal> {
    let (mut answering, mut frame) = from.hear(asked).await?;
    loop {
        match answer(&frame) {
            Answer::Piece(piece) => take(&piece)?,
            Answer::Done(done) if done.status >= 400 => return Err(Refusal::of(&done)),
            Answer::Done(done) => return Ok(done.is_cut.then(|| done.words.to_owned())),
            Answer::More | Answer::Shown(_) => {}
        }
        answering.took_one();
        frame = answering.next().await.ok_or_else(Refusal::unknown)?;
    }
}
