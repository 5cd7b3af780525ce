//! What a check can find: the list of all checks, findings, and the summary of a run.
//!
//! A finding carries data; its text is made when it is displayed.

use std::fmt;

use wire::NameBuf;
use wire::iana::{algorithm, rtype};

use crate::contents::SourcePosition;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing breaks.
    Notice,
    /// Probably a mistake; answers are right.
    Warning,
    /// Some clients get no answer or a bogus one. The zone can be served.
    Error,
    /// There is no right way to answer from this zone: it is not to be loaded.
    Fatal,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Notice => "notice",
            Severity::Warning => "warning",
            Severity::Error => "error",
            Severity::Fatal => "fatal",
        })
    }
}

/// Declares [`Check`] and its table.
macro_rules! checks {
    ($($name:ident $id:literal $severity:ident $text:literal;)*) => {
        /// One kind of finding. `docs/rfc-notes/checks.md` gives each one's reason and what other servers do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Check {
            $(#[doc = $text] $name,)*
        }

        /// Identifier, usual severity and text of each check, in the order of [`Check`].
        const TABLE: &[(Check, &str, Severity, &str)] =
            &[$((Check::$name, $id, Severity::$severity, $text)),*];
    };
}

checks! {
    SoaMissing "soa-missing" Fatal "no SOA record at the apex";
    SoaMultiple "soa-multiple" Fatal "more than one SOA record";
    SoaBelowApex "soa-below-apex" Fatal "SOA record below the apex";
    NsMissing "ns-missing" Fatal "no NS records at the apex";
    CnameAndOther "cname-and-other-data" Fatal "other records beside a CNAME record";
    CnameMultiple "cname-multiple" Fatal "more than one CNAME record";
    DnameMultiple "dname-multiple" Fatal "more than one DNAME record";
    RdataMalformed "rdata-malformed" Error "RDATA does not have the form of its type";
    OutOfZone "out-of-zone" Warning "owner is not in the zone, record ignored";
    DnameAndNs "dname-and-ns" Error "NS records beside a DNAME record below the apex";
    BelowDname "below-dname" Error "name below a DNAME record is never answered";
    WildcardNs "wildcard-ns" Error "NS records at a wildcard";
    DsAtApex "ds-at-apex" Error "DS records at the apex belong to the parent zone";
    DsWithoutNs "ds-without-ns" Warning "DS records where there is no delegation";
    Duplicate "duplicate-record" Notice "record occurs more than once";
    TtlMismatch "ttl-mismatch" Warning "TTLs differ within the RRset, the lowest is served";
    TtlTooLarge "ttl-too-large" Warning "TTL above 2147483647 counts as zero";

    SoaTimerZero "soa-timer-zero" Warning "refresh, retry or expire is zero";
    SoaExpireShort "soa-expire-too-short" Warning "secondaries expire the zone before refresh and retry have passed";
    SoaRetryLong "soa-retry-too-long" Notice "retry is longer than refresh";
    SoaMinimumLong "soa-minimum-too-long" Notice "negative answers are cached for more than a day";
    NsSingle "ns-single" Notice "only one name server";

    NsNoAddress "ns-no-address" Error "name server has no address in the zone";
    NsIsCname "ns-is-cname" Error "name server is an alias";
    NsBelowDname "ns-below-dname" Error "name server is below a DNAME record";
    NsIsAddress "ns-is-address" Warning "name server looks like an address";
    GlueMissing "glue-missing" Error "in-domain name server has no glue";
    GlueMissingSibling "glue-missing-sibling" Warning "name server in another delegation has no glue";
    GlueUnneeded "glue-unneeded" Notice "address below a zone cut is not that of a name server";
    BelowCut "below-cut" Warning "record below a zone cut is never answered";
    CutOtherData "cut-other-data" Warning "record at a zone cut is never answered";

    MxIsCname "mx-is-cname" Warning "mail exchange is an alias";
    MxNoAddress "mx-no-address" Warning "mail exchange has no address in the zone";
    MxIsAddress "mx-is-address" Warning "mail exchange looks like an address";
    MxNullBesideOthers "mx-null-beside-others" Warning "null MX beside other MX records";
    SrvIsCname "srv-is-cname" Warning "target of a service is an alias";
    SrvNoAddress "srv-no-address" Warning "target of a service has no address in the zone";
    SvcbAliasBesideOthers "svcb-alias-beside-others" Warning "record in alias mode beside others";
    CnameLoop "cname-loop" Warning "alias leads back to itself";
    CnameDangling "cname-dangling" Notice "alias of a name that does not exist in the zone";
    HostNameOwner "host-name-owner" Warning "owner is not a host name";
    HostNameTarget "host-name-target" Warning "name in RDATA is not a host name";
    MailboxName "mailbox-name" Warning "name in RDATA is not a mailbox";
    SpfWithoutTxt "spf-without-txt" Warning "SPF record without a TXT record of the same policy";
    SpfMultiple "spf-multiple" Warning "more than one SPF policy in TXT records";
    TextWords "text-words" Notice "several words without quotes, each is a string of its own";
    OriginRepeated "origin-repeated" Notice "name ends in that of the zone twice, as one without a dot at its end does";

    DnskeyMissing "dnskey-missing" Error "DNSSEC records in a zone without DNSKEY records";
    DnskeyUnsigned "dnskey-unsigned" Warning "DNSKEY records in a zone that is not signed";
    DnskeyBelowApex "dnskey-below-apex" Warning "DNSKEY record below the apex";
    DnskeyUnusable "dnskey-unusable" Warning "DNSKEY record is not a zone key";
    DnskeyUnsupported "dnskey-algorithm-unsupported" Warning "signatures with this key are not verified";
    DnskeyDeprecated "dnskey-algorithm-deprecated" Warning "key has a deprecated algorithm";
    DsDigestLength "ds-digest-length" Error "digest does not have the length of its type";
    DsDigestUnknown "ds-digest-unknown" Warning "digest type is not known";
    DsDigestDeprecated "ds-digest-deprecated" Warning "digest type SHA-1 is deprecated";
    DsAlgorithmDeprecated "ds-algorithm-deprecated" Warning "DS record has a deprecated algorithm";
    CdsMismatch "cds-mismatch" Error "no DNSKEY record fits this CDS or CDNSKEY record";
    CdsDeleteBesideOthers "cds-delete-beside-others" Error "request to delete the DS RRset beside others";
    CdsWithoutCdnskey "cds-without-cdnskey" Notice "CDS and CDNSKEY records do not come together";
    CdsBelowApex "cds-below-apex" Warning "CDS or CDNSKEY record below the apex";

    RrsigMissing "rrsig-missing" Error "RRset is not signed";
    RrsigAlgorithmMissing "rrsig-algorithm-missing" Warning "RRset is not signed with an algorithm of the zone's keys";
    RrsigFields "rrsig-wrong-fields" Error "labels or signer of the signature do not fit";
    RrsigNotYetValid "rrsig-not-yet-valid" Error "signature is not valid yet";
    RrsigExpired "rrsig-expired" Error "signature has expired";
    RrsigExpiresSoon "rrsig-expires-soon" Warning "signature expires soon";
    RrsigWithoutKey "rrsig-without-key" Error "signature by a key that is not in the zone";
    RrsigBad "rrsig-bad" Error "signature does not verify";
    RrsigUnchecked "rrsig-unchecked" Warning "more signatures of one RRset than are verified";
    RrsigTtl "rrsig-ttl" Warning "TTL of the signature differs from that of the RRset";
    RrsigOriginalTtl "rrsig-original-ttl" Error "TTL of the RRset differs from the one signed";
    RrsigOrphan "rrsig-orphan" Warning "signature of an RRset that does not exist";
    RrsigUnexpected "rrsig-unexpected" Warning "signature over data that is not authoritative";

    NsecMissing "nsec-missing" Error "name has no NSEC record";
    NsecMultiple "nsec-multiple" Error "more than one NSEC record";
    NsecNext "nsec-next" Error "NSEC record does not point at the next name";
    NsecBitmap "nsec-bitmap" Error "types in the NSEC record differ from those at the name";
    NsecUnexpected "nsec-unexpected" Error "NSEC record at a name that is not authoritative";
    NsecTtl "nsec-ttl" Warning "TTL of denial records is not the lower of SOA TTL and SOA minimum";
    DenialMissing "denial-missing" Error "signed zone without NSEC and NSEC3 records";
    Nsec3ParamFlags "nsec3param-flags" Warning "NSEC3PARAM record with flags is ignored";
    Nsec3Unusable "nsec3-unusable" Error "hash algorithm or iterations of NSEC3 are not supported";
    Nsec3ChainMissing "nsec3-chain-missing" Error "NSEC3PARAM record without NSEC3 records";
    Nsec3ParamMissing "nsec3param-missing" Error "NSEC3 records without an NSEC3PARAM record";
    Nsec3Owner "nsec3-owner" Error "owner of an NSEC3 record is not a hash one label below the apex";
    Nsec3Multiple "nsec3-multiple" Error "more than one NSEC3 record of the same chain";
    Nsec3Missing "nsec3-missing" Error "name has no NSEC3 record";
    Nsec3OptOut "nsec3-opt-out" Error "delegation without NSEC3 record is not covered by opt-out";
    Nsec3Next "nsec3-next" Error "NSEC3 record does not point at the next hash";
    Nsec3Bitmap "nsec3-bitmap" Error "types in the NSEC3 record differ from those at the name";
    Nsec3Unexpected "nsec3-unexpected" Error "NSEC3 record of no name in the zone";
    Nsec3Unchecked "nsec3-unchecked" Warning "hashes of this chain are not compared with the names, it would take too long";
    Nsec3Flags "nsec3-flags" Warning "NSEC3 record has unknown flags";
    Nsec3Iterations "nsec3-iterations" Warning "extra iterations cost time and protect nothing";
    Nsec3Salt "nsec3-salt" Notice "salt protects nothing";
    Nsec3Algorithm "nsec3-algorithm" Error "key algorithm is older than NSEC3";

    ZonemdSerial "zonemd-serial" Warning "digest is of another serial";
    ZonemdUnsupported "zonemd-unsupported" Notice "scheme or algorithm of the digest is not known";
    ZonemdDuplicate "zonemd-duplicate" Error "two digests of the same scheme and algorithm";
    ZonemdMismatch "zonemd-mismatch" Error "digest is not that of the zone";
    ZonemdMissing "zonemd-missing" Fatal "no digest that can be verified, as `zonemd` has it";
    ZonemdUnproved "zonemd-unproved" Fatal "no signature by a key that the trust anchor of the zone leads to, as `zonemd` has it";
    ZonemdBelowApex "zonemd-below-apex" Notice "ZONEMD record below the apex";

    RRsetTooLarge "rrset-too-large" Fatal "more than 65535 octets with its signatures, fits no message";
    TypesTooMany "types-too-many" Fatal "too many types at one name";
    Nsec3Parameters "nsec3-parameters" Fatal "NSEC3PARAM record of unknown algorithm or of too many iterations";
    ZoneTooLarge "zone-too-large" Fatal "zone too large for one pack";
}

/// How many checks there are.
pub const CHECK_COUNT: usize = TABLE.len();

impl Check {
    /// All checks.
    pub fn all() -> impl Iterator<Item = Check> {
        TABLE.iter().map(|row| row.0)
    }

    /// Stable identifier, for scripts and documents.
    pub fn id(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Usual severity; a finding may have a lower one.
    pub fn severity(self) -> Severity {
        TABLE[self as usize].2
    }

    /// What is wrong, without names.
    pub fn text(self) -> &'static str {
        TABLE[self as usize].3
    }
}

/// One thing found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind.
    pub check: Check,
    /// How bad.
    pub severity: Severity,
    /// The name where it is, in lower case.
    pub owner: NameBuf,
    /// The type it is about.
    pub rtype: Option<u16>,
    /// The record it is about; `None` where something is missing.
    pub position: Option<SourcePosition>,
    /// More of it.
    pub detail: Detail,
}

/// What a finding says beyond its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    None,
    /// The name it is about: a target, a next name.
    Name(NameBuf),
    /// The SOA record that was read is that of another zone.
    SoaOf(NameBuf),
    /// The name ends in that of the zone twice.
    OriginTwice,
    /// What stands there and what should.
    Names {
        /// In the zone.
        found: NameBuf,
        /// By the zone's other records.
        expected: NameBuf,
    },
    /// Types in a bitmap and at the name.
    Types {
        /// In the bitmap.
        found: Vec<u16>,
        /// At the name.
        expected: Vec<u16>,
    },
    /// Another type at the same name, or the one a signature covers.
    Type(u16),
    /// Two numbers: TTLs, serials, seconds.
    Numbers {
        /// In the record.
        found: u32,
        /// By the zone's other records.
        expected: u32,
    },
    /// One number: iterations, a digest type.
    Number(u32),
    /// A point in time, in seconds since 1970 modulo 2^32, and the type the signature covers.
    Time {
        /// The type the signature covers.
        covered: u16,
        /// When it begins or ends.
        at: u32,
    },
    /// A key.
    Key {
        /// Its algorithm.
        algorithm: u8,
        /// Its tag.
        tag: u16,
    },
}

impl Finding {
    /// A record that did not get into the contents because its owner is elsewhere.
    pub fn out_of_zone(owner: NameBuf, rtype: u16, position: SourcePosition) -> Finding {
        Finding::of_text(Check::OutOfZone, owner, rtype, position)
    }

    /// A record whose text has words without quotes.
    pub fn text_words(owner: NameBuf, rtype: u16, position: SourcePosition) -> Finding {
        Finding::of_text(Check::TextWords, owner, rtype, position)
    }

    /// What only the reader of the text sees.
    fn of_text(check: Check, owner: NameBuf, rtype: u16, position: SourcePosition) -> Finding {
        let severity = check.severity();
        Finding { check, severity, owner, rtype: Some(rtype), position: Some(position), detail: Detail::None }
    }
}

/// `owner TYPE: text: detail [id]`, without severity and position: who prints it knows the file's name.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.owner)?;
        if let Some(rtype) = self.rtype {
            write!(f, " {}", rtype::Text(rtype))?;
        }
        write!(f, ": {}{} [{}]", self.check.text(), self.detail, self.check.id())
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Detail::None => Ok(()),
            Detail::Name(name) => write!(f, ": {name}"),
            Detail::SoaOf(name) => {
                write!(f, ", the text has that of {name}: is this the right zone, and $ORIGIN?")
            }
            Detail::OriginTwice => f.write_str(
                ", its name ends in that of the zone twice: is a dot missing at the end of $ORIGIN?",
            ),
            Detail::Names { found, expected } => write!(f, ": found {found}, expected {expected}"),
            Detail::Types { found, expected } => {
                write!(f, ": found ")?;
                write_types(f, found)?;
                write!(f, ", expected ")?;
                write_types(f, expected)
            }
            Detail::Type(rtype) => write!(f, ": {}", rtype::Text(*rtype)),
            Detail::Numbers { found, expected } => write!(f, ": found {found}, expected {expected}"),
            Detail::Number(number) => write!(f, ": {number}"),
            Detail::Time { covered, at } => {
                write!(f, ": {} at {}", rtype::Text(*covered), Timestamp(*at))
            }
            Detail::Key { algorithm, tag } => match algorithm::mnemonic(*algorithm) {
                Some(text) => write!(f, ": {text} key {tag}"),
                None => write!(f, ": algorithm {algorithm} key {tag}"),
            },
        }
    }
}

fn write_types(f: &mut fmt::Formatter<'_>, types: &[u16]) -> fmt::Result {
    if types.is_empty() {
        return f.write_str("none");
    }
    for (at, rtype) in types.iter().enumerate() {
        write!(f, "{}{}", if at == 0 { "" } else { " " }, rtype::Text(*rtype))?;
    }
    Ok(())
}

/// Shows seconds since 1970 as YYYYMMDDHHmmSS in UTC, as RRSIG records have it (RFC 4034 3.2); with `#` as YYYY-MM-DDTHH:mm:SSZ.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp(pub u32);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, seconds) = (self.0 / 86_400, self.0 % 86_400);
        // Days to civil date, in years that begin on 1 March so that the leap day comes last; 719,468 days
        // lie between 0000-03-01 and 1970-01-01, 146,097 in 400 years.
        let days = days + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        let year = 400 * era + year + carry;
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        if f.alternate() {
            return write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
        }
        write!(f, "{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
    }
}

/// How often each check found something, over a whole run: also what was not reported one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// For each check, how often with each severity. Empty until something is found: in most zones nothing is.
    found: Vec<[u64; 4]>,
    worst: Option<Severity>,
    by_severity: [u64; 4],
}

impl Summary {
    /// Counts a finding; returns how many of its kind and severity came before.
    pub(super) fn add(&mut self, check: Check, severity: Severity) -> u64 {
        let count = self.slot(check, severity);
        *count += 1;
        let before = *count - 1;
        self.by_severity[severity as usize] += 1;
        self.worst = self.worst.max(Some(severity));
        before
    }

    /// The count of one kind and severity.
    pub(super) fn slot(&mut self, check: Check, severity: Severity) -> &mut u64 {
        self.found.resize(CHECK_COUNT, [0; 4]);
        &mut self.found[check as usize][severity as usize]
    }

    /// Adds the counts of another run.
    pub fn join(&mut self, other: &Summary) {
        self.found.resize(self.found.len().max(other.found.len()), [0; 4]);
        for (count, more) in self.found.as_flattened_mut().iter_mut().zip(other.found.as_flattened()) {
            *count += more;
        }
        for (count, more) in self.by_severity.iter_mut().zip(other.by_severity) {
            *count += more;
        }
        self.worst = self.worst.max(other.worst);
    }

    /// How often `check` found something.
    pub fn count(&self, check: Check) -> u64 {
        self.counts(check).iter().sum()
    }

    /// How often `check` found something of this severity.
    pub fn count_as(&self, check: Check, severity: Severity) -> u64 {
        self.counts(check)[severity as usize]
    }

    fn counts(&self, check: Check) -> [u64; 4] {
        self.found.get(check as usize).copied().unwrap_or_default()
    }

    /// How many findings have this severity.
    pub fn count_of(&self, severity: Severity) -> u64 {
        self.by_severity[severity as usize]
    }

    /// The highest severity found; `None` when nothing was.
    pub fn worst(&self) -> Option<Severity> {
        self.worst
    }

    /// Whether the zone must not be loaded.
    pub fn is_fatal(&self) -> bool {
        self.worst == Some(Severity::Fatal)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn table_is_in_order_and_ids_are_distinct() {
        for (at, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0 as usize, at);
            assert!(TABLE[..at].iter().all(|other| other.1 != row.1), "{}", row.1);
        }
    }

    /// The list for operators is complete and says the same severities.
    #[test]
    fn documented() {
        let text = include_str!("../../../../docs/rfc-notes/checks.md");
        for (_, id, severity, explanation) in TABLE {
            let row = format!("| `{id}` | {severity} | {explanation} |");
            assert!(text.contains(&row), "{row}");
        }
        assert_eq!(text.lines().filter(|line| line.starts_with("| `")).count(), CHECK_COUNT);
    }

    #[test]
    fn text() {
        let finding = Finding {
            check: Check::NsecBitmap,
            severity: Severity::Error,
            owner: NameBuf::from_text("a.example").unwrap(),
            rtype: Some(rtype::NSEC),
            position: None,
            detail: Detail::Types { found: vec![], expected: vec![1, 65400] },
        };
        let expected = "a.example. NSEC: types in the NSEC record differ from those at the name: \
                        found none, expected A TYPE65400 [nsec-bitmap]";
        assert_eq!(finding.to_string(), expected);
    }

    #[test]
    fn timestamps() {
        let check = |seconds, text: &str| assert_eq!(Timestamp(seconds).to_string(), text);
        check(0, "19700101000000");
        check(951_782_400, "20000229000000");
        check(1_785_628_800, "20260802000000");
        check(u32::MAX, "21060207062815");
        assert_eq!(format!("{:#}", Timestamp(951_782_400)), "2000-02-29T00:00:00Z");
    }

    #[test]
    fn summaries() {
        let mut summary = Summary::default();
        assert_eq!((summary.worst(), summary.is_fatal()), (None, false));
        assert_eq!(summary.add(Check::BelowCut, Severity::Warning), 0);
        assert_eq!(summary.add(Check::BelowCut, Severity::Warning), 1);
        let mut other = Summary::default();
        other.add(Check::NsMissing, Severity::Fatal);
        summary.join(&other);
        assert_eq!((summary.count(Check::BelowCut), summary.count_of(Severity::Fatal)), (2, 1));
        assert!(summary.is_fatal());
    }
}
