//! What is told piece by piece: zones, lists of them, texts. In memory there are pieces, 64 KiB each, and a part of what one became: whoever does not read has no more,
//! though eight records of a piece can become three megabytes.

use std::fmt;
use std::task::{Context, Poll};

use ::api::frame::{Answer, Piece, Row, Set};
use ::api::json::write;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{ETAG, HeaderValue};
use wire::Name;

use super::refusal::Refusal;
use super::reply::{Body, PART_OCTETS, TEXT, stream_of};
use super::talk::{Answering, answer};

/// An answer came to an end before it was told as a whole: so does the connection, or a client would take it for all.
#[derive(Debug)]
pub(super) struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cut off")
    }
}

impl std::error::Error for Cut {}

/// What an answer becomes.
#[derive(Clone)]
pub(super) enum Form {
    /// A list of zones, and whether it is a page.
    Rows(write::Rows, bool),
    /// A page that has not begun.
    Page,
    /// A zone, before its row, and whether its RRsets are told.
    Zone(bool),
    /// The same, of a page of its RRsets.
    SetsPage,
    /// The same behind it.
    Sets(write::Zone),
    /// A zone file.
    Text,
    /// An empty list, if there is such a zone.
    NothingOfZone,
}

impl Form {
    pub(super) fn rows() -> Form {
        Form::Rows(write::Rows::default(), false)
    }

    pub(super) fn page() -> Form {
        Form::Page
    }

    pub(super) fn zone(with_rrsets: bool) -> Form {
        Form::Zone(with_rrsets)
    }

    pub(super) fn sets_page() -> Form {
        Form::SetsPage
    }

    pub(super) fn text() -> Form {
        Form::Text
    }

    pub(super) fn nothing_of_zone() -> Form {
        Form::NothingOfZone
    }

    fn content_type(&self) -> Option<&'static str> {
        matches!(self, Form::Text).then_some(TEXT)
    }

    /// Begins what begins before the first piece.
    fn begin(self, out: &mut Vec<u8>) -> Form {
        match self {
            Form::Page => Form::Rows(write::Rows::page(out), true),
            other => other,
        }
    }

    /// Appends what a zone becomes; where there is no place for one that is nothing.
    fn row(mut self, row: &Row<'_>, out: &mut Vec<u8>) -> Form {
        match &mut self {
            Form::Rows(rows, _) => rows.row(row, out),
            Form::Zone(with_rrsets) => return Form::Sets(write::Zone::begin(row, *with_rrsets, out)),
            Form::SetsPage => return Form::Sets(write::Zone::begin_page(row, out)),
            _ => {}
        }
        self
    }

    /// The same of an RRset.
    fn set(mut self, set: &Set<'_>, out: &mut Vec<u8>) -> Form {
        match &mut self {
            Form::Sets(zone) => zone.set(set, out),
            Form::Text => {
                let line = |rdata: &[u8]| zonefile::print::line(set.owner, set.ttl, set.rtype, rdata, out);
                set.rdatas.iter().for_each(line);
            }
            _ => {}
        }
        self
    }

    /// The same of a name behind which the next page goes on.
    fn next(mut self, behind: &&Name, _: &mut Vec<u8>) -> Form {
        if let Form::Sets(zone) = &mut self {
            zone.goes_on(behind);
        }
        self
    }

    fn end(self, next: Option<::api::frame::Cursor>, out: &mut Vec<u8>) {
        match self {
            Form::Rows(rows, true) => rows.end_page(next, out),
            Form::Rows(rows, false) => rows.end(out),
            Form::Sets(zone) => zone.end(out),
            Form::NothingOfZone => out.extend_from_slice(b"[]"),
            Form::Page | Form::Zone(_) | Form::SetsPage | Form::Text => {}
        }
    }
}

/// An answer as it is printed, part by part.
struct Printing {
    /// `None`: all of it was.
    form: Option<Form>,
    /// A frame with the piece that is printed; `None`: the next one is to come.
    piece: Option<Box<[u8]>>,
    /// Rows or records of it that were printed, and octets of what the one behind them becomes.
    printed: usize,
    octets: usize,
    /// What was printed and not told yet.
    out: Vec<u8>,
}

impl Printing {
    fn new(form: Form) -> Printing {
        let mut out = Vec::new();
        Printing { form: Some(form.begin(&mut out)), piece: None, printed: 0, octets: 0, out }
    }

    /// Takes what came. The error: it is nothing that can be told.
    fn take(&mut self, frame: Box<[u8]>) -> Result<(), Cut> {
        match answer(&frame) {
            Answer::Piece(_) => (self.piece, self.printed, self.octets) = (Some(frame), 0, 0),
            Answer::Done(done) if done.status < 400 => {
                self.form.take().ok_or(Cut)?.end(done.next, &mut self.out);
            }
            _ => return Err(Cut),
        }
        Ok(())
    }

    /// The next part of what came, if there is more of it.
    fn part(&mut self) -> Option<Bytes> {
        if let Some(frame) = self.piece.take() {
            let is_whole = match answer(&frame) {
                Answer::Piece(Piece::Rows(rows)) => self.print(rows.iter(), Form::row),
                Answer::Piece(Piece::Sets(sets)) => {
                    self.print(sets.iter().flat_map(|set| set.one_by_one()), Form::set)
                }
                Answer::Piece(Piece::Next(names)) => self.print(names.iter(), Form::next),
                // Pieces of another kind become nothing.
                _ => true,
            };
            self.piece = (!is_whole).then_some(frame);
        }
        let part = std::mem::take(&mut self.out);
        (!part.is_empty()).then(|| part.into_boxed_slice().into())
    }

    /// Prints items from where it was left on. `false`: there is a part, and more behind it.
    fn print<T>(
        &mut self,
        items: impl Iterator<Item = T>,
        print: impl Fn(Form, &T, &mut Vec<u8>) -> Form,
    ) -> bool {
        for item in items.skip(self.printed) {
            let (Some(form), begin) = (self.form.clone(), self.out.len()) else { return true };
            let form = print(form, &item, &mut self.out);
            self.out.drain(begin..begin + self.octets);
            if self.out.len() > PART_OCTETS {
                // One record can become 380 KiB, which are not kept: it is printed once more, and what was told of it passed over.
                self.octets += PART_OCTETS - begin;
                self.out.truncate(PART_OCTETS);
                return false;
            }
            (self.form, self.printed, self.octets) = (Some(form), self.printed + 1, 0);
        }
        true
    }
}

/// What is being told.
pub(super) struct Stream {
    answering: Answering,
    printing: Printing,
    /// Whether a piece came that is to be acknowledged once it was told: the next one may come then.
    owes: bool,
}

/// Begins to tell an answer by the first that came of it. The error: why there is none.
pub(super) fn begin(answering: Answering, first: Box<[u8]>, form: Form) -> Result<Response<Body>, Refusal> {
    let tag = match answer(&first) {
        Answer::Done(done) if done.status >= 400 => return Err(Refusal::of(&done)),
        Answer::Piece(Piece::Rows(rows)) => rows.iter().next().and_then(|row: Row<'_>| row.tag),
        _ => None,
    };
    let (content_type, mut printing) = (form.content_type(), Printing::new(form));
    printing.take(first).map_err(|Cut| Refusal::unknown())?;
    let mut response = stream_of(content_type, Stream { answering, printing, owes: true });
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag.to_string()).ok()) {
        response.headers_mut().insert(ETAG, tag);
    }
    Ok(response)
}

impl Stream {
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        loop {
            if let Some(part) = self.printing.part() {
                return Poll::Ready(Some(Ok(part)));
            }
            if std::mem::take(&mut self.owes) {
                self.answering.took_one();
            }
            if self.printing.form.is_none() {
                return Poll::Ready(None);
            }
            let Poll::Ready(frame) = self.answering.poll_next(context) else { return Poll::Pending };
            if frame.ok_or(Cut).and_then(|frame| self.printing.take(frame)).is_err() {
                self.printing.form = None;
                return Poll::Ready(Some(Err(Cut)));
            }
            self.owes = true;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use ::api::frame::{Cursor, Done, Item, RowKind, Run, SetsBuf, Stands, What};
    use wire::iana::rtype;
    use wire::{Name, NameBuf};

    /// Has an answer of this piece printed; its parts.
    fn parts(form: Form, pieces: &[Piece<'_>]) -> Vec<Bytes> {
        let next = Some(Cursor { start: 1, slot: 2 });
        let done = Done { status: 200, retry_after: 0, is_cut: false, next, words: "" };
        let all = pieces.iter().map(|piece| Answer::Piece(*piece)).chain([Answer::Done(done)]);
        let (mut printing, mut parts) = (Printing::new(form), Vec::new());
        for said in all {
            let mut frame = Vec::new();
            assert!(said.write(7, &mut frame));
            printing.take(frame.into()).unwrap();
            parts.extend(std::iter::from_fn(|| printing.part()));
        }
        parts
    }

    fn name() -> NameBuf {
        "a.test.".parse().unwrap()
    }

    fn row(name: &Name) -> Row<'_> {
        Row {
            name,
            serial: 1,
            notified: 1,
            kind: RowKind::Native,
            stands: Stands::Served,
            is_signed: false,
            account: "",
            soa_edit: "",
            soa_edit_api: "",
            api_rectify: false,
            tag: None,
        }
    }

    /// A host with all ports of TCP (RFC 1035 3.4.2), and others beside it.
    fn sets() -> SetsBuf {
        let (mut sets, name) = (SetsBuf::default(), name());
        for host in 0..7 {
            sets.begin(&name, rtype::WKS, if host == 3 { What::Extend } else { What::Replace }, 60);
            sets.record(&[&[10, 0, 0, host, 6][..], &[0xff; 8192]].concat());
            sets.record(&[10, 0, 1, host, 6, 0x40]);
            sets.end();
        }
        sets
    }

    /// Whoever does not read has a part, though a record becomes six of them.
    #[test]
    fn long_records_are_told_in_parts() {
        let (name, sets) = (name(), sets());
        let mut rows = Vec::new();
        row(&name).write(&mut rows);
        let pieces = [Piece::Rows(Run::read(&rows).unwrap()), Piece::Sets(sets.sets())];
        let (mut whole, mut lines) = (Vec::new(), Vec::new());
        let mut zone = write::Zone::begin(&row(&name), true, &mut whole);
        for set in sets.sets().iter() {
            zone.set(&set, &mut whole);
            let line = |rdata: &[u8]| zonefile::print::line(&name, 60, set.rtype, rdata, &mut lines);
            set.rdatas.iter().for_each(line);
        }
        zone.end(&mut whole);
        for (form, whole) in [(Form::zone(true), whole), (Form::text(), lines)] {
            let parts = parts(form, &pieces);
            assert!(whole.len() > 2_500_000 && parts.concat() == whole);
            assert!(parts.iter().all(|part| part.len() <= PART_OCTETS));
            assert!(parts.len() <= whole.len() / PART_OCTETS + 3, "{}", parts.len());
        }
    }

    #[test]
    fn lists_are_told_in_parts() {
        let name = name();
        let mut octets = Vec::new();
        (0..1000).for_each(|_| row(&name).write(&mut octets));
        let (mut page, mut list) = (Vec::new(), Vec::new());
        let (mut rows_of_page, mut rows) = (write::Rows::page(&mut page), write::Rows::default());
        for _ in 0..1000 {
            rows_of_page.row(&row(&name), &mut page);
            rows.row(&row(&name), &mut list);
        }
        rows_of_page.end_page(Some(Cursor { start: 1, slot: 2 }), &mut page);
        rows.end(&mut list);
        for (form, whole) in [(Form::page(), page), (Form::rows(), list)] {
            let parts = parts(form, &[Piece::Rows(Run::read(&octets).unwrap())]);
            assert!(parts.concat() == whole && parts.len() > 2);
            assert!(parts.iter().all(|part| part.len() <= PART_OCTETS));
        }
    }
}
