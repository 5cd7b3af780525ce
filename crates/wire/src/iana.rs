//! Code points: types, classes, response codes, operation codes.

/// RR types by number (RFC 1035 3.2.2 and the registry of RR types).
pub mod rtype {
    /// IPv4 address (RFC 1035).
    pub const A: u16 = 1;
    /// Authoritative name server (RFC 1035).
    pub const NS: u16 = 2;
    /// Canonical name of an alias (RFC 1035).
    pub const CNAME: u16 = 5;
    /// Start of authority (RFC 1035).
    pub const SOA: u16 = 6;
    /// Pointer (RFC 1035).
    pub const PTR: u16 = 12;
    /// Mail exchange (RFC 1035).
    pub const MX: u16 = 15;
    /// Text (RFC 1035).
    pub const TXT: u16 = 16;
    /// IPv6 address (RFC 3596).
    pub const AAAA: u16 = 28;
    /// Service (RFC 2782).
    pub const SRV: u16 = 33;
    /// Naming authority pointer (RFC 3403).
    pub const NAPTR: u16 = 35;
    /// Redirection of a subtree (RFC 6672).
    pub const DNAME: u16 = 39;
    /// EDNS pseudo record (RFC 6891).
    pub const OPT: u16 = 41;
    /// Delegation signer (RFC 4034).
    pub const DS: u16 = 43;
    /// Signature of an RRset (RFC 4034).
    pub const RRSIG: u16 = 46;
    /// Authenticated denial (RFC 4034).
    pub const NSEC: u16 = 47;
    /// Zone key (RFC 4034).
    pub const DNSKEY: u16 = 48;
    /// Hashed authenticated denial (RFC 5155).
    pub const NSEC3: u16 = 50;
    /// NSEC3 parameters (RFC 5155).
    pub const NSEC3PARAM: u16 = 51;
    /// Child copy of DS (RFC 7344).
    pub const CDS: u16 = 59;
    /// Child copy of DNSKEY (RFC 7344).
    pub const CDNSKEY: u16 = 60;
    /// Digest of a zone (RFC 8976).
    pub const ZONEMD: u16 = 63;
    /// Service binding (RFC 9460).
    pub const SVCB: u16 = 64;
    /// Service binding of HTTPS (RFC 9460).
    pub const HTTPS: u16 = 65;
    /// Incremental transfer (RFC 1995).
    pub const IXFR: u16 = 251;
    /// Whole transfer (RFC 5936).
    pub const AXFR: u16 = 252;
    /// All types (RFC 1035, RFC 8482).
    pub const ANY: u16 = 255;
}

/// Classes by number.
pub mod class {
    /// The Internet.
    pub const IN: u16 = 1;
    /// Chaos: server identification (RFC 4892).
    pub const CH: u16 = 3;
    /// None (RFC 2136).
    pub const NONE: u16 = 254;
    /// Any class.
    pub const ANY: u16 = 255;
}
