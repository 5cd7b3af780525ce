//! Second looks: what is asked beside a question to which the answers differ, so that a rule can be held to its reason.

use zonda_tests::message::flag;
use zonda_tests::rtype;

use super::RESOLVERS;
use super::judge::patiently;
use super::question::Question;
use super::said::{SERVFAIL, Said};

/// What was said to questions beside one. `None`: not asked, as it is of no use there.
#[derive(Default)]
pub struct Looks {
    /// Zonda, the same without CD and with AD: whether it is authentic.
    checked: Option<Said>,
    /// Each peer, about the one type that Zonda gave for ANY.
    of_type: [Option<Said>; 2],
    /// Each peer that failed, the same with CD turned round.
    turned: [Option<Said>; 2],
    /// Zonda that failed, the same at once with EDNS, so that it can say why.
    again: Option<Said>,
}

/// Those beside the answers of one peer.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    pub checked: Option<&'a Said>,
    pub of_type: Option<&'a Said>,
    pub turned: Option<&'a Said>,
    pub again: Option<&'a Said>,
}

impl Looks {
    /// Asks what is of use for what three said to a question.
    pub fn of(question: &Question, said: &[Said; 3], seconds: u32) -> Looks {
        let [zonda, peers @ ..] = said;
        let mut looks = Looks::default();
        let differs = [0, 1].map(|at| zonda.difference(&peers[at], seconds).is_some());
        if differs == [false; 2] {
            return looks;
        }
        let ask = |question: Question, at: usize| Some(Said::of(question.ask(RESOLVERS[at].1).as_ref()));
        let is_told =
            question.has(flag::AD) || question.query.edns.as_ref().is_some_and(|edns| edns.flags != 0);
        if question.has(flag::CD) || !is_told && zonda.rcode != SERVFAIL {
            looks.checked = ask(question.checked(), 0);
        }
        if zonda.rcode == SERVFAIL {
            looks.again = ask(question.with_edns(), 0);
        }
        let given = zonda.types();
        let only = given.first().filter(|_| question.query.qtype == rtype::ANY && given.len() == 1);
        for at in [0, 1] {
            if let Some(rtype) = only.filter(|_| differs[at]) {
                looks.of_type[at] = ask(question.about(*rtype), 1 + at);
            }
            if peers[at].rcode == SERVFAIL && zonda.rcode != SERVFAIL {
                looks.turned[at] = Some(patiently(&question.turned(), RESOLVERS[1 + at].1).0);
            }
        }
        looks
    }

    /// Those that concern a peer: 0 or 1.
    pub fn at(&self, peer: usize) -> Look<'_> {
        Look {
            checked: self.checked.as_ref(),
            of_type: self.of_type[peer].as_ref(),
            turned: self.turned[peer].as_ref(),
            again: self.again.as_ref(),
        }
    }
}
