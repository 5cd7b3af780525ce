//! What a response may have. What has more is not looked at further: another server is asked.

/// RRsets of the answer and authority sections that are of the zone asked. The largest sound responses, ANY at an apex and proofs of several
/// wildcards, have some 20; looking for the set of a record compares it with all of them.
pub(super) const SETS_MAX: usize = 128;
/// RRsets of addresses in the additional section; those beyond are passed over. 20 names of servers are looked at, each with two.
pub(super) const ADDRESS_SETS_MAX: usize = 64;
/// Records of an RRset (CVE-2024-1737). The cache keeps no more than 100; what is larger, up to half of what a message can hold, is answered and
/// not kept: there are names with hundreds of addresses or texts.
pub(super) const RECORDS_MAX: usize = 2_048;
/// RRSIGs of an RRset; those beyond are passed over. Eight are ever checked.
pub(super) const SIGNATURES_MAX: usize = 32;
/// NSEC and NSEC3 RRsets that are kept of a response; those beyond are passed over. A name error takes three, each alias made from a wildcard one or two.
pub(super) const PROOFS_MAX: usize = 32;
/// Name servers of a referral; those beyond are passed over, as nobody asks so many. So a delegation always has room in the cache, and looking for the
/// server of each address stays cheap.
pub(super) const SERVERS_MAX: usize = 64;
/// Name servers of a referral beyond which it is none: as many records as a set may have that is kept, here and in BIND (max-records-per-type), which loads no such zone.
pub(super) const SERVERS_SOUND: u16 = 100;
/// Addresses of one server of a referral; those beyond are passed over. Nobody asks a server at more.
pub(super) const GLUE_RECORDS_MAX: usize = 8;
/// Aliases that are followed inside of one response; the next one is asked for anew, by who counts those of the whole question.
pub(super) const ALIASES_MAX: usize = 16;
/// Octets of a list of a reply beyond which its room is not kept for the next: nearly all have less, and there are as many replies as tasks.
pub(super) const ROOM_OCTETS_MAX: usize = 16_384;
