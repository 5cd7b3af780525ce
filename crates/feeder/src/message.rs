//! Records as messages of a transfer (RFC 5936 2.2, RFC 1995 4): names in full, as nothing is gained by compression between two processes.

use wire::header::{AA, HEADER_OCTETS, QR};
use wire::iana::{class, rtype};
use wire::{Name, NameBuf};
use zonefile::RecordBuf;

use feed::frame::REST_OCTETS_MAX;

/// Octets at which a message is full: one more record of a usual length fits, and long ones have a message of their own.
const FULL_OCTETS: usize = 32 << 10;

/// Octets of a record beside its owner and RDATA.
const FIXED_OCTETS: usize = 10;

/// A record that no message has room for: RDATA of nearly 64 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Messages of one transfer.
pub(crate) struct Messages {
    zone: NameBuf,
    qtype: u16,
    octets: Vec<u8>,
    records: u16,
    is_first: bool,
}

impl Messages {
    /// Of a zone; `is_whole`: whether all of it comes, or what has changed.
    pub(crate) fn new(zone: &Name, is_whole: bool) -> Messages {
        let qtype = if is_whole { rtype::AXFR } else { rtype::IXFR };
        Messages { zone: zone.to_owned(), qtype, octets: Vec::new(), records: 0, is_first: true }
    }

    /// Puts a record in; a message that is full before it goes to `each`.
    pub(crate) fn push<E: From<TooLong>>(
        &mut self,
        record: &RecordBuf,
        each: &mut impl FnMut(Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let octets = record.owner.octets().len() + FIXED_OCTETS + record.rdata.len();
        if self.records > 0 && (self.octets.len() + octets > FULL_OCTETS || self.records == u16::MAX) {
            each(self.take())?;
        }
        if self.octets.is_empty() {
            self.begin();
        }
        if self.octets.len() + octets > REST_OCTETS_MAX {
            return Err(TooLong.into());
        }
        self.octets.extend_from_slice(record.owner.octets());
        self.octets.extend_from_slice(&record.rtype.to_be_bytes());
        self.octets.extend_from_slice(&class::IN.to_be_bytes());
        self.octets.extend_from_slice(&record.ttl.to_be_bytes());
        self.octets.extend_from_slice(&(record.rdata.len() as u16).to_be_bytes());
        self.octets.extend_from_slice(&record.rdata);
        self.records += 1;
        Ok(())
    }

    /// The last message.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.take()
    }

    fn begin(&mut self) {
        self.octets.resize(HEADER_OCTETS, 0);
        self.octets[2..4].copy_from_slice(&(QR | AA).to_be_bytes());
        if self.is_first {
            self.octets[5] = 1;
            self.octets.extend_from_slice(self.zone.octets());
            self.octets.extend_from_slice(&self.qtype.to_be_bytes());
            self.octets.extend_from_slice(&class::IN.to_be_bytes());
        }
        self.is_first = false;
    }

    fn take(&mut self) -> Vec<u8> {
        let mut octets = std::mem::take(&mut self.octets);
        if let Some(count) = octets.get_mut(6..8) {
            count.copy_from_slice(&std::mem::take(&mut self.records).to_be_bytes());
        }
        octets
    }
}
