//! The bounds of the work on one query and of what is kept for it, each with its reason.

/// Most aliases of a chain, those of local data included. Unbound follows 11, recursor 10, kresd 13; names in use need 5. Fewer break those, more help only
/// those who build chains.
pub const ALIASES_MAX: usize = 10;

/// Most parents of a name that are looked at for a DNAME or for a proof that there is nothing: 16 lookups. Names in use have 3 or 4 labels, those of `ip6.arpa`
/// are denied near their end or not at all; what lies further up a resolver finds as well, once.
pub const PARENTS_MAX: usize = 8;

/// A part of its TTL that an RRset has left when it is asked for anew before it expires: a tenth, as Unbound.
pub const PREFETCH_PART: u64 = 10;

/// Shortest TTL, in seconds, that is worth it: what lives shorter would be asked for all the time.
pub const PREFETCH_TTL_MIN: u32 = 10;

/// Most octets of our name that NSID carries (RFC 5001): what is longer would squeeze answers of 512 octets.
pub const NSID_OCTETS_MAX: usize = 128;

/// Least UDP payload that any client must take (RFC 1035 4.2.1).
pub const UDP_OCTETS_MIN: usize = 512;

/// TTL of what is made here and may change with the next setting: seconds, as RFC 6303 3 has it.
pub const LOCAL_TTL: u32 = 10_800;

/// Longest TTL of what has expired and is served all the same (RFC 8767 5): seconds.
pub const STALE_TTL_MAX: u32 = 30;

/// Most prefixes of DNS64: each makes one record of each address.
pub const DNS64_PREFIXES_MAX: usize = 4;

/// TTL of addresses made by DNS64 where the denial of the others has none (RFC 6147 5.1.7): seconds.
pub const DNS64_TTL: u32 = 600;
