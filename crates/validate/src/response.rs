//! A response to be validated, and where its chain of aliases leads.

use wire::iana::{rcode, rtype};
use wire::name::NAME_OCTETS_MAX;
use wire::rrset::RrsetList;
use wire::{Name, NameBuf, Rrset};

use crate::limits::{LINKS_MAX, Limit};

/// What a name server answered: the sections that DNSSEC says something about, without records that have nothing to do with the question.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// The name asked for.
    pub qname: &'a Name,
    /// The type asked for.
    pub qtype: u16,
    /// See [`wire::iana::rcode`].
    pub rcode: u16,
    /// RRsets of the answer section with their signatures; TTLs are seconds from now.
    pub answer: RrsetList<'a>,
    /// The same of the authority section.
    pub authority: RrsetList<'a>,
}

/// What a response says about the last name of its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It has records of the type.
    Answer,
    /// It does not exist.
    NameError,
    /// It has no records of the type.
    NoData,
    /// Nothing: it is to be asked for by itself.
    Elsewhere,
}

impl<'a> Response<'a> {
    /// Follows CNAME and DNAME records from the name asked for: the last name, and what is said about it.
    pub fn follow(&self) -> Result<(NameBuf, Ending), Limit> {
        let mut name = self.qname.to_owned();
        for link in 0..=LINKS_MAX {
            let at_name = |set: &Rrset<'_>| set.owner.eq_ignore_case(&name);
            let answers =
                |set: &Rrset<'_>| at_name(set) && (set.rtype == self.qtype || self.qtype == rtype::ANY);
            if self.answer.iter().any(|set| answers(&set)) {
                return Ok((name, Ending::Answer));
            }
            let alias = self.answer.iter().find(|set| at_name(set) && set.rtype == rtype::CNAME);
            let next = match alias {
                Some(alias) => alias.rdatas.iter().next().and_then(|rdata| Name::from_wire(rdata).ok()),
                None => None,
            };
            if let Some(next) = next {
                name = next.to_owned();
                continue;
            }
            match dname_above(&name, self) {
                Some(dname) => match substitute(&name, &dname) {
                    Some(next) => name = next,
                    // Longer than a name can be: YXDOMAIN, and nothing more is said (RFC 6672 2.2).
                    None => return Ok((name, Ending::Answer)),
                },
                None => {
                    let ending = self.end(link > 0);
                    return Ok((name, ending));
                }
            }
        }
        Err(Limit::Rrsets)
    }

    fn end(&self, has_links: bool) -> Ending {
        if has_links && !self.authority.iter().any(|set| set.rtype == rtype::SOA) {
            Ending::Elsewhere
        } else if self.rcode == rcode::NXDOMAIN {
            Ending::NameError
        } else {
            Ending::NoData
        }
    }
}

/// The DNAME RRset of the answer whose owner is above `name`.
pub(crate) fn dname_above<'a>(name: &Name, response: &Response<'a>) -> Option<Rrset<'a>> {
    let is_above = |set: &Rrset<'_>| {
        set.rtype == rtype::DNAME && !name.eq_ignore_case(set.owner) && name.is_at_or_below(set.owner)
    };
    response.answer.iter().find(is_above)
}

/// What a DNAME makes of a name below its owner (RFC 6672 2.2); none where that is too long for a name, or the record has no target.
pub(crate) fn substitute(name: &Name, dname: &Rrset<'_>) -> Option<NameBuf> {
    let target = Name::from_wire(dname.rdatas.iter().next()?).ok()?;
    let prefix = name.octets().len().checked_sub(dname.owner.octets().len())?;
    let octets = [&name.octets()[..prefix], target.octets()].concat();
    if octets.len() > NAME_OCTETS_MAX {
        return None;
    }
    Name::from_wire(&octets).ok().map(Name::to_owned)
}
