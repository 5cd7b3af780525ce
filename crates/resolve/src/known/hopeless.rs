//! What comes to nothing whoever is asked, and is not asked for: names of zones that are bogus for now, and names that their zone's servers disown (RFC 9520).
//!
//! ```text
//! about to choose a server, or to prove   -> broken (`links`): the chain of trust breaks at or above the name
//! about to choose a server                -> `disowned`: all of the zone's servers refer to the zone itself
//!   -> failed, for this question alone: what is known is kept there, for 5 s at first, not once more for each name
//! ```

use cache::Security;
use validate::anchors::Start;
use wire::iana::ede;

use crate::known::start::above;
use crate::outcome::Outcome;
use crate::resolver::Resolver;
use crate::task::state::State;
use crate::task::{Source, Task};

impl Resolver {
    /// How a question ends that is not worth asking, or whose answer is not worth validating. `explain` does all the same.
    pub(crate) fn hopeless(&self, task: &Task) -> Option<Box<Outcome>> {
        match task.state {
            _ if task.story.is_some() => None,
            State::Choosing => self.bogus_whatever_comes(task).or_else(|| self.disowned_by_all(task)),
            State::Proving => self.bogus_whatever_comes(task),
            _ => None,
        }
    }

    fn bogus_whatever_comes(&self, task: &Task) -> Option<Box<Outcome>> {
        if !self.settings.is_validating || task.is_unchecked {
            return None;
        }
        let subject = above(task);
        let (zone, why) = self.broken.is_bogus(subject, self.time.now)?;
        // An anchor below the break is another begin, and where the operator has said so nothing is validated.
        let Start::Anchor { labels, .. } = self.settings.anchors.start(subject, self.time.wall) else {
            return None;
        };
        (labels <= zone.label_count()).then(|| {
            Box::new(Outcome {
                is_fact: true,
                security: Some(Security::Bogus),
                edes: [Some(why.ede), Some(ede::CACHED_ERROR)],
                reason: Some(why.reason),
                ..Outcome::failed()
            })
        })
    }

    fn disowned_by_all(&self, task: &Task) -> Option<Box<Outcome>> {
        let place = &task.place;
        let is_known =
            place.source == Source::Cut && self.disowned.has(&place.zone, &task.qname, self.time.now);
        is_known.then(|| {
            Box::new(Outcome {
                is_fact: true,
                edes: [Some(ede::NOT_AUTHORITATIVE), Some(ede::CACHED_ERROR)],
                reason: Some("the zone's servers refer to the zone itself for such names"),
                ..Outcome::failed()
            })
        })
    }
}
