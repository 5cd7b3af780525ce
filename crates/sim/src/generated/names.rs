//! Names that were measured, and the zones that they are registered as.
//!
//! ```text
//! name | RCODE | CNAMEs | addresses | TTL      a line each; a name alone has two addresses
//! ```

use wire::NameBuf;

/// Names of popular sites that ship with the model: one a line.
pub const POPULAR: &str = include_str!("../../data/popular.txt");
/// Names that a resolver was asked for: name, RCODE, CNAMEs, addresses, TTL.
pub const RESOLVED: &str = include_str!("../../data/resolved.tsv");
/// More of these, none of which is in the other lists.
pub const RESOLVED_MORE: &str = include_str!("../../data/resolved-more.tsv");

/// A name as it was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameSeen {
    /// In lower case.
    pub name: NameBuf,
    /// How many aliases led to its addresses.
    pub aliases: u32,
    /// How many addresses it had; 0: it had none, or does not exist.
    pub addresses: u32,
    /// Their TTL.
    pub ttl: u32,
}

/// Second labels below which names are registered where the TLD is a country's.
const REGISTRY_LABELS: [&str; 8] = ["co", "com", "net", "org", "ac", "gov", "edu", "or"];

/// The names of the first two lists.
pub fn names_seen() -> Vec<NameSeen> {
    names_of(POPULAR).chain(names_of(RESOLVED)).collect()
}

/// So many names, evenly of both lists; where these have fewer, of the longer one too.
pub fn names_evenly(count: usize) -> Vec<NameSeen> {
    let mut seen = names_seen();
    if count > seen.len() {
        seen.extend(names_of(RESOLVED_MORE));
    }
    let every = (seen.len() / count.max(1)).max(1);
    seen.into_iter().step_by(every).collect()
}

/// The names of a list in the form above; lines that are no host name are passed over.
pub fn names_of(list: &str) -> impl Iterator<Item = NameSeen> {
    list.lines().filter_map(NameSeen::read)
}

impl NameSeen {
    fn read(line: &str) -> Option<NameSeen> {
        let mut fields = line.split('\t');
        let name: NameBuf = fields.next()?.parse().ok()?;
        let mut number = |usual: u32| fields.next().map_or(Some(usual), |field| field.parse().ok());
        let (rcode, aliases, addresses) = (number(0)?, number(0)?, number(2)?);
        let ttl = number(300).unwrap_or(300);
        // Names with other octets than host names have are left out: master files can have them, lists of them are mostly noise.
        let is_host = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
        let is_plain = name.labels().all(|label| label.iter().all(is_host));
        let found = if rcode == 0 { addresses } else { 0 };
        Some(NameSeen { name: name.to_lowercase(), aliases, addresses: found, ttl: ttl.clamp(1, 86_400) })
            .filter(|_| is_plain && name.label_count() >= 2)
    }
}

/// The zone that a name is registered as: its last two labels, or three.
pub(super) fn registered(name: &NameBuf) -> String {
    let labels: Vec<String> =
        name.labels().map(|label| String::from_utf8_lossy(label).into_owned()).collect();
    let last = |count: usize| labels[labels.len() - count.min(labels.len())..].join(".") + ".";
    let is_country = labels.last().is_some_and(|tld| tld.len() == 2);
    let is_deep = is_country && labels.len() > 2 && REGISTRY_LABELS.contains(&&*labels[labels.len() - 2]);
    last(if is_deep { 3 } else { 2 })
}

/// The name without its first label.
pub(super) fn above(zone: &str) -> String {
    zone.split_once('.').map_or(".", |(_, rest)| if rest.is_empty() { "." } else { rest }).to_owned()
}
