//! Builds queries, right ones and wrong ones.

use crate::name::Name;

/// DNSSEC answer wanted (RFC 3225), in the flags of the OPT record.
pub const DO: u16 = 0x8000;

/// The OPT record of a query (RFC 6891 6.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edns {
    /// Largest UDP answer wanted, in octets.
    pub payload_octets: u16,
    /// Upper eight bits of the extended RCODE; zero in a query.
    pub rcode_high: u8,
    /// EDNS version.
    pub version: u8,
    /// Flags: [`DO`] and fifteen reserved ones.
    pub flags: u16,
    /// Options as (code, content).
    pub options: Vec<(u16, Vec<u8>)>,
}

impl Default for Edns {
    fn default() -> Edns {
        Edns { payload_octets: 1232, rcode_high: 0, version: 0, flags: 0, options: Vec::new() }
    }
}

/// A query message. Every field may be set to something odd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Message ID.
    pub id: u16,
    /// The second 16 bits of the header: QR, opcode, AA, TC, RD, RA, Z, AD, CD, RCODE.
    pub flags: u16,
    /// QNAME.
    pub name: Name,
    /// QTYPE.
    pub qtype: u16,
    /// QCLASS.
    pub qclass: u16,
    /// The OPT record, if any.
    pub edns: Option<Edns>,
}

impl Query {
    /// A plain query of class IN without EDNS.
    pub fn new(name: &str, qtype: u16) -> Query {
        Query::of(Name::parse(name), qtype)
    }

    /// As [`Query::new`], of a name already read.
    pub fn of(name: Name, qtype: u16) -> Query {
        Query { id: 0x5a17, flags: 0, name, qtype, qclass: 1, edns: None }
    }

    /// With another ID.
    pub fn id(mut self, id: u16) -> Query {
        self.id = id;
        self
    }

    /// With these header flags set as well.
    pub fn flags(mut self, flags: u16) -> Query {
        self.flags |= flags;
        self
    }

    /// With this operation code.
    pub fn opcode(mut self, opcode: u16) -> Query {
        self.flags = (self.flags & !0x7800) | (opcode << 11);
        self
    }

    /// With this class.
    pub fn class(mut self, qclass: u16) -> Query {
        self.qclass = qclass;
        self
    }

    /// With an OPT record of this payload size.
    pub fn edns(mut self, payload_octets: u16) -> Query {
        self.edns.get_or_insert_default().payload_octets = payload_octets;
        self
    }

    /// With an OPT record that has DO set.
    pub fn dnssec(mut self) -> Query {
        self.edns.get_or_insert_default().flags |= DO;
        self
    }

    /// With an EDNS option.
    pub fn option(mut self, code: u16, content: &[u8]) -> Query {
        self.edns.get_or_insert_default().options.push((code, content.to_vec()));
        self
    }

    /// With an EDNS version.
    pub fn version(mut self, version: u8) -> Query {
        self.edns.get_or_insert_default().version = version;
        self
    }

    /// The message.
    pub fn octets(&self) -> Vec<u8> {
        let mut out = header(self.id, self.flags, [1, 0, 0, u16::from(self.edns.is_some())]);
        question(&mut out, &self.name, self.qtype, self.qclass);
        if let Some(edns) = &self.edns {
            opt(&mut out, edns);
        }
        out
    }
}

/// Bits of the second 16 bits of the header.
pub mod flag {
    /// Response.
    pub const QR: u16 = 0x8000;
    /// Authoritative answer.
    pub const AA: u16 = 0x0400;
    /// Truncated.
    pub const TC: u16 = 0x0200;
    /// Recursion desired.
    pub const RD: u16 = 0x0100;
    /// Recursion available.
    pub const RA: u16 = 0x0080;
    /// Reserved; must be zero (RFC 1035 4.1.1).
    pub const Z: u16 = 0x0040;
    /// Authentic data (RFC 4035).
    pub const AD: u16 = 0x0020;
    /// Checking disabled (RFC 4035).
    pub const CD: u16 = 0x0010;
}

/// A header with these counts: questions, answers, authority, additional.
pub fn header(id: u16, flags: u16, counts: [u16; 4]) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    out.extend_from_slice(&id.to_be_bytes());
    out.extend_from_slice(&flags.to_be_bytes());
    for count in counts {
        out.extend_from_slice(&count.to_be_bytes());
    }
    out
}

/// Appends a question.
pub fn question(out: &mut Vec<u8>, name: &Name, qtype: u16, qclass: u16) {
    out.extend_from_slice(name.wire());
    out.extend_from_slice(&qtype.to_be_bytes());
    out.extend_from_slice(&qclass.to_be_bytes());
}

/// Appends a resource record.
pub fn record(out: &mut Vec<u8>, owner: &Name, rtype: u16, class: u16, ttl: u32, rdata: &[u8]) {
    question(out, owner, rtype, class);
    out.extend_from_slice(&ttl.to_be_bytes());
    out.extend_from_slice(&(rdata.len() as u16).to_be_bytes());
    out.extend_from_slice(rdata);
}

/// Appends an OPT record.
pub fn opt(out: &mut Vec<u8>, edns: &Edns) {
    let mut rdata = Vec::new();
    for (code, content) in &edns.options {
        rdata.extend_from_slice(&code.to_be_bytes());
        rdata.extend_from_slice(&(content.len() as u16).to_be_bytes());
        rdata.extend_from_slice(content);
    }
    let ttl = u32::from(edns.rcode_high) << 24 | u32::from(edns.version) << 16 | u32::from(edns.flags);
    record(out, &Name::root(), 41, edns.payload_octets, ttl, &rdata);
}
