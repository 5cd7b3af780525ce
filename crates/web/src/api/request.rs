//! A request to its reply.

use std::rc::Rc;
use std::time::Duration;

use ::api::frame::{Ask, Asked, Part, Who};
use ::api::json::write;
use ::api::openapi;
use ::api::path::{Request, Wanted};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::{Request as HttpRequest, Response, StatusCode};
use tokio::time::timeout;

use super::refusal::{Refusal, done};
use super::reply::{Body, json_of, json_of_program};
use super::session::Way;
use super::stream::{Form, begin};
use super::talk::{Answering, answer as read_answer};
use super::{Shared, change, explain, head, make, session, whole};
use crate::door::Seat;

/// How long the server may take until it says anything: clients wait 5 to 30 s.
const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// The version of the program.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// Answers a request of a connection. `is_last`: there is to be none after it.
pub(super) async fn answer<B>(
    request: HttpRequest<B>,
    seat: &Rc<Seat>,
    shared: &Rc<Shared>,
    (way, is_last): (Way, bool),
) -> Response<Body>
where
    B: hyper::body::Body<Data = hyper::body::Bytes> + Unpin,
{
    let reply = carry_out(request, seat, shared, way).await;
    let mut response = reply.unwrap_or_else(Refusal::response);
    shared.files.iter().for_each(|files| files.note(&mut response));
    if is_last {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    // Until it is told as a whole its connection is in use.
    response.body_mut().keep(Told(Rc::clone(seat)));
    response
}

/// While this is there a reply is being told.
pub(super) struct Told(Rc<Seat>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.idle();
    }
}

async fn carry_out<B>(
    request: HttpRequest<B>,
    seat: &Seat,
    shared: &Rc<Shared>,
    way: Way,
) -> Result<Response<Body>, Refusal>
where
    B: hyper::body::Body<Data = hyper::body::Bytes> + Unpin,
{
    let (parts, body) = request.into_parts();
    let head_of = HttpRequest::from_parts(parts, ());
    head::expect_host(&head_of, &shared.names())?;
    if let Some(reply) = shared.files.as_ref().and_then(|files| files.answer(&head_of)) {
        seat.complete(false);
        return Ok(reply);
    }
    let (asked, bearer) = head::read(&head_of, way)?;
    let from = Asker { shared, who: bearer.who(), way, seat };
    let headers = head_of.headers();
    match &asked {
        Request::Change { zone, is_dry } => return change::patch(&from, zone, *is_dry, headers, body).await,
        Request::Changes => return change::changes(&from, headers, body).await,
        Request::Make { with_rrsets } => return make::post(&from, *with_rrsets, headers, body).await,
        Request::Set(zone) => return make::put(&from, zone, headers, body).await,
        Request::Explain => return explain::post(&from, headers, body).await,
        _ => {}
    }
    if !body.is_end_stream() {
        return Err(Refusal::new(413, "expected no body").and_end());
    }
    from.complete();
    match &asked {
        Request::Versions => from.who(write::versions).await,
        Request::Servers => from.who(|out| write::servers(PROGRAM, out)).await,
        Request::Server => from.who(|out| write::server(PROGRAM, out)).await,
        Request::Empty(list) => from.who(|out| write::empty(*list, out)).await,
        Request::Flush => from.who(write::flushed).await,
        Request::OpenApi => from.expect_known().await.map(|()| json_of_program(openapi::TEXT)),
        Request::EmptyOf(zone) => {
            let asked = Asked::Zone { zone, part: Part::Row, with_dnssec: false };
            from.tell(&asked, Form::nothing_of_zone()).await
        }
        Request::Zones(name) => {
            let asked =
                Asked::List { name: name.as_deref(), account: None, stands: None, after: None, limit: 0 };
            from.tell(&asked, Form::rows()).await
        }
        Request::Rows { account, stands, after, limit } => {
            let (account, stands, after, limit) = (account.as_deref(), *stands, *after, *limit);
            let asked = Asked::List { name: None, account, stands, after, limit };
            from.tell(&asked, Form::page()).await
        }
        Request::Zone { zone, wanted, with_dnssec } => {
            let asked = Asked::Zone { zone, part: wanted.part(), with_dnssec: *with_dnssec };
            let form = match wanted {
                Wanted::Page(..) => Form::sets_page(),
                wanted => Form::zone(*wanted != Wanted::Row),
            };
            from.tell(&asked, form).await
        }
        Request::Export(zone) => {
            let asked = Asked::Zone { zone, part: Part::All, with_dnssec: true };
            from.tell(&asked, Form::text()).await
        }
        Request::Keys => whole::keys(&from).await,
        Request::History(zone) => whole::history(&from, zone).await,
        Request::Undo(zone, serial) => whole::undo(&from, zone, *serial).await,
        Request::Numbers(wanted) => whole::numbers(&from, wanted.as_deref()).await,
        Request::Search { pattern, objects, limit } => {
            whole::search(&from, &Asked::Search { pattern, objects: *objects, limit: *limit }).await
        }
        Request::View(viewed) => whole::json(&from, &Asked::View(viewed.view())).await,
        Request::SignIn => session::sign_in(&from, &head_of).await,
        Request::Session => session::tell(&from).await,
        Request::SignOut => session::sign_out(&from, &head_of).await,
        Request::Drop(zone) => make::delete(&from, zone, headers).await,
        Request::Act(zone, act) => {
            let frame = from.hear(&Asked::Act { zone, act: *act }).await?.1;
            let done = done(&read_answer(&frame))?;
            let mut text = Vec::new();
            write::acted(done.words, &mut text);
            Ok(json_of(StatusCode::OK, text))
        }
        // Those with a body, which were carried out above.
        Request::Change { .. }
        | Request::Changes
        | Request::Make { .. }
        | Request::Set(_)
        | Request::Explain => Err(Refusal::unknown()),
    }
}

/// Who asks.
pub(super) struct Asker<'r> {
    pub(super) shared: &'r Rc<Shared>,
    pub(super) who: Who<'r>,
    pub(super) way: Way,
    seat: &'r Seat,
}

impl Asker<'_> {
    /// All of the request is there, or so much that it is known who asks: nobody else takes the place of its connection.
    pub(super) fn complete(&self) {
        self.seat.complete(false);
    }

    /// Asks, and waits for the first that the server says.
    pub(super) async fn hear(&self, asked: &Asked<'_>) -> Result<(Answering, Box<[u8]>), Refusal> {
        let ask = Ask { who: self.who, address: self.seat.client, asked: *asked };
        let answering = self.shared.talk.ask(&ask);
        let mut answering = answering.ok_or_else(|| Refusal::new(413, "too much for one request"))?;
        match timeout(ANSWER_WAIT, answering.next()).await {
            Ok(Some(frame)) => Ok((answering, frame)),
            _ => Err(Refusal::unknown()),
        }
    }

    /// What is told to any key.
    async fn who(&self, print: impl FnOnce(&mut Vec<u8>)) -> Result<Response<Body>, Refusal> {
        self.expect_known().await?;
        let mut text = Vec::new();
        print(&mut text);
        Ok(json_of(StatusCode::OK, text))
    }

    /// The error: it is no key.
    pub(super) async fn expect_known(&self) -> Result<(), Refusal> {
        let (mut answering, mut frame) = self.hear(&Asked::Who).await?;
        // Which verbs it has, then the end.
        while let ::api::frame::Answer::Piece(_) = read_answer(&frame) {
            frame = answering.next().await.ok_or_else(Refusal::unknown)?;
        }
        done(&read_answer(&frame)).map(drop)
    }

    async fn tell(&self, asked: &Asked<'_>, form: Form) -> Result<Response<Body>, Refusal> {
        let (answering, frame) = self.hear(asked).await?;
        begin(answering, frame, form)
    }
}
