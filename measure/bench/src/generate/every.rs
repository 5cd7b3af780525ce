//! A query for each RRset of zones: after these everything that is served has been touched.

use std::{collections::HashSet, path::Path};

use wire::iana::rtype;

use super::{
    owners,
    zone_file::{ZoneFile, name_hash},
};
use crate::{Error, query::Query};

/// Hands over a query for each RRset of the zone file `path`, or of all files of that folder, in the order of the files. Of RRsets that are the same but for the
/// case of their names one; signatures come with what they sign and are not asked for (RFC 4035 3.1.1).
///
/// Memory: a hash for each RRset of one file. Returns how many.
pub fn rrset(path: &Path, mut take: impl FnMut(Query)) -> Result<usize, Error> {
    let mut count = 0;
    for path in owners::files(path)? {
        let mut seen = HashSet::new();
        ZoneFile::open(&path, None)?.each_record(|record| {
            if record.rtype != rtype::RRSIG && seen.insert((name_hash(record.owner), record.rtype)) {
                let name = record.owner.to_owned();
                take(Query { name, rtype: record.rtype, edns: None, rd: false, cd: false });
                count += 1;
            }
        })?;
    }
    Ok(count)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_once() {
        let folder = tempfile::tempdir().unwrap();
        let text = |apex: &str| {
            format!(
                "$ORIGIN {apex}\n$TTL 5\n@ SOA a b 1 2 3 4 5\n@ NS ns\n@ NS ns.other.\nHost A 192.0.2.1\n\
                 host A 192.0.2.2\nhost AAAA 2001:db8::1\n@ RRSIG NS 8 1 5 20300101000000 20200101000000 1 a. AA==\n"
            )
        };
        std::fs::write(folder.path().join("a.zone"), text("a.")).unwrap();
        std::fs::create_dir(folder.path().join("b")).unwrap();
        std::fs::write(folder.path().join("b/b.zone"), text("b.")).unwrap();
        let mut lines = Vec::new();
        let count = rrset(folder.path(), |query| lines.push(query.to_string())).unwrap();
        let of = |apex: &str| {
            [("", "SOA"), ("", "NS"), ("Host.", "A"), ("host.", "AAAA")]
                .map(|(host, rtype)| format!("{host}{apex}. {rtype}"))
        };
        assert_eq!(lines, [of("a"), of("b")].concat());
        assert_eq!(count, lines.len());
        assert!(rrset(&folder.path().join("none"), |_| ()).is_err());
    }
}
