//! What is answered from here, before the cache is asked: local names, and reverse names of addresses that DNS64 made.

use crate::dns64::REVERSE_OCTETS_MAX;
use crate::limits::{ALIASES_MAX, DNS64_TTL, LOCAL_TTL};
use crate::local::Found;
use crate::policy::Policy;
use crate::space::NameSpace;
use crate::verdict::Verdict;
use crate::wishes::Wishes;
use crate::writer::{Lasts, Writer};
use cache::Moment;
use wire::RdataList;
use wire::header;
use wire::iana::{ede, rcode, rtype};
use wire::render::Section;
use wire::rrset::Rrset;

/// What local names say.
pub(super) struct Said {
    pub end: Option<LocalEnd>,
    pub is_aliased: bool,
    pub is_told: bool,
}

/// How they answer.
pub(super) enum LocalEnd {
    Verdict(Verdict),
    Drop,
}

/// Writes what local names say of the name, or leaves in `name` the one to go on with.
pub(super) fn local(
    policy: &Policy,
    wishes: &Wishes,
    name: &mut NameSpace,
    now: Moment,
    writer: &mut Writer<'_>,
) -> Said {
    let mut said = Said { end: None, is_aliased: false, is_told: false };
    let lasts = |ttl: u32| Lasts { ttl, until: now.plus_seconds(ttl) };
    for _ in 0..ALIASES_MAX {
        let (found, is_told) = policy.local.find(name.name(), wishes.qtype);
        said.is_told |= is_told;
        let verdict = Verdict { flags: header::AA, ..Verdict::default() };
        said.end = Some(LocalEnd::Verdict(match found {
            Found::Nothing => {
                let target = reverse(policy, wishes, name, writer, lasts(DNS64_TTL));
                said.is_aliased |= target;
                return said;
            }
            Found::Alias(set, target) => {
                writer.rrset(&Rrset { owner: name.name(), ..set }, lasts(set.ttl));
                name.set_lower(target);
                said.is_aliased = true;
                said.end = None;
                continue;
            }
            Found::Data(set) => {
                writer.rrset(&Rrset { owner: name.name(), ..set }, lasts(set.ttl));
                verdict
            }
            Found::Null => {
                let octets: &[u8] = if wishes.qtype == rtype::A { &[0; 4] } else { &[0; 16] };
                let record = |at: usize| (at == 0).then_some(octets);
                writer.records(name.name(), wishes.qtype, lasts(LOCAL_TTL), 1, record, RdataList::EMPTY);
                Verdict { edes: [Some(ede::BLOCKED), None], ..verdict }
            }
            Found::Denied { has_name, soa, is_blocked } => {
                if has_name && made_locally(policy, wishes, name, writer, lasts(LOCAL_TTL)) {
                    return Said { end: Some(LocalEnd::Verdict(verdict)), ..said };
                }
                writer.begin_section(Section::Authority);
                writer.rrset(&soa, lasts(soa.ttl));
                let rcode = if has_name { rcode::NOERROR } else { rcode::NXDOMAIN };
                Verdict { rcode, edes: [is_blocked.then_some(ede::BLOCKED), None], ..verdict }
            }
            Found::Refused => Verdict::with_ede(rcode::REFUSED, ede::BLOCKED),
            Found::Dropped => {
                said.end = Some(LocalEnd::Drop);
                return said;
            }
        }));
        return said;
    }
    said.end = Some(LocalEnd::Verdict(Verdict::of(rcode::SERVFAIL)));
    said
}

/// Makes the reverse name of an address that DNS64 made an alias of that of the IPv4 address (RFC 6147 5.3.1), and leaves that in `name`.
fn reverse(
    policy: &Policy,
    wishes: &Wishes,
    name: &mut NameSpace,
    writer: &mut Writer<'_>,
    lasts: Lasts,
) -> bool {
    if !wishes.wants_dns64 || wishes.qtype != rtype::PTR {
        return false;
    }
    let mut to = [0; REVERSE_OCTETS_MAX];
    let target = policy.dns64.as_ref().and_then(|dns64| dns64.reverse(name.name(), &mut to));
    let Some(target) = target else { return false };
    let rdata = [target.octets()];
    writer.records(name.name(), rtype::CNAME, lasts, 1, |at| rdata.get(at).copied(), RdataList::EMPTY);
    name.set(target);
    true
}

/// Writes addresses made of local ones, as those of `ipv4only.arpa.` (RFC 8880 7.1). Whether there are any.
fn made_locally(
    policy: &Policy,
    wishes: &Wishes,
    name: &NameSpace,
    writer: &mut Writer<'_>,
    lasts: Lasts,
) -> bool {
    let Some(dns64) = policy.dns64.as_ref().filter(|_| wishes.wants_dns64 && wishes.qtype == rtype::AAAA)
    else {
        return false;
    };
    let (Found::Data(set), _) = policy.local.find(name.name(), rtype::A) else { return false };
    let mut is_written = false;
    // One by one: no set of ours is so long that it would be worth a list.
    for octets in dns64.made(set.rdatas) {
        let rdata = [&octets[..]];
        writer.records(name.name(), rtype::AAAA, lasts, 1, |at| rdata.get(at).copied(), RdataList::EMPTY);
        is_written = true;
    }
    is_written
}
