//! Why a zone of PowerDNS is not served, and what to do, in words for the operator.

use std::fmt;

use super::list::Kind;

/// How many rows of a zone are shown: more of them are one mistake made often.
pub const ROWS_SHOWN_MAX: usize = 20;

/// More of a row than this hides what is said of it.
const CONTENT_SHOWN_MAX: usize = 100;

/// Why a zone is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is another server's, or made by PowerDNS of other zones. That is no fault.
    LeftOut(Kind),
    /// Its name is none, or not as PowerDNS looks for it.
    Name,
    /// PowerDNS signs it with so many keys.
    Keys(u64),
    /// It was signed elsewhere.
    Presigned,
    /// It has parameters of NSEC3.
    Nsec3,
    /// PowerDNS answers with another serial than its SOA record has.
    SoaEdit,
    /// PowerDNS finds no SOA record of it.
    NoSoa,
    /// An SOA record that is not all there, or of serial 0: its content, and a statement that mends it where there is one.
    Soa(String, Option<String>),
    /// Rows that are no records: the first [`ROWS_SHOWN_MAX`], and how many there are.
    Rows(Vec<RefusedRow>, u64),
    /// More records than this, which a zone may have here.
    TooMany(u64),
    /// It was another one each time that it was read.
    Moving,
}

/// A row that is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRow {
    /// `name` of the row.
    pub name: String,
    /// `type`.
    pub rtype: String,
    /// `content`, the begin of it.
    pub content: String,
    /// Why.
    pub why: Unfit,
}

/// Why a row is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// A type of which PowerDNS makes records when it is asked.
    Own,
    /// No type of records that zones have.
    Type,
    /// Content that is none of its type: what was expected.
    Content(String),
    /// A TTL that is no number, or too great (RFC 2181 8).
    Ttl,
    /// A second SOA record.
    SoaTwice,
}

impl Refusal {
    /// Whether the list of zones says so, whatever rows there are.
    #[must_use]
    pub fn is_of_list(&self) -> bool {
        !matches!(self, Refusal::NoSoa | Refusal::Rows(..) | Refusal::TooMany(_) | Refusal::Moving)
    }

    /// Whether it is left out as it is not PowerDNS's own, and not for a fault of it.
    #[must_use]
    pub fn is_left_out(&self) -> bool {
        matches!(self, Refusal::LeftOut(_))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::LeftOut(Kind::Consumer) => {
                f.write_str("left out: a catalog of another server (CONSUMER): take it from its primary")
            }
            Refusal::LeftOut(Kind::Producer) => f.write_str(
                "left out: a catalog that PowerDNS makes when it is asked (PRODUCER): its records are not in the tables",
            ),
            Refusal::LeftOut(_) => {
                f.write_str("left out: a zone of another server (SLAVE, SECONDARY): take it from its primary")
            }
            Refusal::Name => f.write_str("refused: `domains.name` is no name, or not as PowerDNS writes it: without a last dot, and escaped only what has to be"),
            Refusal::Keys(count) => write!(
                f,
                "refused: PowerDNS signs it with {count} active key{} of `cryptokeys`, and without signatures its answers would be bogus: have it signed by another \
                 server, or its DS records removed at the parent, and once their TTL is over `pdnsutil disable-dnssec`",
                if *count == 1 { "" } else { "s" }
            ),
            Refusal::Presigned => f.write_str(
                "refused: it was signed elsewhere (PRESIGNED), and the tables have none of its NSEC and NSEC3 records: take it from its primary, or, if it is \
                 not signed any more, `pdnsutil unset-presigned`",
            ),
            Refusal::Nsec3 => f.write_str(
                "refused: it has parameters of NSEC3 (NSEC3PARAM), and the tables have none of its NSEC3 records: if it is not signed any more, `pdnsutil unset-nsec3`",
            ),
            Refusal::SoaEdit => f.write_str(
                "refused: PowerDNS answers with another serial than its SOA record has (SOA-EDIT), and secondaries that have that one take no lower one: put it, or a \
                 greater one, into the record, then `pdnsutil set-meta` with the zone and `SOA-EDIT` alone",
            ),
            Refusal::NoSoa => f.write_str(
                "refused: no SOA record: PowerDNS looks for one whose `name` is that of the zone in lower case and whose `type` is `SOA`, not disabled",
            ),
            Refusal::Soa(found, right) => {
                write!(f, "refused: SOA record `{found}`: expected two names and five numbers, the first of them (the serial) not 0")?;
                match right {
                    Some(statement) => write!(f, "; as an example (the serial has to be greater than what secondaries have): {statement}"),
                    None => Ok(()),
                }
            }
            Refusal::Rows(rows, count) => {
                f.write_str("refused: ")?;
                for (at, row) in rows.iter().enumerate() {
                    write!(f, "{}{row}", if at > 0 { "\n" } else { "" })?;
                }
                match count.saturating_sub(rows.len() as u64) {
                    0 => Ok(()),
                    more => write!(f, "\nand {more} rows more"),
                }
            }
            Refusal::TooMany(max) => write!(f, "refused: more than {max} records"),
            Refusal::Moving => f.write_str("refused: it changes while it is read, each time: later, or while nobody writes"),
        }
    }
}

impl RefusedRow {
    /// Of columns as they are in the table.
    pub(super) fn new(
        name: Option<&[u8]>,
        rtype: Option<&[u8]>,
        content: Option<&[u8]>,
        why: Unfit,
    ) -> RefusedRow {
        RefusedRow { name: shown(name), rtype: shown(rtype), content: shown(content), why }
    }
}

/// A column for people, the begin of it: a million of them may be wrong.
fn shown(column: Option<&[u8]>) -> String {
    let octets = column.unwrap_or_default();
    let begin = &octets[..octets.len().min(CONTENT_SHOWN_MAX)];
    let text = begin.escape_ascii().to_string().replace("\\\"", "\"").replace("\\\\", "\\");
    if begin.len() < octets.len() { text + "…" } else { text }
}

impl fmt::Display for RefusedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RefusedRow { name, rtype, content, why } = self;
        write!(f, "{name} {rtype} `{content}`: {why}")
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Own => f.write_str("a type of PowerDNS's own, of which it makes records when it is asked"),
            Unfit::Type => f.write_str("expected the type of a record"),
            Unfit::Content(expected) => f.write_str(expected),
            Unfit::Ttl => f.write_str("ttl: expected a number of at most 2147483647"),
            Unfit::SoaTwice => f.write_str("expected one SOA record, found a second one"),
        }
    }
}
