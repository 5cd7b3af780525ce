//! A zone as text: one record a line, the SOA record first, names in canonical order.

use std::fs::File;
use std::io::{self, Write};

use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::{Name, NameBuf};
use zone::lookup::Damaged;
use zone::section::checksum;
use zone::{Crawl, RRset, ZoneView};

use crate::stamp::PIECE_OCTETS;

/// Files that get the same octets, which are summed up as [`crate::stamp::sum_of_file`] does.
pub(super) struct Copies<'f> {
    files: Vec<&'f mut File>,
    piece: Vec<u8>,
    sums: Vec<u8>,
}

impl<'f> Copies<'f> {
    pub(super) fn new(files: Vec<&'f mut File>) -> Copies<'f> {
        Copies { files, piece: Vec::with_capacity(PIECE_OCTETS), sums: Vec::new() }
    }

    fn write(&mut self, mut octets: &[u8]) -> io::Result<()> {
        while self.piece.len() + octets.len() >= PIECE_OCTETS {
            let (now, later) = octets.split_at(PIECE_OCTETS - self.piece.len());
            self.piece.extend_from_slice(now);
            self.end_piece()?;
            octets = later;
        }
        self.piece.extend_from_slice(octets);
        Ok(())
    }

    fn end_piece(&mut self) -> io::Result<()> {
        self.sums.extend_from_slice(&checksum(&self.piece).to_le_bytes());
        for file in &mut self.files {
            file.write_all(&self.piece)?;
        }
        self.piece.clear();
        Ok(())
    }

    /// Makes sure that all is on the disk; the sum.
    pub(super) fn end(mut self) -> io::Result<u64> {
        self.end_piece()?;
        for file in &self.files {
            file.sync_all()?;
        }
        Ok(checksum(&self.sums).max(1))
    }
}

/// Why a zone is not printed.
pub(super) enum NotPrinted {
    Damaged,
    Io(io::Error),
}

impl From<io::Error> for NotPrinted {
    fn from(error: io::Error) -> NotPrinted {
        NotPrinted::Io(error)
    }
}

impl From<Damaged> for NotPrinted {
    fn from(_: Damaged) -> NotPrinted {
        NotPrinted::Damaged
    }
}

/// Writes all records of a zone, as `zonda check-zone --print` does but for NSEC3 records, which come last. Its octets are not gathered: a zone of any size takes
/// the memory of a piece.
pub(super) fn zone(view: &ZoneView<'_>, head: &str, to: &mut Copies<'_>) -> Result<(), NotPrinted> {
    to.write(head.as_bytes())?;
    let soa = view.find(&[]).and_then(|apex| apex.rrset(rtype::SOA)).ok_or(NotPrinted::Damaged)?;
    to.write(&lines_of(view.apex(), view, &soa)?)?;
    let (mut crawl, mut labels) = (Crawl::default(), [0; NAME_OCTETS_MAX]);
    let mut owner: NameBuf = view.apex().to_owned();
    let mut lines: Vec<(u16, Vec<u8>)> = Vec::new();
    while let Some(step) = crawl.next(view)? {
        let octets = step.owner.write_labels(&mut labels).ok_or(NotPrinted::Damaged)?;
        let wire = [&labels[..octets], view.apex().octets()].concat();
        let name = Name::from_wire(&wire).map_err(|_| NotPrinted::Damaged)?;
        if *name != *owner {
            write_name(&mut lines, to)?;
            owner = name.to_owned();
        }
        let set = &step.rrset;
        if !(set.rtype() == rtype::SOA && *name == *view.apex()) {
            lines.push((set.rtype(), lines_of(name, view, set)?));
        }
        for rdata in set.signature_rdata() {
            let mut line = Vec::new();
            zonefile::print::line(name, set.ttl(), rtype::RRSIG, &rdata, &mut line);
            lines.push((rtype::RRSIG, line));
        }
    }
    write_name(&mut lines, to)?;
    Ok(())
}

/// Writes what there is of a name, types ascending.
fn write_name(lines: &mut Vec<(u16, Vec<u8>)>, to: &mut Copies<'_>) -> io::Result<()> {
    lines.sort_by_key(|(rtype, _)| *rtype);
    lines.drain(..).try_for_each(|(_, lines)| to.write(&lines))
}

fn lines_of(owner: &Name, view: &ZoneView<'_>, rrset: &RRset<'_>) -> Result<Vec<u8>, NotPrinted> {
    let mut lines = Vec::new();
    for rdata in rrset.rdata(owner, view.apex()).ok_or(NotPrinted::Damaged)? {
        zonefile::print::line(owner, rrset.ttl(), rrset.rtype(), &rdata, &mut lines);
    }
    Ok(lines)
}
