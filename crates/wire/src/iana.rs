//! Code points: types, classes, response codes, operation codes, extended errors, EDNS options.
//!
//! The registries are IANA's "Domain Name System (DNS) Parameters". Each is a module of constants with
//! `mnemonic` (number to text); [`rtype`] has the way back too, which a zone file takes once per record.

/// Makes a module body of one registry: a constant per code point, and the table of all of them.
macro_rules! registry {
    ($number:ty; $($name:ident = $value:literal $text:literal, $doc:literal;)*) => {
        $(#[doc = $doc] pub const $name: $number = $value;)*

        /// Every code point of this registry with its mnemonic, in ascending order.
        pub const ALL: &[($number, &str)] = &[$(($value, $text)),*];
    };
}

/// RR types by number (RFC 1035 3.2.2 and the registry of RR types).
pub mod rtype {
    registry! { u16;
        A = 1 "A", "IPv4 address (RFC 1035).";
        NS = 2 "NS", "Authoritative name server (RFC 1035).";
        MD = 3 "MD", "Mail destination, obsolete (RFC 1035).";
        MF = 4 "MF", "Mail forwarder, obsolete (RFC 1035).";
        CNAME = 5 "CNAME", "Canonical name of an alias (RFC 1035).";
        SOA = 6 "SOA", "Start of authority (RFC 1035).";
        MB = 7 "MB", "Mailbox, experimental (RFC 1035).";
        MG = 8 "MG", "Mail group member, experimental (RFC 1035).";
        MR = 9 "MR", "Mail rename, experimental (RFC 1035).";
        NULL = 10 "NULL", "Anything, without presentation format (RFC 1035).";
        WKS = 11 "WKS", "Well-known services (RFC 1035).";
        PTR = 12 "PTR", "Pointer (RFC 1035).";
        HINFO = 13 "HINFO", "Host information (RFC 1035).";
        MINFO = 14 "MINFO", "Mailbox information (RFC 1035).";
        MX = 15 "MX", "Mail exchange (RFC 1035).";
        TXT = 16 "TXT", "Text (RFC 1035).";
        RP = 17 "RP", "Responsible person (RFC 1183).";
        AFSDB = 18 "AFSDB", "AFS data base (RFC 1183).";
        X25 = 19 "X25", "X.25 address (RFC 1183).";
        ISDN = 20 "ISDN", "ISDN address (RFC 1183).";
        RT = 21 "RT", "Route through (RFC 1183).";
        NSAP = 22 "NSAP", "NSAP address (RFC 1706).";
        NSAP_PTR = 23 "NSAP-PTR", "NSAP pointer (RFC 1348).";
        SIG = 24 "SIG", "Signature before RRSIG (RFC 2535), still used by SIG(0) (RFC 2931).";
        KEY = 25 "KEY", "Key before DNSKEY (RFC 2535), still used by SIG(0) (RFC 2931).";
        PX = 26 "PX", "X.400 mapping (RFC 2163).";
        GPOS = 27 "GPOS", "Geographical position (RFC 1712).";
        AAAA = 28 "AAAA", "IPv6 address (RFC 3596).";
        LOC = 29 "LOC", "Location (RFC 1876).";
        NXT = 30 "NXT", "Denial before NSEC, obsolete (RFC 2535).";
        EID = 31 "EID", "Endpoint identifier (Nimrod).";
        NIMLOC = 32 "NIMLOC", "Nimrod locator.";
        SRV = 33 "SRV", "Service (RFC 2782).";
        ATMA = 34 "ATMA", "ATM address.";
        NAPTR = 35 "NAPTR", "Naming authority pointer (RFC 3403).";
        KX = 36 "KX", "Key exchanger (RFC 2230).";
        CERT = 37 "CERT", "Certificate (RFC 4398).";
        A6 = 38 "A6", "IPv6 address in pieces, historic (RFC 2874, RFC 6563).";
        DNAME = 39 "DNAME", "Redirection of a subtree (RFC 6672).";
        SINK = 40 "SINK", "Kitchen sink.";
        OPT = 41 "OPT", "EDNS pseudo record (RFC 6891).";
        APL = 42 "APL", "Address prefix list (RFC 3123).";
        DS = 43 "DS", "Delegation signer (RFC 4034).";
        SSHFP = 44 "SSHFP", "Fingerprint of an SSH key (RFC 4255).";
        IPSECKEY = 45 "IPSECKEY", "IPsec key (RFC 4025).";
        RRSIG = 46 "RRSIG", "Signature of an RRset (RFC 4034).";
        NSEC = 47 "NSEC", "Authenticated denial (RFC 4034).";
        DNSKEY = 48 "DNSKEY", "Zone key (RFC 4034).";
        DHCID = 49 "DHCID", "DHCP client identity (RFC 4701).";
        NSEC3 = 50 "NSEC3", "Hashed authenticated denial (RFC 5155).";
        NSEC3PARAM = 51 "NSEC3PARAM", "NSEC3 parameters (RFC 5155).";
        TLSA = 52 "TLSA", "TLS certificate association (RFC 6698).";
        SMIMEA = 53 "SMIMEA", "S/MIME certificate association (RFC 8162).";
        HIP = 55 "HIP", "Host identity (RFC 8005).";
        NINFO = 56 "NINFO", "Zone status information.";
        RKEY = 57 "RKEY", "Key for encrypting NAPTR records.";
        TALINK = 58 "TALINK", "Link between trust anchors.";
        CDS = 59 "CDS", "Child copy of DS (RFC 7344).";
        CDNSKEY = 60 "CDNSKEY", "Child copy of DNSKEY (RFC 7344).";
        OPENPGPKEY = 61 "OPENPGPKEY", "OpenPGP key (RFC 7929).";
        CSYNC = 62 "CSYNC", "Child to parent synchronisation (RFC 7477).";
        ZONEMD = 63 "ZONEMD", "Digest of a zone (RFC 8976).";
        SVCB = 64 "SVCB", "Service binding (RFC 9460).";
        HTTPS = 65 "HTTPS", "Service binding of HTTPS (RFC 9460).";
        DSYNC = 66 "DSYNC", "Where to send generalised NOTIFY (RFC 9859).";
        HHIT = 67 "HHIT", "Hierarchical host identity tag (RFC 9886).";
        BRID = 68 "BRID", "Broadcast remote identification (RFC 9886).";
        SPF = 99 "SPF", "Sender policy, discontinued in favour of TXT (RFC 7208).";
        UINFO = 100 "UINFO", "Reserved, no presentation format.";
        UID = 101 "UID", "Reserved, no presentation format.";
        GID = 102 "GID", "Reserved, no presentation format.";
        UNSPEC = 103 "UNSPEC", "Reserved, no presentation format.";
        NID = 104 "NID", "Node identifier (RFC 6742).";
        L32 = 105 "L32", "32-bit locator (RFC 6742).";
        L64 = 106 "L64", "64-bit locator (RFC 6742).";
        LP = 107 "LP", "Locator pointer (RFC 6742).";
        EUI48 = 108 "EUI48", "48-bit hardware address (RFC 7043).";
        EUI64 = 109 "EUI64", "64-bit hardware address (RFC 7043).";
        NXNAME = 128 "NXNAME", "Mark of a name that does not exist, never a record of its own (RFC 9824).";
        TKEY = 249 "TKEY", "Transaction key (RFC 2930).";
        TSIG = 250 "TSIG", "Transaction signature (RFC 8945).";
        IXFR = 251 "IXFR", "Incremental transfer (RFC 1995).";
        AXFR = 252 "AXFR", "Whole transfer (RFC 5936).";
        MAILB = 253 "MAILB", "Query for MB, MG or MR (RFC 1035).";
        MAILA = 254 "MAILA", "Query for mail agents, obsolete (RFC 1035).";
        ANY = 255 "ANY", "All types (RFC 1035, RFC 8482).";
        URI = 256 "URI", "Uniform resource identifier (RFC 7553).";
        CAA = 257 "CAA", "Certification authority authorisation (RFC 8659).";
        AVC = 258 "AVC", "Application visibility and control.";
        DOA = 259 "DOA", "Digital object architecture.";
        AMTRELAY = 260 "AMTRELAY", "Multicast tunnelling relay (RFC 8777).";
        RESINFO = 261 "RESINFO", "Resolver information (RFC 9606).";
        WALLET = 262 "WALLET", "Public wallet address.";
        CLA = 263 "CLA", "Convergence layer adapter of a bundle protocol node.";
        IPN = 264 "IPN", "Number of a bundle protocol node.";
        TA = 32768 "TA", "Trust authorities.";
        DLV = 32769 "DLV", "Look-aside validation, obsolete (RFC 8749).";
    }

    /// Slots of the table from mnemonic to number: a power of two, sparse enough that almost every
    /// mnemonic is found in its first slot.
    const SLOTS: usize = 1024;
    const _: () = assert!(ALL.len() < SLOTS / 8);
    /// One more than the greatest number of the dense part of the registry.
    const DENSE: usize = IPN as usize + 1;

    /// Position in [`ALL`] plus one of the mnemonic that hashes to a slot or to one just before it.
    static BY_MNEMONIC: [u8; SLOTS] = {
        let mut slots = [0; SLOTS];
        let mut at = 0;
        while at < ALL.len() {
            let mut slot = slot_of(ALL[at].1.as_bytes());
            while slots[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = at as u8 + 1;
            at += 1;
        }
        slots
    };

    static BY_NUMBER: [&str; DENSE] = {
        let mut texts = [""; DENSE];
        let mut at = 0;
        while at < ALL.len() {
            if (ALL[at].0 as usize) < DENSE {
                texts[ALL[at].0 as usize] = ALL[at].1;
            }
            at += 1;
        }
        texts
    };

    /// Where the search for a mnemonic begins. Bit 5 of each octet is dropped so that case does not
    /// matter; other octets may fall together, the comparison afterwards tells them apart.
    const fn slot_of(text: &[u8]) -> usize {
        let mut word = text.len() as u64;
        let mut at = 0;
        while at < text.len() {
            word = word.wrapping_mul(67) ^ (text[at] & 0xdf) as u64;
            at += 1;
        }
        (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize
    }

    /// The type with this mnemonic, in any case; `None` for `TYPEnnn`, see [`from_text`].
    #[inline]
    pub fn from_mnemonic(text: &[u8]) -> Option<u16> {
        // The longest mnemonics are NSEC3PARAM and OPENPGPKEY; longer text would only cost time.
        if text.len() > 10 {
            return None;
        }
        let mut slot = slot_of(text);
        loop {
            let (number, mnemonic) = ALL[(BY_MNEMONIC[slot] as usize).checked_sub(1)?];
            if mnemonic.as_bytes().eq_ignore_ascii_case(text) {
                return Some(number);
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// The type with this mnemonic or of the form `TYPEnnn` (RFC 3597 5), in any case.
    pub fn from_text(text: &[u8]) -> Option<u16> {
        from_mnemonic(text).or_else(|| super::numbered(text, b"TYPE"))
    }

    /// The mnemonic, where the type has one.
    pub fn mnemonic(rtype: u16) -> Option<&'static str> {
        match BY_NUMBER.get(rtype as usize) {
            Some(&"") => None,
            Some(text) => Some(text),
            None => ALL.iter().rev().take(2).find(|entry| entry.0 == rtype).map(|entry| entry.1),
        }
    }

    /// Displays a type as its mnemonic or as `TYPEnnn` (RFC 3597 5).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Text(pub u16);

    impl std::fmt::Display for Text {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            match mnemonic(self.0) {
                Some(text) => f.write_str(text),
                None => write!(f, "TYPE{}", self.0),
            }
        }
    }

    /// Whether the type exists in queries and messages only, never as data of a zone (RFC 6895 3.1):
    /// OPT, NXNAME, and the block of Q and meta types 128 to 255.
    pub const fn is_meta(rtype: u16) -> bool {
        rtype == OPT || matches!(rtype, 128..=255)
    }

    /// Whether data of the type may stand at the owner of a CNAME record, itself or beside it: keys and proofs (RFC 2181 10.1, RFC 3007 2,
    /// RFC 4034 3 and 4). A query for such a type is about that name and not about the one that it is an alias of (RFC 4035 2.5).
    pub const fn may_be_at_cname(rtype: u16) -> bool {
        matches!(rtype, CNAME | SIG | KEY | NXT | RRSIG | NSEC)
    }
}

/// Classes by number.
pub mod class {
    registry! { u16;
        IN = 1 "IN", "The Internet.";
        CH = 3 "CH", "Chaos: server identification (RFC 4892).";
        HS = 4 "HS", "Hesiod.";
        NONE = 254 "NONE", "None (RFC 2136).";
        ANY = 255 "ANY", "Any class.";
    }

    /// The class with this mnemonic or of the form `CLASSnnn` (RFC 3597 5), in any case.
    pub fn from_text(text: &[u8]) -> Option<u16> {
        super::named(ALL, text).or_else(|| super::numbered(text, b"CLASS"))
    }

    /// The mnemonic, where the class has one.
    pub fn mnemonic(class: u16) -> Option<&'static str> {
        super::text_of(ALL, class)
    }
}

/// Response codes, those that need EDNS for their upper bits included (RFC 6895 2.3).
pub mod rcode {
    registry! { u16;
        NOERROR = 0 "NOERROR", "No error (RFC 1035).";
        FORMERR = 1 "FORMERR", "The query cannot be read (RFC 1035).";
        SERVFAIL = 2 "SERVFAIL", "The server failed (RFC 1035).";
        NXDOMAIN = 3 "NXDOMAIN", "The name does not exist (RFC 1035).";
        NOTIMP = 4 "NOTIMP", "Kind of query not implemented (RFC 1035).";
        REFUSED = 5 "REFUSED", "The server does not want to (RFC 1035).";
        YXDOMAIN = 6 "YXDOMAIN", "Name exists when it should not (RFC 2136, RFC 6672).";
        YXRRSET = 7 "YXRRSET", "RRset exists when it should not (RFC 2136).";
        NXRRSET = 8 "NXRRSET", "RRset that should exist does not (RFC 2136).";
        NOTAUTH = 9 "NOTAUTH", "Not authoritative or not authorised (RFC 2136, RFC 8945).";
        NOTZONE = 10 "NOTZONE", "Name outside the zone (RFC 2136).";
        DSOTYPENI = 11 "DSOTYPENI", "DSO type not implemented (RFC 8490).";
        BADVERS = 16 "BADVERS", "EDNS version not supported (RFC 6891); as TSIG error, bad signature.";
        BADKEY = 17 "BADKEY", "Key not recognised (RFC 8945).";
        BADTIME = 18 "BADTIME", "Signature out of its time window (RFC 8945).";
        BADMODE = 19 "BADMODE", "Bad TKEY mode (RFC 2930).";
        BADNAME = 20 "BADNAME", "Duplicate key name (RFC 2930).";
        BADALG = 21 "BADALG", "Algorithm not supported (RFC 2930).";
        BADTRUNC = 22 "BADTRUNC", "Bad truncation (RFC 8945).";
        BADCOOKIE = 23 "BADCOOKIE", "Bad or missing server cookie (RFC 7873).";
    }

    /// The mnemonic, where the response code has one.
    pub fn mnemonic(rcode: u16) -> Option<&'static str> {
        super::text_of(ALL, rcode)
    }
}

/// Operation codes.
pub mod opcode {
    registry! { u8;
        QUERY = 0 "QUERY", "An ordinary query (RFC 1035).";
        IQUERY = 1 "IQUERY", "Inverse query, obsolete (RFC 3425).";
        STATUS = 2 "STATUS", "Server status, never specified (RFC 1035).";
        NOTIFY = 4 "NOTIFY", "Change of a zone (RFC 1996).";
        UPDATE = 5 "UPDATE", "Dynamic update (RFC 2136).";
        DSO = 6 "DSO", "Stateful operations (RFC 8490).";
    }

    /// The mnemonic, where the operation code has one.
    pub fn mnemonic(opcode: u8) -> Option<&'static str> {
        super::text_of(ALL, opcode)
    }
}

/// Extended DNS errors (RFC 8914).
pub mod ede {
    registry! { u16;
        OTHER = 0 "Other Error", "None of the others (RFC 8914 4.1).";
        UNSUPPORTED_DNSKEY_ALGORITHM = 1 "Unsupported DNSKEY Algorithm", "RFC 8914 4.2.";
        UNSUPPORTED_DS_DIGEST_TYPE = 2 "Unsupported DS Digest Type", "RFC 8914 4.3.";
        STALE_ANSWER = 3 "Stale Answer", "RFC 8914 4.4.";
        FORGED_ANSWER = 4 "Forged Answer", "RFC 8914 4.5.";
        DNSSEC_INDETERMINATE = 5 "DNSSEC Indeterminate", "RFC 8914 4.6.";
        DNSSEC_BOGUS = 6 "DNSSEC Bogus", "RFC 8914 4.7.";
        SIGNATURE_EXPIRED = 7 "Signature Expired", "RFC 8914 4.8.";
        SIGNATURE_NOT_YET_VALID = 8 "Signature Not Yet Valid", "RFC 8914 4.9.";
        DNSKEY_MISSING = 9 "DNSKEY Missing", "RFC 8914 4.10.";
        RRSIGS_MISSING = 10 "RRSIGs Missing", "RFC 8914 4.11.";
        NO_ZONE_KEY_BIT_SET = 11 "No Zone Key Bit Set", "RFC 8914 4.12.";
        NSEC_MISSING = 12 "NSEC Missing", "RFC 8914 4.13.";
        CACHED_ERROR = 13 "Cached Error", "RFC 8914 4.14.";
        NOT_READY = 14 "Not Ready", "RFC 8914 4.15.";
        BLOCKED = 15 "Blocked", "RFC 8914 4.16.";
        CENSORED = 16 "Censored", "RFC 8914 4.17.";
        FILTERED = 17 "Filtered", "RFC 8914 4.18.";
        PROHIBITED = 18 "Prohibited", "RFC 8914 4.19.";
        STALE_NXDOMAIN_ANSWER = 19 "Stale NXDOMAIN Answer", "RFC 8914 4.20.";
        NOT_AUTHORITATIVE = 20 "Not Authoritative", "RFC 8914 4.21.";
        NOT_SUPPORTED = 21 "Not Supported", "RFC 8914 4.22.";
        NO_REACHABLE_AUTHORITY = 22 "No Reachable Authority", "RFC 8914 4.23.";
        NETWORK_ERROR = 23 "Network Error", "RFC 8914 4.24.";
        INVALID_DATA = 24 "Invalid Data", "RFC 8914 4.25.";
        SIGNATURE_EXPIRED_BEFORE_VALID = 25 "Signature Expired before Valid", "Registered after RFC 8914.";
        TOO_EARLY = 26 "Too Early", "Query in early data refused (RFC 9250).";
        UNSUPPORTED_NSEC3_ITERATIONS = 27 "Unsupported NSEC3 Iterations Value", "RFC 9276.";
        UNABLE_TO_CONFORM_TO_POLICY = 28 "Unable to conform to policy", "Registered after RFC 8914.";
        SYNTHESIZED = 29 "Synthesized", "Registered after RFC 8914.";
        INVALID_QUERY_TYPE = 30 "Invalid Query Type", "Query for NXNAME (RFC 9824).";
        NEGATIVE_TRUST_ANCHOR = 33 "Negative Trust Anchor", "RFC 7646; registered after RFC 8914.";
    }

    /// The purpose as the registry words it.
    pub fn mnemonic(code: u16) -> Option<&'static str> {
        super::text_of(ALL, code)
    }
}

/// EDNS options (RFC 6891 6.1.2).
pub mod edns_option {
    registry! { u16;
        LLQ = 1 "LLQ", "Long-lived query (RFC 8764).";
        UPDATE_LEASE = 2 "UL", "Update lease (RFC 9664).";
        NSID = 3 "NSID", "Name server identifier (RFC 5001).";
        DAU = 5 "DAU", "DNSSEC algorithms understood (RFC 6975).";
        DHU = 6 "DHU", "DS hashes understood (RFC 6975).";
        N3U = 7 "N3U", "NSEC3 hashes understood (RFC 6975).";
        CLIENT_SUBNET = 8 "ECS", "Client subnet (RFC 7871).";
        EXPIRE = 9 "EXPIRE", "Time to expiry of a secondary's zone (RFC 7314).";
        COOKIE = 10 "COOKIE", "Cookies (RFC 7873, RFC 9018).";
        TCP_KEEPALIVE = 11 "KEEPALIVE", "Idle time-out of a TCP session (RFC 7828).";
        PADDING = 12 "PADDING", "Padding (RFC 7830).";
        CHAIN = 13 "CHAIN", "Chain query (RFC 7901).";
        KEY_TAG = 14 "KEYTAG", "Trust anchor key tags (RFC 8145).";
        EDE = 15 "EDE", "Extended error (RFC 8914).";
        CLIENT_TAG = 16 "CLIENT-TAG", "Opaque client tag.";
        SERVER_TAG = 17 "SERVER-TAG", "Opaque server tag.";
        REPORT_CHANNEL = 18 "REPORT-CHANNEL", "Agent for error reports (RFC 9567).";
        ZONEVERSION = 19 "ZONEVERSION", "Version of the zone (RFC 9660).";
    }

    /// The mnemonic, where the option has one.
    pub fn mnemonic(code: u16) -> Option<&'static str> {
        super::text_of(ALL, code)
    }
}

/// DNSSEC algorithm numbers with the mnemonics that zone files use (RFC 4034 A.1, RFC 8624).
pub mod algorithm {
    registry! { u8;
        DELETE = 0 "DELETE", "Removal of the DS RRset (RFC 8078).";
        RSAMD5 = 1 "RSAMD5", "RSA with MD5, must not be used (RFC 6725).";
        DH = 2 "DH", "Diffie-Hellman (RFC 2539).";
        DSA = 3 "DSA", "DSA with SHA-1 (RFC 2536).";
        RSASHA1 = 5 "RSASHA1", "RSA with SHA-1 (RFC 3110).";
        DSANSEC3SHA1 = 6 "DSA-NSEC3-SHA1", "DSA with SHA-1 and NSEC3 (RFC 5155).";
        RSASHA1NSEC3SHA1 = 7 "RSASHA1-NSEC3-SHA1", "RSA with SHA-1 and NSEC3 (RFC 5155).";
        RSASHA256 = 8 "RSASHA256", "RSA with SHA-256 (RFC 5702).";
        RSASHA512 = 10 "RSASHA512", "RSA with SHA-512 (RFC 5702).";
        ECCGOST = 12 "ECC-GOST", "GOST R 34.10-2001 (RFC 5933).";
        ECDSAP256SHA256 = 13 "ECDSAP256SHA256", "ECDSA with P-256 and SHA-256 (RFC 6605).";
        ECDSAP384SHA384 = 14 "ECDSAP384SHA384", "ECDSA with P-384 and SHA-384 (RFC 6605).";
        ED25519 = 15 "ED25519", "Ed25519 (RFC 8080).";
        ED448 = 16 "ED448", "Ed448 (RFC 8080).";
        SM2SM3 = 17 "SM2SM3", "SM2 with SM3 (RFC 9563).";
        ECCGOST12 = 23 "ECC-GOST12", "GOST R 34.10-2012 (RFC 9558).";
        INDIRECT = 252 "INDIRECT", "Key held elsewhere.";
        PRIVATEDNS = 253 "PRIVATEDNS", "Private, named by a domain name.";
        PRIVATEOID = 254 "PRIVATEOID", "Private, named by an object identifier.";
    }

    /// The algorithm with this mnemonic, in any case.
    pub fn from_mnemonic(text: &[u8]) -> Option<u8> {
        // The names of RFC 4034 and RFC 5155 without their hyphens are common too.
        let plain = match text {
            _ if text.eq_ignore_ascii_case(b"NSEC3DSA") => Some(DSANSEC3SHA1),
            _ if text.eq_ignore_ascii_case(b"NSEC3RSASHA1") => Some(RSASHA1NSEC3SHA1),
            _ if text.eq_ignore_ascii_case(b"ECCGOST") => Some(ECCGOST),
            _ => None,
        };
        plain.or_else(|| super::named(ALL, text))
    }

    /// The mnemonic, where the algorithm has one.
    pub fn mnemonic(algorithm: u8) -> Option<&'static str> {
        super::text_of(ALL, algorithm)
    }
}

/// Certificate types of CERT (RFC 4398 2.1).
pub mod certificate {
    registry! { u16;
        PKIX = 1 "PKIX", "X.509 as per PKIX.";
        SPKI = 2 "SPKI", "SPKI certificate.";
        PGP = 3 "PGP", "OpenPGP packet.";
        IPKIX = 4 "IPKIX", "Where an X.509 object is.";
        ISPKI = 5 "ISPKI", "Where an SPKI certificate is.";
        IPGP = 6 "IPGP", "Fingerprint and place of an OpenPGP packet.";
        ACPKIX = 7 "ACPKIX", "Attribute certificate.";
        IACPKIX = 8 "IACPKIX", "Where an attribute certificate is.";
        URI = 253 "URI", "Private, named by a URI.";
        OID = 254 "OID", "Private, named by an object identifier.";
    }

    /// The certificate type with this mnemonic, in any case.
    pub fn from_mnemonic(text: &[u8]) -> Option<u16> {
        super::named(ALL, text)
    }

    /// The mnemonic, where the certificate type has one.
    pub fn mnemonic(kind: u16) -> Option<&'static str> {
        super::text_of(ALL, kind)
    }
}

/// Searches a small registry for a number.
fn text_of<N: Copy + PartialEq>(all: &[(N, &'static str)], number: N) -> Option<&'static str> {
    all.iter().find(|entry| entry.0 == number).map(|entry| entry.1)
}

/// Searches a small registry for a mnemonic, in any case.
fn named<N: Copy>(all: &[(N, &'static str)], text: &[u8]) -> Option<N> {
    all.iter().find(|entry| entry.1.as_bytes().eq_ignore_ascii_case(text)).map(|entry| entry.0)
}

/// The number of `TYPEnnn` or `CLASSnnn`: decimal digits only, at most 65535 (RFC 3597 5).
fn numbered(text: &[u8], prefix: &[u8]) -> Option<u16> {
    let (start, digits) = text.split_at_checked(prefix.len())?;
    if !start.eq_ignore_ascii_case(prefix) || digits.is_empty() || digits.len() > 5 {
        return None;
    }
    let number = digits.iter().try_fold(0u32, |number, &digit| {
        digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0'))
    })?;
    u16::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_both_ways() {
        for &(number, text) in rtype::ALL {
            assert_eq!(rtype::from_mnemonic(text.as_bytes()), Some(number), "{text}");
            assert_eq!(rtype::from_text(text.to_ascii_lowercase().as_bytes()), Some(number), "{text}");
            assert_eq!(rtype::mnemonic(number), Some(text));
            assert_eq!(rtype::from_text(format!("type{number}").as_bytes()), Some(number));
        }
        let ordered = rtype::ALL.windows(2).all(|pair| pair[0].0 < pair[1].0);
        assert!(ordered, "ALL must ascend");
    }

    #[test]
    fn types_without_mnemonic() {
        assert_eq!(rtype::mnemonic(54), None);
        assert_eq!(rtype::mnemonic(65535), None);
        assert_eq!(rtype::Text(65280).to_string(), "TYPE65280");
        assert_eq!(rtype::Text(rtype::NSEC3PARAM).to_string(), "NSEC3PARAM");
        for text in
            ["", "TYPE", "TYPE65536", "TYPE1x", "TYPE-1", "TYPE000001", "NSX", "\u{e}S", "AAAAAAAAAAAA"]
        {
            assert_eq!(rtype::from_text(text.as_bytes()), None, "{text}");
        }
        assert_eq!(rtype::from_text(b"TYPE65535"), Some(65535));
        assert_eq!(rtype::from_text(b"TYPE00001"), Some(1));
    }

    #[test]
    fn small_registries() {
        assert_eq!(class::from_text(b"in"), Some(1));
        assert_eq!(class::from_text(b"CLASS32"), Some(32));
        assert_eq!(class::from_text(b"INX"), None);
        assert_eq!(class::mnemonic(3), Some("CH"));
        assert_eq!(rcode::mnemonic(rcode::BADCOOKIE), Some("BADCOOKIE"));
        assert_eq!(opcode::mnemonic(3), None);
        assert_eq!(ede::mnemonic(ede::NOT_AUTHORITATIVE), Some("Not Authoritative"));
        assert_eq!(edns_option::mnemonic(19), Some("ZONEVERSION"));
        assert_eq!(algorithm::from_mnemonic(b"ecdsap256sha256"), Some(13));
        assert_eq!(algorithm::from_mnemonic(b"NSEC3RSASHA1"), Some(7));
        assert_eq!(certificate::from_mnemonic(b"PKIX"), Some(1));
        assert_eq!(certificate::mnemonic(9), None);
    }

    #[test]
    fn types_at_a_cname() {
        let types = rtype::ALL.iter().filter(|row| rtype::may_be_at_cname(row.0)).map(|row| row.1);
        assert_eq!(types.collect::<Vec<_>>(), ["CNAME", "SIG", "KEY", "NXT", "RRSIG", "NSEC"]);
    }

    #[test]
    fn meta_types() {
        assert!(rtype::is_meta(rtype::OPT) && rtype::is_meta(rtype::NXNAME) && rtype::is_meta(rtype::ANY));
        assert!(!rtype::is_meta(rtype::DS) && !rtype::is_meta(rtype::URI) && !rtype::is_meta(65280));
    }
}
