//! A zone, piece by piece: its row, then its RRsets, the SOA record first and the others in canonical order.

use std::collections::VecDeque;

use api::frame::{
    Answer, Item, PAGE_SETS_MAX, Piece, REST_OCTETS_MAX, Row, RowKind, Run, SetsBuf, Stands, What,
};
use api::tag::Tag;
use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::sort_key::{KEY_OCTETS_MAX, write_labels};
use wire::{Name, NameBuf, SortKey};
use zone::catalog::PinnedZone;
use zone::lookup::Damaged;
use zone::{Crawl, RRset, ZoneView};

use super::look::Pinned;
use crate::made::MadeZone;

/// Octets of a piece, but for one record that is larger.
const PIECE_OCTETS: usize = 64 << 10;

/// RRsets that are looked at for one piece, at the most: of those that are left out nothing is told, and others wait meanwhile.
const SETS_A_PIECE: usize = 1024;

/// Octets of RDATA behind which a page ends, and names that are looked at for one: it is put together at once, while others wait, and names that have
/// nothing but signatures and denials are none of it.
const PAGE_OCTETS: usize = 256 << 10;
const PAGE_NAMES_MAX: usize = 4_096;

/// How much of a zone is told.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    /// Its row.
    Row,
    /// All.
    All,
    /// Its row, and the RRsets of a name, or that of a type.
    Owner(NameBuf, Option<u16>),
    /// Its row, and so many RRsets about behind a name, or from the first on.
    Page(Option<NameBuf>, u32),
}

/// See the module.
pub(super) struct Reading {
    zone: PinnedZone,
    wanted: Wanted,
    with_dnssec: bool,
    crawl: Crawl,
    is_crawled: bool,
    frames: Frames,
}

/// What comes next.
pub(super) enum Next {
    /// A frame.
    Piece(Vec<u8>),
    /// It is not ready yet: once more.
    Later,
    /// That was all.
    End,
    /// The zone cannot be read any more.
    Cut,
}

impl Reading {
    /// Begins with the row of a zone. The error: it cannot be read, and is to be let go.
    pub(super) fn new(
        ask: u32,
        pinned: Pinned,
        (wanted, with_dnssec): (Wanted, bool),
        tag: impl FnOnce(u32) -> Tag,
    ) -> Result<Reading, PinnedZone> {
        let Pinned { zone, is_secondary, made } = pinned;
        let Some(view) = zone.view() else { return Err(zone) };
        let (name, serial, is_signed) = (view.apex().to_owned(), view.row().serial, view.is_signed());
        let row = row(&name, serial, (is_secondary, is_signed), made.as_ref(), Some(tag(serial)));
        let mut reading = Reading {
            zone,
            wanted,
            with_dnssec,
            crawl: Crawl::default(),
            is_crawled: false,
            frames: Frames::new(ask),
        };
        reading.frames.row(&row);
        if reading.begin().is_err() {
            return Err(reading.zone);
        }
        Ok(reading)
    }

    /// The zone, to be let go.
    pub(super) fn into_zone(self) -> PinnedZone {
        self.zone
    }

    /// Puts together what is told at once: the SOA record of a whole zone, the RRsets of a name.
    fn begin(&mut self) -> Result<(), Damaged> {
        match std::mem::replace(&mut self.wanted, Wanted::Row) {
            Wanted::Row => self.is_crawled = true,
            Wanted::All => {
                let mut found = Vec::new();
                {
                    let view = self.zone.view().ok_or(Damaged)?;
                    let soa = view.find(&[]).and_then(|apex| apex.rrset(rtype::SOA)).ok_or(Damaged)?;
                    // Its signatures come in their turn.
                    self.gather(&view, view.apex(), (&soa, false), &mut found)?;
                }
                self.frames.put_all(found);
                self.wanted = Wanted::All;
            }
            Wanted::Owner(owner, wanted) => {
                let mut found = Vec::new();
                if let Some(view) = self.zone.view() {
                    let key = SortKey::of(&owner);
                    let node = key.octets().strip_prefix(view.apex_key()).and_then(|key| view.find(key));
                    for rrset in node.iter().flat_map(zone::Node::rrsets) {
                        if wanted.is_none_or(|wanted| wanted == rrset.rtype()) {
                            self.gather(&view, &owner, (&rrset, self.with_dnssec), &mut found)?;
                        }
                    }
                }
                self.frames.put_all(found);
                self.is_crawled = true;
            }
            Wanted::Page(after, limit) => {
                let (mut found, mut next) = (Vec::new(), None);
                if let Some(view) = self.zone.view() {
                    next = self.gather_page(&view, after.as_deref(), limit, &mut found)?;
                }
                self.frames.put_all(found);
                if let Some(next) = next {
                    self.frames.next(&next);
                }
                self.is_crawled = true;
            }
        }
        Ok(())
    }

    /// Adds the RRsets of names behind one, in canonical order, until there are as many as are wanted: a name is told as a whole. Returns the last name that
    /// was looked at, where there are more.
    fn gather_page(
        &self,
        view: &ZoneView<'_>,
        after: Option<&Name>,
        limit: u32,
        found: &mut Vec<Found>,
    ) -> Result<Option<NameBuf>, Damaged> {
        let after = after.map(SortKey::of);
        let relative = after.as_ref().map_or(Some(&[][..]), |key| key.octets().strip_prefix(view.apex_key()));
        // Behind a name that is not in the zone there is nothing of it.
        let Some(relative) = relative else { return Ok(None) };
        let limit = limit.clamp(1, PAGE_SETS_MAX) as usize;
        let (mut key, mut labels) = ([0; KEY_OCTETS_MAX], [0; NAME_OCTETS_MAX]);
        let (mut octets, mut names, mut last) = (0, 0, None);
        for node in view.cursor(relative) {
            let length = node.copy_key(&mut key);
            if after.is_some() && key[..length] == *relative {
                continue;
            }
            if found.len() >= limit || octets >= PAGE_OCTETS || names == PAGE_NAMES_MAX {
                return Ok(last);
            }
            let length = write_labels(&key[..length], &mut labels).ok_or(Damaged)?;
            let wire = [&labels[..length], view.apex().octets()].concat();
            let owner = Name::from_wire(&wire).map_err(|_| Damaged)?;
            let before = found.len();
            for rrset in node.rrsets() {
                self.gather(view, owner, (&rrset, self.with_dnssec), found)?;
            }
            octets += found[before..].iter().flat_map(|set| &set.rdatas).map(Vec::len).sum::<usize>();
            names += 1;
            last = Some(owner.to_owned());
        }
        Ok(None)
    }

    /// Goes on. What was read of a zone whose pack was written into meanwhile is not told.
    pub(super) fn next(&mut self) -> Next {
        if let Some(frame) = self.frames.ready.pop_front() {
            return Next::Piece(frame);
        }
        if !self.is_crawled {
            return match self.crawl_on() {
                Ok(()) if self.zone.view().is_some() => {
                    self.frames.ready.pop_front().map_or(Next::Later, Next::Piece)
                }
                _ => Next::Cut,
            };
        }
        self.frames.finish();
        self.frames.ready.pop_front().map_or(Next::End, Next::Piece)
    }

    fn crawl_on(&mut self) -> Result<(), Damaged> {
        let mut labels = [0; NAME_OCTETS_MAX];
        for _ in 0..SETS_A_PIECE {
            if !self.frames.ready.is_empty() {
                return Ok(());
            }
            let mut found = Vec::new();
            {
                let view = self.zone.view().ok_or(Damaged)?;
                let mut crawl = self.crawl;
                let Some(step) = crawl.next(&view)? else {
                    self.is_crawled = true;
                    return Ok(());
                };
                let octets = step.owner.write_labels(&mut labels).ok_or(Damaged)?;
                let wire = [&labels[..octets], view.apex().octets()].concat();
                let owner = Name::from_wire(&wire).map_err(|_| Damaged)?;
                // That came first.
                if !(octets == 0 && step.rrset.rtype() == rtype::SOA) {
                    self.gather(&view, owner, (&step.rrset, self.with_dnssec), &mut found)?;
                } else if self.with_dnssec {
                    gather_signatures(owner, &step.rrset, &mut found);
                }
                self.crawl = crawl;
            }
            self.frames.put_all(found);
        }
        Ok(())
    }

    /// Adds an RRset, with its signatures or without.
    fn gather(
        &self,
        view: &ZoneView<'_>,
        owner: &Name,
        (rrset, with_signatures): (&RRset<'_>, bool),
        found: &mut Vec<Found>,
    ) -> Result<(), Damaged> {
        if !self.with_dnssec && matches!(rrset.rtype(), rtype::RRSIG | rtype::NSEC | rtype::NSEC3) {
            return Ok(());
        }
        let rdatas = rrset.rdata(owner, view.apex()).ok_or(Damaged)?;
        found.push(Found { owner: owner.to_owned(), rtype: rrset.rtype(), ttl: rrset.ttl(), rdatas });
        if with_signatures {
            gather_signatures(owner, rrset, found);
        }
        Ok(())
    }
}

/// A row and RRsets on their way into frames: what has no room in one goes on in the next.
pub(super) struct Frames {
    /// The number of the ask.
    ask: u32,
    /// Those that are whole.
    pub(super) ready: VecDeque<Vec<u8>>,
    /// What is being put together.
    sets: SetsBuf,
}

impl Frames {
    pub(super) fn new(ask: u32) -> Frames {
        Frames { ask, ready: VecDeque::new(), sets: SetsBuf::default() }
    }

    /// Adds the row, before all RRsets.
    pub(super) fn row(&mut self, row: &Row<'_>) {
        let mut octets = Vec::new();
        row.write(&mut octets);
        self.ready.extend(rows_frame(self.ask, &octets));
    }

    pub(super) fn put_all(&mut self, found: Vec<Found>) {
        for set in found {
            self.put(&set);
        }
    }

    /// Adds an RRset; one without records is deleted.
    fn put(&mut self, set: &Found) {
        let (mut what, mut is_open) = (What::Replace, false);
        if set.rdatas.is_empty() {
            self.make_room(set.owner.octets().len() + SET_HEAD_OCTETS);
            self.sets.begin(&set.owner, set.rtype, What::Delete, 0);
        }
        for rdata in &set.rdatas {
            if self.make_room(set.owner.octets().len() + SET_HEAD_OCTETS + rdata.len()) {
                is_open = false;
            }
            if !is_open {
                self.sets.begin(&set.owner, set.rtype, what, set.ttl);
                (what, is_open) = (What::Extend, true);
            }
            self.sets.record(rdata);
        }
        self.sets.end();
    }

    /// Sees to it that there is room for so many octets; says whether a frame had to end.
    fn make_room(&mut self, octets: usize) -> bool {
        let is_full = self.sets.octets() > 0 && self.sets.octets() + octets > PIECE_OCTETS;
        if is_full {
            self.finish();
        }
        is_full
    }

    /// Says behind which name the next page goes on.
    fn next(&mut self, behind: &Name) {
        self.finish();
        self.ready.extend(Run::read(behind.octets()).and_then(|names| frame(self.ask, Piece::Next(names))));
    }

    /// Ends the frame that has begun, if there is one.
    pub(super) fn finish(&mut self) {
        let mut sets = std::mem::take(&mut self.sets);
        sets.end();
        if sets.octets() > 0 {
            self.ready.extend(sets_frame(self.ask, &sets));
        }
    }
}

/// Octets around the owner and the first record of a set.
const SET_HEAD_OCTETS: usize = 2 + 1 + 4 + 2 + 2;

/// An RRset that is told.
pub(super) struct Found {
    pub(super) owner: NameBuf,
    pub(super) rtype: u16,
    pub(super) ttl: u32,
    pub(super) rdatas: Vec<Vec<u8>>,
}

fn gather_signatures(owner: &Name, rrset: &RRset<'_>, found: &mut Vec<Found>) {
    let rdatas = rrset.signature_rdata();
    if !rdatas.is_empty() {
        found.push(Found { owner: owner.to_owned(), rtype: rtype::RRSIG, ttl: rrset.ttl(), rdatas });
    }
}

/// A zone as it is told.
pub(super) fn row<'r>(
    name: &'r Name,
    serial: u32,
    (is_secondary, is_signed): (bool, bool),
    made: Option<&'r MadeZone>,
    tag: Option<Tag>,
) -> Row<'r> {
    let other = if is_secondary { RowKind::Slave } else { RowKind::Native };
    let text = |field: fn(&MadeZone) -> &str| made.map_or("", field);
    Row {
        name,
        serial,
        // Who was told of which serial is told by `zonda ctl zones`.
        notified: serial,
        kind: made.map_or(other, MadeZone::row_kind),
        // Lists tell more.
        stands: Stands::default(),
        is_signed,
        api_rectify: made.is_some_and(|made| made.api_rectify),
        account: text(|made| &made.account),
        soa_edit_api: text(|made| &made.soa_edit_api),
        soa_edit: text(|made| &made.soa_edit),
        tag,
    }
}

/// A frame of rows that were written one behind the other.
pub(super) fn rows_frame(ask: u32, octets: &[u8]) -> Option<Vec<u8>> {
    frame(ask, Piece::Rows(Run::read(octets)?))
}

/// Frames of names of keys.
pub(super) fn pieces_of_names(ask: u32, names: &[NameBuf]) -> VecDeque<Vec<u8>> {
    // However long they are, so many have room.
    let pieces = names.chunks(PIECE_OCTETS / NAME_OCTETS_MAX).filter_map(|names| {
        let octets: Vec<u8> = names.iter().flat_map(|name| name.octets()).copied().collect();
        frame(ask, Piece::Keys(Run::read(&octets)?))
    });
    pieces.collect()
}

/// A frame of RRsets.
pub(super) fn sets_frame(ask: u32, sets: &SetsBuf) -> Option<Vec<u8>> {
    frame(ask, Piece::Sets(sets.sets()))
}

/// A frame of a piece. `None`: it is longer than one may be.
pub(super) fn frame(ask: u32, piece: Piece<'_>) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    Answer::Piece(piece).write(ask, &mut octets).then_some(octets)
}

const _: () = assert!(PIECE_OCTETS <= REST_OCTETS_MAX);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;
    use api::frame::Frame;
    use std::net::{IpAddr, Ipv6Addr};
    use std::sync::Arc;
    use zone::catalog::ViewSource;
    use zone::contents::SourcePosition;
    use zone::{Catalog, ContentsBuilder, Pack, PackBuilder, TextStamp};

    /// A catalog with the zone `x.` of this text.
    pub(in crate::api) fn catalog(text: &str) -> Catalog {
        let apex: NameBuf = "x.".parse().unwrap();
        let mut builder = ContentsBuilder::new(&apex);
        for record in zonefile::records(text, &apex).unwrap() {
            let (rtype, ttl) = (record.rtype, record.ttl);
            builder.push(&record.owner, false, rtype, ttl, &record.rdata, SourcePosition::default()).unwrap();
        }
        let mut pack = PackBuilder::new(7);
        pack.add_zone(&builder.finish(), TextStamp::default()).unwrap();
        let catalog = Catalog::new(5);
        let hold = catalog.add_pack(Arc::new(Pack::open(pack.finish().unwrap()).unwrap()));
        catalog.insert(&[(apex, ViewSource::Pack(hold.number(), 0))]);
        catalog
    }

    fn reading(text: &str, wanted: Wanted, with_dnssec: bool) -> Reading {
        let catalog = catalog(text);
        let zone = catalog.reader().with(|view| {
            let found = view.find(&SortKey::of(&"x.".parse::<NameBuf>().unwrap()), 1).found;
            view.pin(&found, IpAddr::V6(Ipv6Addr::UNSPECIFIED)).ok().unwrap()
        });
        let pinned = Pinned { zone, is_secondary: false, made: None };
        let tag = |serial| Tag { serial, mark: 1 };
        Reading::new(1, pinned, (wanted, with_dnssec), tag).ok().unwrap()
    }

    /// All that is told: the row as its serial, then owners, types and numbers of records of each set; `+` where one goes on. And how many pieces.
    fn told(mut reading: Reading) -> (Vec<String>, usize) {
        let (mut told, mut pieces) = (Vec::new(), 0);
        loop {
            let frame = match reading.next() {
                Next::Piece(frame) => frame,
                Next::Later => continue,
                Next::End => return (told, pieces),
                Next::Cut => panic!("cut"),
            };
            pieces += 1;
            let (frame, length) = Frame::read(&frame).unwrap().unwrap();
            assert!(length <= REST_OCTETS_MAX + 9);
            match Answer::of(&frame).unwrap() {
                Answer::Piece(Piece::Rows(rows)) => {
                    let tagged = |row: Row<'_>| format!("{} {}", row.serial, row.tag.is_some());
                    told.extend(rows.iter().map(tagged));
                }
                Answer::Piece(Piece::Next(names)) => {
                    told.extend(names.iter().map(|name| format!("behind {name}")));
                }
                Answer::Piece(Piece::Sets(sets)) => told.extend(sets.iter().map(|set| {
                    let goes_on = if set.what == What::Extend { "+" } else { "" };
                    format!("{goes_on}{} {} {}", set.owner, rtype::Text(set.rtype), set.rdatas.iter().count())
                })),
                _ => panic!("another piece"),
            }
        }
    }

    const ZONE: &str = "@ 60 SOA ns host 7 2 3 4 5\n@ 60 NS ns\na 60 A 192.0.2.1\na 60 A 192.0.2.2\na 60 TXT t\nns 60 A 192.0.2.3\n";

    #[test]
    fn as_much_as_is_wanted() {
        let all = ["7 true", "x. SOA 1", "x. NS 1", "a.x. A 2", "a.x. TXT 1", "ns.x. A 1"];
        assert_eq!(told(reading(ZONE, Wanted::All, false)).0, all);
        assert_eq!(told(reading(ZONE, Wanted::All, true)).0, all);
        assert_eq!(told(reading(ZONE, Wanted::Row, false)).0, ["7 true"]);
        let owner =
            |name: &str, rtype| told(reading(ZONE, Wanted::Owner(name.parse().unwrap(), rtype), false)).0;
        assert_eq!(owner("a.x.", None), ["7 true", "a.x. A 2", "a.x. TXT 1"]);
        assert_eq!(owner("a.x.", Some(rtype::TXT)), ["7 true", "a.x. TXT 1"]);
        assert_eq!([owner("b.x.", None), owner("a.y.", None)], [["7 true"], ["7 true"]]);
    }

    #[test]
    fn pages() {
        let page = |after: Option<&str>, limit| {
            let after = after.map(|name| name.parse().unwrap());
            let mut told = told(reading(ZONE, Wanted::Page(after, limit), false)).0;
            assert_eq!(told.remove(0), "7 true");
            // Where it goes on is told behind all others.
            let next = told.pop_if(|line| line.starts_with("behind "));
            told.sort();
            told.extend(next);
            told
        };
        // All of a name, however many are wanted.
        assert_eq!(page(None, 1), ["x. NS 1", "x. SOA 1", "behind x."]);
        assert_eq!(page(None, 3), ["a.x. A 2", "a.x. TXT 1", "x. NS 1", "x. SOA 1", "behind a.x."]);
        assert_eq!(page(Some("x."), 1), ["a.x. A 2", "a.x. TXT 1", "behind a.x."]);
        // Behind a name that is not there, the last one, and one of another zone.
        assert_eq!(page(Some("m.x."), 9), ["ns.x. A 1"]);
        assert_eq!([page(Some("ns.x."), 9), page(Some("a.y."), 9)], [[""; 0], [""; 0]]);
    }

    /// Names that have nothing to be told are not looked at without end: the page ends at one of them, and the next goes on behind it.
    #[test]
    fn pages_of_denials_alone() {
        let denials: String =
            (0..PAGE_NAMES_MAX + 5).map(|at| format!("n{at:04} 60 NSEC ns NSEC\n")).collect();
        let zone = format!("{ZONE}{denials}");
        let page = |after: &str| told(reading(&zone, Wanted::Page(Some(after.parse().unwrap()), 9), false)).0;
        let last = format!("n{:04}.x.", PAGE_NAMES_MAX - 1);
        assert_eq!(page("a.x."), ["7 true".to_owned(), format!("behind {last}")]);
        assert_eq!(page(&last), ["7 true", "ns.x. A 1"]);
    }

    /// What has no room in one piece goes on in the next; nothing is lost or told twice.
    #[test]
    fn large_zones_come_in_pieces() {
        let text: String =
            (0..3000).map(|number| format!("n{number} 60 TXT \"{}\"\n", "y".repeat(200))).collect();
        let large: String =
            (0..250).map(|number| format!("large 60 TXT \"{number}{}\"\n", "z".repeat(240))).collect();
        let (told, pieces) = told(reading(&format!("{ZONE}{text}{large}"), Wanted::All, false));
        assert!(pieces > 10, "{pieces}");
        let of =
            |begin: &str| told.iter().filter(|line| line.trim_start_matches('+').starts_with(begin)).count();
        assert_eq!(of("n"), 3000 + 1);
        let records = |line: &String| line.rsplit(' ').next().and_then(|count| count.parse::<usize>().ok());
        let all: usize = told.iter().filter(|line| line.contains("large.x.")).filter_map(records).sum();
        assert_eq!(all, 250);
        assert!(
            told.iter().filter(|line| line.contains("large.x.")).skip(1).all(|line| line.starts_with('+'))
        );
    }
}
