//! A zone's rows to its records, as PowerDNS means them: what it transfers, found by asking it (4.7.3).
//!
//! | row | |
//! |---|---|
//! | `disabled`; no `type` (an empty non-terminal) | left out, the first counted |
//! | `name` not at or below that of the zone, no name, negative `ttl` | left out and counted: PowerDNS passes them over in silence |
//! | SOA below the apex; RRSIG; DNSKEY, CDS, CDNSKEY without [`Rules::direct_dnskey`] | left out and counted: not in its transfers, though it answers with all but the second |
//! | ALIAS, LUA, types that nobody knows | the zone is refused, or served without these rows: [`Unknown`] |
//! | the same record twice | one |
//! | an RRset of several TTLs | has the lowest (RFC 2181 5.2), counted: PowerDNS answers with both |
//! | content that is none of its type | the zone is refused: PowerDNS answers SERVFAIL there, and transfers nothing of it |

use std::collections::BTreeMap;

use wire::NameBuf;
use wire::iana::rtype;
use zone::contents::{Contents, ContentsBuilder, SourcePosition, TTL_MAX};
use zonefile::Buffers;

use super::content::Parser;
use super::left_out::LeftOut;
use super::list::{Listed, absolute};
use super::refusal::{ROWS_SHOWN_MAX, Refusal, RefusedRow, Unfit};
use super::soa;

/// What is done with types that are no records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unknown {
    /// The zone is refused.
    #[default]
    Refuse,
    /// It is served without.
    Skip,
}

/// What its settings mean to PowerDNS, and the operator to us.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// What is done with types that are no records.
    pub unknown: Unknown,
    /// TTL of rows that have none: PowerDNS's `default-ttl`.
    pub default_ttl: u32,
    /// Whether DNSKEY, CDS and CDNSKEY are taken from rows: PowerDNS's `direct-dnskey`.
    pub direct_dnskey: bool,
    /// How many records a zone may have: of one with more it is said, and nothing is kept.
    pub records_max: u64,
}

/// PowerDNS's own default of `default-ttl`.
const DEFAULT_TTL: u32 = 3600;

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            unknown: Unknown::default(),
            default_ttl: DEFAULT_TTL,
            direct_dnskey: false,
            records_max: u64::from(u32::MAX),
        }
    }
}

/// Types of which PowerDNS makes records when it is asked; the last ones only its versions before 4 did.
const OWN: [&[u8]; 6] = [b"ALIAS", b"LUA", b"ADDR", b"MBOXFW", b"URL", b"CURL"];

/// How many types of those that were left out are told apart.
const TYPES_MAX: usize = 100;

/// A row of `records`: columns as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row<'r> {
    /// Owner name.
    pub name: Option<&'r [u8]>,
    /// Type.
    pub rtype: Option<&'r [u8]>,
    /// RDATA, but for [`Row::prio`].
    pub content: Option<&'r [u8]>,
    /// TTL.
    pub ttl: Option<&'r [u8]>,
    /// Preference of MX, priority of SRV.
    pub prio: Option<&'r [u8]>,
    /// Whether it counts for nothing.
    pub is_disabled: bool,
}

/// Takes the rows of one zone in any order.
pub struct Translator<'b> {
    apex: NameBuf,
    rules: Rules,
    parser: Parser<'b>,
    builder: ContentsBuilder,
    has_soa: bool,
    left_out: LeftOut,
    refused: Vec<RefusedRow>,
    refused_count: u64,
    is_too_many: bool,
}

impl<'b> Translator<'b> {
    /// One for rows of this zone, if it can be served. `buffers`: their room is used, as most zones are small and making it takes longer than reading them.
    pub fn new(zone: &Listed, rules: Rules, buffers: &'b mut Buffers) -> Result<Translator<'b>, Refusal> {
        let apex = zone.hindered()?;
        soa::check(zone.id, &apex, zone.soa.as_deref().ok_or(Refusal::NoSoa)?)?;
        Ok(Translator {
            builder: ContentsBuilder::new(&apex),
            apex,
            rules,
            parser: Parser::new(buffers),
            has_soa: false,
            left_out: LeftOut::default(),
            refused: Vec::new(),
            refused_count: 0,
            is_too_many: false,
        })
    }

    /// Takes a row.
    pub fn row(&mut self, row: &Row<'_>) {
        if let Err(why) = self.take(row) {
            self.refused_count += 1;
            if self.refused.len() < ROWS_SHOWN_MAX {
                self.refused.push(RefusedRow::new(row.name, row.rtype, row.content, why));
            }
        }
    }

    fn take(&mut self, row: &Row<'_>) -> Result<(), Unfit> {
        if row.is_disabled {
            self.left_out.disabled += 1;
            return Ok(());
        }
        let Some(word) = row.rtype else { return Ok(()) };
        let Some(owner) = row.name.and_then(absolute) else {
            self.left_out.unreadable += 1;
            return Ok(());
        };
        if !owner.is_at_or_below(&self.apex) {
            self.left_out.out_of_zone += 1;
            return Ok(());
        }
        let Some(rtype) = rtype::from_text(word).filter(|&rtype| rtype != 0 && !rtype::is_meta(rtype)) else {
            return self.unknown(word);
        };
        if self.is_passed_over(rtype, &owner) {
            return Ok(());
        }
        let Some(ttl) = self.ttl(row.ttl)? else {
            self.left_out.unreadable += 1;
            return Ok(());
        };
        if rtype == rtype::SOA && std::mem::replace(&mut self.has_soa, true) {
            return Err(Unfit::SoaTwice);
        }
        if self.builder.record_count() as u64 >= self.rules.records_max {
            self.is_too_many = true;
            return Ok(());
        }
        let mut rdata = self.parser.rdata(rtype, row.content.unwrap_or_default(), row.prio)?;
        // As our own tables have it: which of two rows that differ in case comes first is no matter of the zone.
        wire::rdata::fold(rtype, &mut rdata);
        let pushed = self.builder.push(&owner, false, rtype, ttl, &rdata, SourcePosition::default());
        self.is_too_many |= pushed.is_err();
        Ok(())
    }

    /// Takes note of a row whose type is none of records.
    fn unknown(&mut self, word: &[u8]) -> Result<(), Unfit> {
        let is_own = OWN.iter().any(|own| own.eq_ignore_ascii_case(word));
        match self.rules.unknown {
            Unknown::Refuse => Err(if is_own { Unfit::Own } else { Unfit::Type }),
            Unknown::Skip => {
                count(&mut self.left_out.types, word);
                Ok(())
            }
        }
    }

    /// Whether PowerDNS leaves such a record out of transfers.
    fn is_passed_over(&mut self, rtype: u16, owner: &NameBuf) -> bool {
        let of_keys = [rtype::DNSKEY, rtype::CDS, rtype::CDNSKEY];
        if rtype == rtype::RRSIG || of_keys.contains(&rtype) && !self.rules.direct_dnskey {
            self.left_out.of_keys += 1;
            return true;
        }
        let is_below = rtype == rtype::SOA && *owner != self.apex;
        self.left_out.soa_below += u64::from(is_below);
        is_below
    }

    /// The TTL of a column; none of a negative one.
    fn ttl(&self, column: Option<&[u8]>) -> Result<Option<u32>, Unfit> {
        let Some(text) = column.filter(|text| !text.is_empty()) else {
            return Ok(Some(self.rules.default_ttl));
        };
        let number: i64 =
            std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Unfit::Ttl)?;
        match u32::try_from(number) {
            Ok(ttl) if ttl <= TTL_MAX => Ok(Some(ttl)),
            _ if number < 0 => Ok(None),
            _ => Err(Unfit::Ttl),
        }
    }

    /// The zone, and what of its rows is not in it.
    pub fn finish(self) -> Result<(Contents, LeftOut), Refusal> {
        if self.is_too_many {
            return Err(Refusal::TooMany(self.rules.records_max));
        }
        if self.refused_count > 0 {
            return Err(Refusal::Rows(self.refused, self.refused_count));
        }
        if !self.has_soa {
            return Err(Refusal::NoSoa);
        }
        let (contents, mut left_out) = (self.builder.finish(), self.left_out);
        left_out.duplicates = contents.duplicate_count();
        let (contents, uneven) = level(contents);
        left_out.ttls = uneven;
        Ok((contents, left_out))
    }
}

fn count(types: &mut BTreeMap<String, u64>, word: &[u8]) {
    let word = word.to_ascii_uppercase().escape_ascii().to_string();
    if types.len() < TYPES_MAX || types.contains_key(&word) {
        *types.entry(word).or_default() += 1;
    }
}

/// Gives all records of an RRset the lowest TTL of it, and says of how many RRsets that is another one than before.
fn level(contents: Contents) -> (Contents, u64) {
    let sets = contents.nodes().flat_map(|node| node.rrsets());
    let uneven = sets.filter(|set| !set.has_one_ttl()).count() as u64;
    if uneven == 0 {
        return (contents, 0);
    }
    let mut builder = ContentsBuilder::new(contents.apex());
    for node in contents.nodes() {
        let mut is_same = false;
        for set in node.rrsets() {
            for record in set.records() {
                // No more of them than before.
                let _ = builder.push_key(node.key(), is_same, set.rtype(), set.ttl(), record.rdata);
                is_same = true;
            }
        }
    }
    (builder.finish(), uneven)
}
