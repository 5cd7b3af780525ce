//! Equal questions on the wire: one task asks, the others wait for its answer.
//!
//! ```text
//! keyed hash of (zone, name as minimised, type, who is asked) -> [ leader | followers ]
//! ```
//!
//! Else 10,000 names below one cold zone were 10,000 open questions to its parent, for a forger to guess one of (a birthday attack). A
//! task leads only while a question of its own is on its way, so nobody waits here for somebody who waits.

use std::collections::HashMap;
use std::hash::BuildHasher;

use cache::{Hashed, Secret};
use wire::Name;

use crate::task::Place;
use crate::task::mesh::TaskId;

/// What is asked, as a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InquiryId(u64);

#[derive(Debug)]
pub(crate) struct Inquiry {
    leader: TaskId,
    followers: Vec<TaskId>,
}

/// Equal questions, each with the task that asks and those that follow it.
#[derive(Default)]
pub(crate) struct Inquiries {
    pub(crate) inquiries: HashMap<InquiryId, Inquiry, Hashed>,
    /// Its key is random. Should two hashes be equal for all that, one task gets a response that is none to its question, and asks itself.
    hasher: Secret,
}

impl Inquiries {
    /// The number of a question.
    pub(crate) fn id(&self, place: &Place, name: &Name, rtype: u16) -> InquiryId {
        let names = (place.zone.octets(), name.octets());
        InquiryId(self.hasher.hash_one((names, rtype, place.source)))
    }

    /// Follows whoever asks this. `false`: nobody does, or it is the task itself.
    pub(crate) fn follow(&mut self, id: InquiryId, follower: TaskId) -> bool {
        match self.inquiries.get_mut(&id) {
            Some(inquiry) if inquiry.leader != follower => {
                inquiry.followers.push(follower);
                true
            }
            _ => false,
        }
    }

    /// Asks this for all who come after.
    pub(crate) fn lead(&mut self, id: InquiryId, leader: TaskId) {
        self.inquiries.entry(id).or_insert_with(|| Inquiry { leader, followers: Vec::new() });
    }

    /// The leader asks it no more: who followed, some of which may be gone.
    pub(crate) fn end(&mut self, id: InquiryId, leader: TaskId) -> Vec<TaskId> {
        match self.inquiries.get(&id) {
            Some(inquiry) if inquiry.leader == leader => {
                self.inquiries.remove(&id).map(|inquiry| inquiry.followers).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.inquiries.len()
    }
}
