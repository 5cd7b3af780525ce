//! POST of `explain`: which rules would be looked at if RRsets changed, and which decides.

use ::api::frame::{Answer, Asked, FAULT_SETS_NONE, Fault, Piece, Rule, Set, Sets, Zones};
use ::api::json::{FAULTS_MAX, read, write};
use hyper::body::{Body as HttpBody, Bytes};
use hyper::header::HeaderMap;
use hyper::{Response, StatusCode};

use super::body::DRY_OCTETS_MAX;
use super::change::{sets_of, take, words_of};
use super::head;
use super::refusal::Refusal;
use super::reply::{Body, json_of};
use super::request::Asker;
use super::talk::answer;

/// Says which rules would be looked at.
pub(super) async fn post<B>(from: &Asker<'_>, headers: &HeaderMap, body: B) -> Result<Response<Body>, Refusal>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    // Nothing is done, however often it is asked for.
    head::repeat(headers)?;
    let (body, mut room) = take(from, headers, body).await?;
    let zones = sets_of(from, &body, read::explain).await?;
    drop(body);
    let zones = zones.zones();
    room.grow_for_sets(zones.octets().len())?;
    let (mut answering, mut frame) = from.hear(&Asked::Explain(zones)).await?;
    let (mut telling, mut faults) = (Telling::new(all(zones)), Vec::new());
    loop {
        match answer(&frame) {
            Answer::Piece(Piece::Faults(run)) => {
                let sets_of = |fault: &Fault<'_>| sets(zones, fault.zone);
                // What is about a zone is said already.
                let told = run.iter().filter(|fault| fault.set != FAULT_SETS_NONE).take(FAULTS_MAX);
                faults.extend(told.map(|fault| words_of(&fault, sets_of(&fault))));
            }
            Answer::Piece(piece) => telling.take(&piece),
            Answer::Done(done) if done.status >= 400 => return Err(Refusal::of(&done).at(faults)),
            Answer::Done(_) => break,
            Answer::More | Answer::Shown(_) => {}
        }
        if telling.text.len() > DRY_OCTETS_MAX {
            return Err(Refusal::new(413, "too many rules are looked at to be told: ask about fewer RRsets"));
        }
        // Room is counted as it is taken.
        telling.text.shrink_to_fit();
        room.grow(zones.octets().len() + telling.text.len())?;
        answering.took_one();
        frame = answering.next().await.ok_or_else(Refusal::unknown)?;
    }
    let mut response = json_of(StatusCode::OK, telling.end());
    response.body_mut().keep_room(room);
    Ok(response)
}

/// RRsets of the zone of this number.
fn sets(zones: Zones<'_>, number: u16) -> Sets<'_> {
    zones.iter().nth(number.into()).map(|zone| zone.sets).unwrap_or_default()
}

/// Which zone of those that are asked about, and which RRset of it.
type At = (u16, u32);

/// What is told, as far as it came.
struct Telling<A> {
    /// The RRsets that are asked about, but for those whose rules have come.
    asked: A,
    /// The one whose rules come.
    at: Option<At>,
    explained: write::Explained,
    text: Vec<u8>,
}

impl<'z, A: Iterator<Item = (At, Set<'z>)>> Telling<A> {
    fn new(asked: A) -> Telling<A> {
        Telling { asked, at: None, explained: write::Explained::default(), text: Vec::new() }
    }

    fn take(&mut self, piece: &Piece<'_>) {
        match piece {
            Piece::Standings(zones) => {
                zones.iter().for_each(|zone| self.explained.zone(&zone, &mut self.text));
            }
            Piece::Rules(rules) => rules.iter().for_each(|rule| self.rule(&rule)),
            _ => {}
        }
    }

    fn rule(&mut self, rule: &Rule<'_>) {
        let at = (rule.zone, rule.set);
        if self.at != Some(at) {
            // They come in the order in which they are asked about.
            let Some((_, set)) = self.asked.find(|(other, _)| *other == at) else { return };
            self.explained.set(&set, rule.is_granted, &mut self.text);
            self.at = Some(at);
        }
        self.explained.rule(rule, &mut self.text);
    }

    fn end(mut self) -> Vec<u8> {
        self.explained.end(&mut self.text);
        self.text
    }
}

/// All RRsets of zones, each with where it stands.
fn all<'z>(zones: Zones<'z>) -> impl Iterator<Item = (At, Set<'z>)> {
    zones
        .iter()
        .zip(0..)
        .flat_map(|(zone, of)| zone.sets.iter().zip(0..).map(move |(set, at)| ((of, at), set)))
}
