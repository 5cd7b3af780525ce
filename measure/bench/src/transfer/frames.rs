//! Records as messages of a stream, each with its length before it.
//!
//! Every message repeats the question, so that the apex stands in the same place in all: owners end in a pointer to it.

use wire::{Name, iana::class};

/// Messages have at most so many octets, but for one with a single record that is longer: every pointer reaches everything
/// in them.
const MESSAGE_OCTETS: usize = 16_384;
/// Where the question's name stands, as a pointer.
const APEX_POINTER: [u8; 2] = [0xc0, 12];
/// QR and AA.
const FLAGS: [u8; 2] = [0x84, 0];

/// Messages one after the other, and where each begins.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    /// Messages with their lengths before them; their ID is 0.
    pub octets: Vec<u8>,
    /// Places of the lengths.
    pub starts: Vec<usize>,
}

/// Writes records into messages of a response to a question for the apex.
pub struct Writer<'n> {
    apex: &'n Name,
    qtype: u16,
    frames: Frames,
    /// Records in the open message.
    count: u16,
}

impl<'n> Writer<'n> {
    /// A response without records so far. `apex`: in lower case.
    pub fn new(apex: &'n Name, qtype: u16) -> Writer<'n> {
        let mut writer = Writer { apex, qtype, frames: Frames::default(), count: 0 };
        writer.open();
        writer
    }

    /// Adds a record in wire form.
    pub fn record(&mut self, record: &[u8]) {
        let apex = self.apex.octets();
        let owner_octets = Name::split_from(record).map_or(0, |(owner, _)| owner.octets().len());
        let (owner, rest) = record.split_at(owner_octets);
        // The root's name is shorter than a pointer to it.
        let prefix = owner.strip_suffix(apex).filter(|_| apex.len() > APEX_POINTER.len());
        let octets = prefix.map_or(owner.len(), |prefix| prefix.len() + 2) + rest.len();
        let begin = self.frames.starts.last().copied().unwrap_or(0) + 2;
        if self.count > 0 && self.frames.octets.len() - begin + octets > MESSAGE_OCTETS {
            self.close();
            self.open();
        }
        let to = &mut self.frames.octets;
        match prefix {
            Some(prefix) => {
                to.extend_from_slice(prefix);
                to.extend_from_slice(&APEX_POINTER);
            }
            None => to.extend_from_slice(owner),
        }
        to.extend_from_slice(rest);
        self.count += 1;
    }

    /// The messages.
    pub fn finish(mut self) -> Frames {
        self.close();
        self.frames
    }

    fn open(&mut self) {
        self.frames.starts.push(self.frames.octets.len());
        let to = &mut self.frames.octets;
        to.extend_from_slice(&[0; 4]);
        to.extend_from_slice(&FLAGS);
        to.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0]);
        to.extend_from_slice(self.apex.octets());
        to.extend_from_slice(&self.qtype.to_be_bytes());
        to.extend_from_slice(&class::IN.to_be_bytes());
        self.count = 0;
    }

    /// Writes length and number of records of the open message.
    fn close(&mut self) {
        let begin = self.frames.starts.last().copied().unwrap_or(0);
        let octets = self.frames.octets.len() - begin - 2;
        self.frames.octets[begin..begin + 2].copy_from_slice(&(octets as u16).to_be_bytes());
        self.frames.octets[begin + 8..begin + 10].copy_from_slice(&self.count.to_be_bytes());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use wire::{Message, NameBuf, iana::rtype};

    use super::*;
    use crate::transfer::records::record;

    #[test]
    fn messages_are_read_again() {
        for apex in ["example.", "."] {
            let apex = NameBuf::from_text(apex).unwrap();
            let owner =
                |number: usize| NameBuf::from_text_at(format!("n{number}").as_bytes(), Some(&apex)).unwrap();
            let mut writer = Writer::new(&apex, rtype::AXFR);
            let long = vec![7; 40_000];
            (0..2000).for_each(|number| writer.record(&record(&owner(number), rtype::A, 5, &[1, 2, 3, 4])));
            writer.record(&record(&owner(2000), 65_280, 5, &long));
            let frames = writer.finish();
            let (mut found, mut lengths) = (0, Vec::new());
            for (index, &start) in frames.starts.iter().enumerate() {
                let end = frames.starts.get(index + 1).copied().unwrap_or(frames.octets.len());
                let octets = &frames.octets[start + 2..end];
                assert_eq!(
                    usize::from(u16::from_be_bytes([frames.octets[start], frames.octets[start + 1]])),
                    octets.len()
                );
                lengths.push(octets.len());
                let message = Message::read(octets).unwrap();
                for one in message.records().unwrap() {
                    let one = one.unwrap();
                    let mut room = [0; 255];
                    assert_eq!(one.owner_name(&mut room).unwrap().octets(), owner(found).octets());
                    found += 1;
                }
            }
            assert_eq!(found, 2001);
            let (last, others) = lengths.split_last().unwrap();
            assert!(*last > 40_000 && others.iter().all(|&octets| octets <= MESSAGE_OCTETS), "{lengths:?}");
        }
    }
}
