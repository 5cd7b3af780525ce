//! What was asked: counts by way and type, and each question where that is wanted.

use std::{collections::BTreeMap, time::Instant};

use wire::{Name, NameBuf};

/// Questions that a book has by name at most: an experiment of 100,000 names asks a few for each.
pub const BOOK_MAX: usize = 1 << 20;
/// Octets before the question.
const HEADER_OCTETS: usize = 12;

/// A question as it arrived.
#[derive(Clone, Debug)]
pub struct Asked {
    /// When.
    pub at: Instant,
    /// Which way.
    pub way: usize,
    /// Name, as it was asked for.
    pub qname: NameBuf,
    /// Type.
    pub qtype: u16,
    /// Whether over TCP.
    pub is_stream: bool,
}

/// What was asked since a moment.
#[derive(Clone, Debug)]
pub struct Book {
    /// When it was begun.
    pub since: Instant,
    /// Whether it names each question.
    pub is_whole: bool,
    /// Each, the first [`BOOK_MAX`] of them.
    pub asked: Vec<Asked>,
    /// By way and type: how many over UDP, how many over TCP. What is no query counts as type 0.
    pub counts: Vec<BTreeMap<u16, [u64; 2]>>,
}

impl Book {
    pub(super) fn new(ways: usize) -> Book {
        let counts = vec![BTreeMap::new(); ways];
        Book { since: Instant::now(), is_whole: false, asked: Vec::new(), counts }
    }

    pub(super) fn note(&mut self, way: usize, question: Option<(&Name, u16)>, is_stream: bool) {
        let qtype = question.map_or(0, |(_, qtype)| qtype);
        self.counts[way].entry(qtype).or_default()[usize::from(is_stream)] += 1;
        if let Some((qname, qtype)) = question
            && self.is_whole
            && self.asked.len() < BOOK_MAX
        {
            let qname = qname.to_owned();
            self.asked.push(Asked { at: Instant::now(), way, qname, qtype, is_stream });
        }
    }

    /// Questions over UDP and TCP, of all ways.
    pub fn total(&self) -> u64 {
        self.each().map(|(_, _, [datagrams, streams])| datagrams + streams).sum()
    }

    /// Those over TCP.
    pub fn streams(&self) -> u64 {
        self.each().map(|(_, _, [_, streams])| streams).sum()
    }

    /// Those of a way.
    pub fn of_way(&self, way: usize) -> u64 {
        self.each()
            .filter(|(of, _, _)| *of == way)
            .map(|(_, _, [datagrams, streams])| datagrams + streams)
            .sum()
    }

    /// Those of a type, of all ways.
    pub fn of_type(&self, qtype: u16) -> u64 {
        self.each()
            .filter(|(_, of, _)| *of == qtype)
            .map(|(_, _, [datagrams, streams])| datagrams + streams)
            .sum()
    }

    /// Way, type, and how many over UDP and TCP.
    pub fn each(&self) -> impl Iterator<Item = (usize, u16, [u64; 2])> {
        let of_way = |(way, counts): (usize, &BTreeMap<u16, [u64; 2]>)| -> Vec<_> {
            counts.iter().map(|(&qtype, &both)| (way, qtype, both)).collect()
        };
        self.counts.iter().enumerate().flat_map(of_way)
    }
}

/// Name and type of the question of a message; `None` where it has none that can be read.
pub(super) fn question(message: &[u8]) -> Option<(&Name, u16)> {
    let (name, rest) = Name::split_from(message.get(HEADER_OCTETS..)?).ok()?;
    Some((name, u16::from_be_bytes([*rest.first()?, *rest.get(1)?])))
}
