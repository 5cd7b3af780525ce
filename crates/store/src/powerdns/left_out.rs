//! What of a zone's rows is not served, in numbers.

use std::collections::BTreeMap;

/// How many rows of a zone are not what is served, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// `disabled`.
    pub disabled: u64,
    /// Not at or below the zone's name.
    pub out_of_zone: u64,
    /// Whose `name` is none, or whose `ttl` is negative.
    pub unreadable: u64,
    /// SOA records below the apex.
    pub soa_below: u64,
    /// DNSKEY, CDS, CDNSKEY and RRSIG.
    pub of_keys: u64,
    /// Records that are there already.
    pub duplicates: u64,
    /// RRsets that had several TTLs, and have the lowest.
    pub ttls: u64,
    /// Types that are none of records, where these are skipped.
    pub types: BTreeMap<String, u64>,
}

impl LeftOut {
    /// A line for each reason that there is.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let LeftOut { disabled, out_of_zone, unreadable, soa_below, of_keys, duplicates, ttls, types } = self;
        let reasons = [
            (*disabled, "row", "disabled: left out"),
            (*out_of_zone, "row", "not at or below the zone's name: left out, as PowerDNS does"),
            (*unreadable, "row", "without a proper name, or with a negative TTL: left out, as PowerDNS does"),
            (*soa_below, "SOA record", "below the apex: left out, as in PowerDNS's transfers"),
            (
                *of_keys,
                "row",
                "of DNSKEY, CDS, CDNSKEY or RRSIG: left out, as in PowerDNS's transfers without `direct-dnskey`",
            ),
            (*duplicates, "row", "of a record that is there already: left out"),
            (*ttls, "RRset", "of several TTLs: the lowest counts"),
        ];
        let lines = reasons.iter().filter(|reason| reason.0 > 0);
        let mut lines: Vec<String> = lines.map(|(count, noun, why)| line(*count, noun, why)).collect();
        lines.extend(
            types.iter().map(|(word, count)| line(*count, "row", &format!("of type {word}: left out"))),
        );
        lines
    }
}

fn line(count: u64, noun: &str, why: &str) -> String {
    format!("{count} {noun}{} {why}", if count == 1 { "" } else { "s" })
}
