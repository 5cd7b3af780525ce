//! A zone that can be served, record by record.

use std::ops::ControlFlow;

use wire::iana::rtype;
use zone::Contents;
use zone::change::soa_serial;
use zonefile::RecordBuf;

use super::left_out::LeftOut;
use super::mark::Mark;

/// See the module.
pub struct Zone {
    /// Its records.
    pub contents: Contents,
    /// The same as long as no row of it has changed.
    pub mark: Mark,
    /// What of its rows is not in there.
    pub left_out: LeftOut,
}

impl Zone {
    /// The serial of its SOA record.
    #[must_use]
    pub fn serial(&self) -> Option<u32> {
        let soa = self.contents.node(0).rrset(rtype::SOA)?.records().next()?;
        soa_serial(soa.rdata)
    }

    /// Hands over all records, the SOA record first, until `each` wants none.
    pub fn records(&self, each: &mut dyn FnMut(&RecordBuf) -> ControlFlow<()>) {
        for is_soa in [true, false] {
            for node in self.contents.nodes() {
                let owner = node.name();
                for set in node.rrsets().filter(|set| (set.rtype() == rtype::SOA) == is_soa) {
                    for record in set.records() {
                        let (rtype, ttl, rdata) = (set.rtype(), record.ttl, record.rdata.to_vec());
                        if each(&RecordBuf { owner: owner.clone(), rtype, ttl, rdata }).is_break() {
                            return;
                        }
                    }
                }
                // There is one, of the apex, which is the first of all names.
                if is_soa {
                    break;
                }
            }
        }
    }
}
