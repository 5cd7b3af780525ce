//! Of which kind a response is, and what of its authority and additional sections goes with that.

use wire::Name;
use wire::header::u32_at;
use wire::iana::{rcode, rtype};
use wire::render::Section;

use super::address::is_server;
use super::chain::{self, End, Walked};
use super::head::Head;
use super::limits::{GLUE_RECORDS_MAX, PROOFS_MAX, SERVERS_MAX, SERVERS_SOUND};
use super::sets::{Sets, ttl};
use super::{Asked, Kind, Lame, Reply, Source};

/// What the parts of reading share.
struct Judge<'j> {
    asked: &'j Asked<'j>,
    message: &'j [u8],
    sets: &'j mut Sets,
    into: &'j mut Reply,
}

/// Finds the kind of a response whose records are in `sets`, and puts what is believed of it into `into`.
pub(super) fn judge(asked: &Asked<'_>, head: &Head, message: &[u8], sets: &mut Sets, into: &mut Reply) {
    let mut judge = Judge { asked, message, sets, into };
    judge.into.kind = match judge.into.rcode {
        _ if head.qname_octets == 0 => judge.error(),
        rcode::NOERROR | rcode::NXDOMAIN | rcode::YXDOMAIN => judge.answer(),
        _ => judge.error(),
    };
    if matches!(judge.into.kind, Kind::Lame(_) | Kind::Failed) {
        judge.into.clear_records();
        judge.into.name.clear();
    }
}

impl Judge<'_> {
    /// A response code that says that there is no answer.
    fn error(&self) -> Kind {
        let (asked, into) = (self.asked, &self.into);
        match into.rcode {
            rcode::BADVERS if asked.has_edns => Kind::BadVersion,
            rcode::BADCOOKIE if asked.cookie.is_some() && into.server_cookie().is_some() => Kind::BadCookie,
            rcode::FORMERR | rcode::NOTIMP if asked.has_edns && (!into.has_edns() || self.is_echo()) => {
                Kind::NoEdns
            }
            _ => Kind::Failed,
        }
    }

    /// Whether the OPT record is the one that we have sent: with a cookie and no server's half.
    fn is_echo(&self) -> bool {
        let edns = self.sets.seen.edns.unwrap_or_default();
        self.asked.cookie.is_some()
            && edns.options.cookie(self.message).is_some()
            && self.into.server_cookie().is_none()
    }

    fn answer(&mut self) -> Kind {
        let (walked, end) = chain::walk(self.asked, self.message, self.sets, self.into);
        self.into.set_name(walked.name());
        match end {
            End::Data | End::Elsewhere | End::TooLong if self.asked.is_minimised() => self.exists(&walked),
            End::TooLong => Kind::TooLong,
            _ if self.into.rcode == rcode::YXDOMAIN => Kind::Failed,
            End::Data => self.data(&walked),
            End::Elsewhere => self.alias(),
            End::Nothing => self.without_data(&walked),
        }
    }

    /// What an ancestor that was asked for has in place of the name is of no interest, only that it is there.
    fn exists(&mut self, walked: &Walked) -> Kind {
        if walked.aliases == 0 {
            return match self.data(walked) {
                Kind::Answer => Kind::Exists,
                other => other,
            };
        }
        self.put_proofs();
        self.into.set_name(self.asked.qname);
        Kind::Exists
    }

    fn data(&mut self, walked: &Walked) -> Kind {
        let name = walked.name();
        // Without authority, and beside a delegation that has the name: what the parent knows of a name that is not its own, such as glue.
        let is_authoritative = self.into.is_authoritative || self.asked.source == Source::Forwarder;
        if !is_authoritative
            && walked.aliases == 0
            && self.asked.qtype != rtype::DS
            && let Some(number) = self.cut(name)
        {
            self.into.clear_records();
            return self.referral(name, number);
        }
        self.put_proofs();
        if self.asked.qtype == rtype::NS && name.is_root() && self.asked.source == Source::Authority {
            self.put_servers_of_root(name);
        }
        Kind::Answer
    }

    /// Priming (RFC 9609 3): the root has no parent whose referral names its servers.
    fn put_servers_of_root(&mut self, root: &Name) {
        let into = &mut *self.into;
        into.answer.list().iter().for_each(|set| into.referral.push(&set));
        if let Some(number) = self.sets.find(Section::Answer, root, rtype::NS) {
            self.put_glue(number);
        }
    }

    fn alias(&mut self) -> Kind {
        self.put_proofs();
        Kind::Alias
    }

    /// The chain ends at a name that the answer section has nothing of: it is denied, referred, or not spoken of.
    fn without_data(&mut self, walked: &Walked) -> Kind {
        let name = walked.name();
        if walked.aliases > 0 && self.asked.is_minimised() {
            return self.exists(walked);
        }
        let soa = self.soa(name);
        let is_authoritative = self.into.is_authoritative || self.asked.source == Source::Forwarder;
        if soa.is_some_and(|soa| self.denies_as_child(name, soa)) {
            return Kind::Lame(Lame::Child);
        }
        if self.into.rcode == rcode::NXDOMAIN && (soa.is_some() || is_authoritative) {
            // A zone's apex exists, whatever the response code.
            let is_apex = soa.is_some_and(|number| self.sets.owner_of(number).eq_ignore_case(name));
            self.put_denial(soa);
            return if is_apex { Kind::NoData } else { Kind::NameError };
        }
        if soa.is_some() {
            self.put_denial(soa);
            return Kind::NoData;
        }
        // A referral for an alias's target comes again when that is asked for.
        if walked.aliases > 0 {
            return self.alias();
        }
        match self.cut(name) {
            Some(number) => self.referral(name, number),
            None => {
                let kind = self.nothing(name);
                // A forwarder may have learned of DS from a referral, which has proofs and no SOA.
                if kind == Kind::NoData {
                    self.put_proofs();
                }
                kind
            }
        }
    }

    /// A response about which the zone's servers say nothing: neither a denial nor a referral with the name in it.
    fn nothing(&self, name: &Name) -> Kind {
        let (sets, zone, seen) = (&self.sets, self.asked.zone, &self.sets.seen);
        let is_authoritative = self.into.is_authoritative || self.asked.source == Source::Forwarder;
        // Records of other types at the name are what servers send that know one type only: the name has none of this one.
        let is_of_name = sets.of(Section::Answer).any(|number| sets.owner_of(number).eq_ignore_case(name));
        let mut referrals =
            sets.of(Section::Authority).filter(|number| sets.set_at(*number).rtype == rtype::NS);
        match () {
            () if seen.has_answer && !(is_authoritative && is_of_name) => Kind::Lame(Lame::Other),
            () if is_authoritative => Kind::NoData,
            () if sets.find(Section::Authority, zone, rtype::NS).is_some() => Kind::Lame(Lame::Itself),
            () if seen.has_upward_ns => Kind::Lame(Lame::Upward),
            () if seen.has_sideways_ns || referrals.next().is_some() => Kind::Lame(Lame::Sideways),
            () => Kind::Lame(Lame::Empty),
        }
    }

    /// The SOA of a zone that may deny `name`.
    fn soa(&self, name: &Name) -> Option<usize> {
        let sets = &self.sets;
        sets.of(Section::Authority).find(|number| {
            sets.set_at(*number).rtype == rtype::SOA && name.is_at_or_below(sets.owner_of(*number))
        })
    }

    /// Whether DS is denied by the zone itself in place of its parent, which alone knows (RFC 4035 3.1.4.1).
    fn denies_as_child(&self, name: &Name, soa: usize) -> bool {
        self.asked.qtype == rtype::DS && !name.is_root() && self.sets.owner_of(soa).eq_ignore_case(name)
    }

    /// The NS RRset of a delegation of the zone asked that has `name`: of several the nearest to the zone, which alone is its to give.
    fn cut(&self, name: &Name) -> Option<usize> {
        let (sets, zone) = (&self.sets, self.asked.zone);
        let is_cut = |number: &usize| {
            let owner = sets.owner_of(*number);
            sets.set_at(*number).rtype == rtype::NS
                && owner.octets().len() > zone.octets().len()
                && name.is_at_or_below(owner)
        };
        sets.of(Section::Authority).filter(is_cut).min_by_key(|number| sets.owner_of(*number).octets().len())
    }

    /// A referral to the zone of the NS RRset `number`.
    fn referral(&mut self, name: &Name, number: usize) -> Kind {
        if self.asked.source == Source::Forwarder {
            return Kind::Lame(Lame::Sideways);
        }
        let owner = self.sets.owner_of(number);
        if self.sets.set_at(number).count() > SERVERS_SOUND {
            return Kind::Lame(Lame::Crowd);
        }
        let ds = self.sets.find(Section::Authority, owner, rtype::DS);
        if self.asked.qtype == rtype::DS && owner.eq_ignore_case(name) {
            // What was asked for stands here, or is denied here.
            return match ds {
                Some(ds) => {
                    self.sets.put(self.message, ds, u32::MAX, |_| true, &mut self.into.answer);
                    Kind::Answer
                }
                None => {
                    self.put_proofs();
                    Kind::NoData
                }
            };
        }
        self.into.set_name(owner);
        self.put_glue(number);
        self.sets.put(self.message, number, u32::MAX, first(SERVERS_MAX), &mut self.into.referral);
        match ds {
            Some(ds) => self.sets.put(self.message, ds, u32::MAX, |_| true, &mut self.into.referral),
            None => self.put_proofs(),
        }
        Kind::Referral
    }

    /// SOA, with the TTL of the denial (RFC 2308 5), and what proves it.
    fn put_denial(&mut self, soa: Option<usize>) {
        if let Some(number) = soa {
            let rdata = self.sets.first(self.message, number);
            let minimum = rdata.len().checked_sub(4).map_or(0, |at| ttl(u32_at(rdata, at)));
            self.sets.put_first(self.message, number, minimum, &mut self.into.authority);
        }
        self.put_proofs();
    }

    /// NSEC and NSEC3 RRsets with signatures: without they prove nothing.
    fn put_proofs(&mut self) {
        let mut left = PROOFS_MAX;
        for number in 0..self.sets.count() {
            let set = self.sets.set_at(number);
            let is_proof = matches!(set.rtype, rtype::NSEC | rtype::NSEC3);
            if is_proof && set.section == Section::Authority && set.has_data() && set.is_signed() && left > 0
            {
                left -= 1;
                self.sets.put(self.message, number, u32::MAX, |_| true, &mut self.into.authority);
            }
        }
    }

    /// The addresses in the additional section of servers that the NS RRset `servers` names.
    fn put_glue(&mut self, servers: usize) {
        for number in 0..self.sets.count() {
            let set = self.sets.set_at(number);
            if set.section != Section::Additional
                || !self.sets.has_name(self.message, servers, self.sets.owner_of(number))
            {
                continue;
            }
            let never = self.asked.not_servers;
            let mut is_one_of_first = first(GLUE_RECORDS_MAX);
            let is_kept = |rdata: &[u8]| is_server(rdata, never) && is_one_of_first(rdata);
            self.sets.put(self.message, number, u32::MAX, is_kept, &mut self.into.glue);
        }
    }
}

/// Keeps so many records.
fn first(count: usize) -> impl FnMut(&[u8]) -> bool {
    let mut left = count;
    move |_| {
        let is_kept = left > 0;
        left = left.saturating_sub(1);
        is_kept
    }
}
