//! Messages of every kind that OPT and TSIG can be wrong in, and right; built field by field, so that what is wrong stands behind
//! headers and records that are sound.

use sync::random::Random;
use wire::cookie::{CLIENT_OCTETS, COOKIE_OCTETS, Secrets};
use wire::iana::{class, edns_option, rcode, rtype};
use wire::tsig::{Algorithm, Key, Mac};
use wire::{Name, NameBuf};

use super::{ADDRESS, NOW};

/// What a message is about. The first eight are right or wrong in one way, so that it is known what is to come of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Options,
    Cookie,
    OptionsCutOff,
    SeveralOpt,
    Signed,
    MacCut,
    MacChanged,
    OtherTime,
    ManyOptions,
    TsigFields,
    SeveralTsig,
    Order,
    Pointers,
    Damaged,
    Large,
}

impl Kind {
    pub const ALL: [Kind; 15] = [
        Kind::Options,
        Kind::Cookie,
        Kind::OptionsCutOff,
        Kind::SeveralOpt,
        Kind::Signed,
        Kind::MacCut,
        Kind::MacChanged,
        Kind::OtherTime,
        Kind::ManyOptions,
        Kind::TsigFields,
        Kind::SeveralTsig,
        Kind::Order,
        Kind::Pointers,
        Kind::Damaged,
        Kind::Large,
    ];

    pub fn text(self) -> &'static str {
        match self {
            Kind::Options => "options of every code",
            Kind::Cookie => "cookies of every length",
            Kind::OptionsCutOff => "options that are cut off",
            Kind::SeveralOpt => "several OPT records",
            Kind::Signed => "signed with each algorithm",
            Kind::MacCut => "MACs cut to every length",
            Kind::MacChanged => "MACs or what they sign changed",
            Kind::OtherTime => "signed at other times",
            Kind::ManyOptions => "options by the hundred",
            Kind::TsigFields => "TSIG fields of every value",
            Kind::SeveralTsig => "several TSIG records",
            Kind::Order => "records in the wrong order",
            Kind::Pointers => "pointers in OPT and TSIG",
            Kind::Damaged => "any of these, octets changed",
            Kind::Large => "a signature behind many records",
        }
    }
}

/// What must come of a message, where one thing alone was done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It is known to be readable or not: this response code, but for those of an answer.
    Rcode(u16),
    /// No fault: it is answered.
    Answer,
    /// Whoever has the key believes it, or not for this reason.
    Tsig(Result<(), wire::tsig::Fault>),
    /// Nothing but that there is no harm in it.
    Harmless,
}

/// Keys of each algorithm that take MACs as short as may be, and the names and types that are asked for.
pub struct Maker {
    pub keys: Vec<Key>,
    pub secrets: Secrets,
    names: Vec<NameBuf>,
}

/// A message while it is built.
struct Draft {
    octets: Vec<u8>,
}

impl Draft {
    fn new(random: &mut Random, qname: &Name) -> Draft {
        let mut octets = (random.next_u64() as u16).to_be_bytes().to_vec();
        octets.extend([random.below(2) as u8, 0x10 * random.below(2) as u8, 0, 1, 0, 0, 0, 0, 0, 0]);
        octets.extend(qname.octets());
        let types = [rtype::A, rtype::NS, rtype::SOA, rtype::MX, rtype::AAAA, rtype::DS, rtype::TXT, 65_280];
        octets.extend(types[random.index(types.len())].to_be_bytes());
        octets.extend(class::IN.to_be_bytes());
        Draft { octets }
    }

    /// A record of a section (0: answer), which counts whether or not it is its turn.
    fn record(&mut self, section: usize, owner: &[u8], head: (u16, u16, u32), rdata: &[u8]) {
        self.octets.extend(owner);
        self.octets.extend(head.0.to_be_bytes());
        self.octets.extend(head.1.to_be_bytes());
        self.octets.extend(head.2.to_be_bytes());
        self.octets.extend((rdata.len() as u16).to_be_bytes());
        self.octets.extend(rdata);
        let at = 6 + 2 * section;
        let count = u16::from_be_bytes([self.octets[at], self.octets[at + 1]]).wrapping_add(1);
        self.octets[at..at + 2].copy_from_slice(&count.to_be_bytes());
    }

    fn opt(&mut self, random: &mut Random, options: &[u8]) {
        let payload = [512, 1232, 4096, random.next_u64() as u16][random.index(4)];
        let flags = if random.chance(0.5) { 0x8000 } else { 0 };
        self.record(2, &[0], (rtype::OPT, payload, flags), options);
    }

    /// The MAC that a key makes of what there is, at a time.
    fn mac(&self, key: &Key, now: u64) -> Mac {
        let mut octets = self.octets.clone();
        octets.resize(octets.len() + key.octets(), 0);
        key.sign(&mut octets, self.octets.len(), now).expect("room for a signature").1
    }

    fn tsig(&mut self, fields: &Tsig<'_>) {
        let time = fields.time.to_be_bytes();
        let rdata = [
            fields.algorithm,
            &time[2..],
            &fields.fudge.to_be_bytes(),
            &(fields.mac.len() as u16).to_be_bytes(),
            fields.mac,
            &fields.original_id.to_be_bytes(),
            &fields.error.to_be_bytes(),
            &(fields.other.len() as u16).to_be_bytes(),
            fields.other,
        ];
        self.record(2, fields.owner, (rtype::TSIG, fields.class, fields.ttl), &rdata.concat());
    }

    fn id(&self) -> u16 {
        u16::from_be_bytes([self.octets[0], self.octets[1]])
    }
}

/// Fields of a TSIG record.
#[derive(Clone, Copy)]
struct Tsig<'t> {
    owner: &'t [u8],
    class: u16,
    ttl: u32,
    algorithm: &'t [u8],
    time: u64,
    fudge: u16,
    mac: &'t [u8],
    original_id: u16,
    error: u16,
    other: &'t [u8],
}

impl<'t> Tsig<'t> {
    /// What a client writes.
    fn of(key: &'t Key, mac: &'t [u8], draft: &Draft) -> Tsig<'t> {
        Tsig {
            owner: key.name().octets(),
            class: class::ANY,
            ttl: 0,
            algorithm: key.algorithm().name().octets(),
            time: NOW,
            fudge: wire::tsig::FUDGE_SECONDS,
            mac,
            original_id: draft.id(),
            error: 0,
            other: &[],
        }
    }
}

fn octets(random: &mut Random, count: usize) -> Vec<u8> {
    (0..count).map(|_| random.next_u64() as u8).collect()
}

fn option(code: u16, data: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes()[..], &(data.len() as u16).to_be_bytes(), data].concat()
}

/// Some options of any code but COOKIE, a third of which are known.
fn options(random: &mut Random, count: usize) -> Vec<u8> {
    let mut all = Vec::new();
    for _ in 0..count {
        let code = match random.below(3) {
            0 => edns_option::ALL[random.index(edns_option::ALL.len())].0,
            1 => random.below(64) as u16,
            _ => random.next_u64() as u16,
        };
        let length = [0, 1, 2, 4, 8, 17, 40][random.index(7)];
        if code != edns_option::COOKIE {
            all.extend(option(code, &octets(random, length)));
        }
    }
    all
}

impl Maker {
    pub fn new(names: &[&str]) -> Maker {
        let name = |text: &str| NameBuf::from_text(text).expect("a name");
        let keys = Algorithm::ALL.iter().map(|&algorithm| {
            let key = Key::new(&name(&format!("{}.key.example", algorithm.mnemonic())), algorithm, b"secret");
            key.with_mac_octets_min(algorithm.mac_octets_min()).expect("an allowed length")
        });
        Maker {
            keys: keys.collect(),
            secrets: Secrets::new(&[[7; 16], [8; 16]]).expect("two secrets"),
            names: names.iter().map(|text| name(text)).collect(),
        }
    }

    /// Message `number`; the same for the same number.
    pub fn make(&self, number: u64) -> (Kind, Vec<u8>, Expected) {
        let kind = Kind::ALL[number as usize % Kind::ALL.len()];
        let mut random = Random::part(0x7a6f_6e64, number);
        let (octets, expected) = match kind {
            Kind::Damaged => {
                let of = Kind::ALL[random.index(Kind::ALL.len() - 2)];
                let whole = self.of_kind(of, &mut random).0;
                (damaged(&mut random, whole), Expected::Harmless)
            }
            kind => self.of_kind(kind, &mut random),
        };
        (kind, octets, expected)
    }

    fn of_kind(&self, kind: Kind, random: &mut Random) -> (Vec<u8>, Expected) {
        let qname = &self.names[random.index(self.names.len())];
        let mut draft = Draft::new(random, qname);
        let expected = match kind {
            Kind::Options => {
                let count = random.index(6);
                let options = options(random, count);
                draft.opt(random, &options);
                Expected::Answer
            }
            Kind::Cookie => self.cookie(&mut draft, random),
            Kind::OptionsCutOff => {
                let mut options = [options(random, 2), option(edns_option::NSID, b"abcdef")].concat();
                options.truncate(options.len() - 1 - random.index(9));
                draft.opt(random, &options);
                Expected::Rcode(rcode::FORMERR)
            }
            Kind::SeveralOpt => {
                for _ in 0..2 + random.index(3) {
                    let options = options(random, 1);
                    draft.opt(random, &options);
                }
                Expected::Rcode(rcode::FORMERR)
            }
            Kind::ManyOptions => {
                let options = options(random, 1000).into_iter().chain(option(edns_option::COOKIE, &[9; 24]));
                draft.opt(random, &options.collect::<Vec<_>>());
                Expected::Answer
            }
            Kind::Order => order(&mut draft, random),
            Kind::Large => {
                // Few are near the most that a message can be: they take a thousand times as long as others.
                let octets = 1000 + (random.unit().powi(6) * 63_000.0) as usize;
                while draft.octets.len() < octets {
                    draft.record(1, b"\xc0\x0c", (rtype::NS, class::IN, 60), b"\xc0\x0c");
                }
                self.signed(kind, &mut draft, random)
            }
            _ => self.signed(kind, &mut draft, random),
        };
        (draft.octets, expected)
    }

    fn cookie(&self, draft: &mut Draft, random: &mut Random) -> Expected {
        let length = random.index(50);
        let data = match length {
            COOKIE_OCTETS => {
                let now = (NOW as u32).wrapping_add((random.below(8000) as u32).wrapping_sub(4000));
                self.secrets.make(&[random.next_u64() as u8; CLIENT_OCTETS], ADDRESS.ip(), now).to_vec()
            }
            length => octets(random, length),
        };
        let all = [options(random, 1), option(edns_option::COOKIE, &data), options(random, 1)];
        draft.opt(random, &all.concat());
        match length {
            8 | 16..=40 => Expected::Answer,
            _ => Expected::Rcode(rcode::FORMERR),
        }
    }

    fn signed(&self, kind: Kind, draft: &mut Draft, random: &mut Random) -> Expected {
        use wire::tsig::Fault;
        if random.chance(0.5) {
            let options = options(random, 2);
            draft.opt(random, &options);
        }
        let key = &self.keys[random.index(self.keys.len())];
        let time = match kind {
            Kind::OtherTime => {
                [0, 1, NOW - 301, NOW - 300, NOW + 300, NOW + 301, (1 << 48) - 1][random.index(7)]
            }
            _ => NOW,
        };
        let mac = draft.mac(key, time);
        let mut tsig = Tsig { time, ..Tsig::of(key, mac.octets(), draft) };
        match kind {
            Kind::Signed | Kind::Large => {
                draft.tsig(&tsig);
                Expected::Tsig(Ok(()))
            }
            Kind::OtherTime => {
                draft.tsig(&tsig);
                Expected::Tsig(if time.abs_diff(NOW) <= 300 { Ok(()) } else { Err(Fault::Time) })
            }
            Kind::MacCut => {
                // Longer than it is, too.
                let long = [mac.octets(), &[0; 8]].concat();
                tsig.mac = &long[..random.index(long.len() + 1)];
                let octets = tsig.mac.len();
                draft.tsig(&tsig);
                let allowed = key.mac_octets_min()..=key.algorithm().mac_octets();
                Expected::Tsig(if allowed.contains(&octets) { Ok(()) } else { Err(Fault::Malformed) })
            }
            Kind::MacChanged => {
                let mut changed = mac.octets().to_vec();
                let bit = random.index(8 * changed.len());
                match random.below(4) {
                    0 => tsig.time += 1,
                    1 => tsig.original_id ^= 1 << (bit % 16),
                    2 => draft.octets[3] ^= 0x20,
                    _ => changed[bit / 8] ^= 1 << (bit % 8),
                }
                tsig.mac = &changed;
                draft.tsig(&tsig);
                Expected::Tsig(Err(Fault::Mac))
            }
            Kind::SeveralTsig => {
                for _ in 0..2 + random.index(3) {
                    draft.tsig(&tsig);
                }
                Expected::Tsig(Err(Fault::Malformed))
            }
            Kind::Pointers => {
                pointers(draft, &tsig, random);
                Expected::Harmless
            }
            _ => {
                fields(draft, tsig, random);
                Expected::Harmless
            }
        }
    }
}

/// One TSIG record in which any fields have any values.
fn fields(draft: &mut Draft, tsig: Tsig<'_>, random: &mut Random) {
    let length = [0, 1, 6, 7, 300][random.index(5)];
    let other = octets(random, length);
    let long = [&[63][..], &[b'a'; 63]].concat().repeat(3);
    let long = [&long[..], &[61], &[b'a'; 61], &[0]].concat();
    let unknown = NameBuf::from_text("hmac-of-nobody").expect("a name");
    let mut tsig = tsig;
    for _ in 0..=random.index(3) {
        match random.below(9) {
            0 => tsig.class = random.next_u64() as u16,
            1 => tsig.ttl = random.next_u64() as u32,
            2 => tsig.fudge = [0, 1, u16::MAX][random.index(3)],
            3 => tsig.error = [16, 17, 18, 22, random.next_u64() as u16][random.index(5)],
            4 => tsig.other = &other,
            5 => tsig.owner = &long,
            6 => tsig.algorithm = &long,
            7 => tsig.algorithm = unknown.octets(),
            _ => tsig.original_id = random.next_u64() as u16,
        }
    }
    draft.tsig(&tsig);
    // The lengths of RDATA, MAC and other data, which lie at some distance from the end.
    if random.chance(0.3) {
        let back = 1 + random.index(draft.octets.len().min(120));
        let at = draft.octets.len() - back;
        draft.octets[at] = random.next_u64() as u8;
    }
}

/// Owners and algorithms as pointers, to names, to themselves and to each other.
fn pointers(draft: &mut Draft, tsig: &Tsig<'_>, random: &mut Random) {
    let to = |random: &mut Random, at: usize| {
        let target = [12, at, at + 2, at.saturating_sub(1), random.index(at + 40)][random.index(5)];
        (0xc000 | target as u16).to_be_bytes()
    };
    let at = draft.octets.len();
    if random.chance(0.3) {
        draft.record(2, &to(random, at), (rtype::OPT, 1232, 0), &[]);
    }
    let at = draft.octets.len();
    let (owner, algorithm) = (to(random, at), to(random, at + 12));
    let mut tsig = Tsig { other: &[], ..*tsig };
    if random.chance(0.7) {
        tsig.owner = &owner;
    }
    if random.chance(0.7) {
        tsig.algorithm = &algorithm;
    }
    draft.tsig(&tsig);
}

/// Records of all kinds in sections where they do not belong, behind those that should be last.
fn order(draft: &mut Draft, random: &mut Random) -> Expected {
    let tsig = [&b"\x0bhmac-sha256\0"[..], &[0; 6], &[1, 44, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    for _ in 0..2 + random.index(4) {
        let section = random.index(3);
        match random.below(5) {
            0 => draft.record(section, &[0], (rtype::OPT, 1232, 0), &[]),
            1 => draft.record(section, b"\x03key\0", (rtype::TSIG, class::ANY, 0), &tsig),
            2 => draft.record(section, &[0], (rtype::SIG, class::ANY, 0), &[0; 40]),
            3 => draft.record(section, b"\xc0\x0c", (rtype::SOA, class::IN, 60), &[0; 22]),
            _ => draft.record(section, b"\xc0\x0c", (rtype::A, class::IN, 60), &[192, 0, 2, 1]),
        }
    }
    Expected::Harmless
}

/// Bits, octets, ends and counts of a message changed, and what the fuzzer of messages does where names and fields begin.
fn damaged(random: &mut Random, mut octets: Vec<u8>) -> Vec<u8> {
    for _ in 0..=random.index(3) {
        let at = random.index(octets.len().max(1));
        match random.below(6) {
            0 => octets.truncate(at),
            1 => octets.extend(self::octets(random, 9)),
            2 if octets.len() > 12 => octets[4 + random.index(8)] = random.below(4) as u8,
            3 => wire::fuzz::change(&mut octets, &std::array::from_fn(|_| random.next_u64() as u8)),
            how => {
                let changed = random.next_u64() as u8;
                if let Some(octet) = octets.get_mut(at) {
                    *octet = if how == 4 { changed } else { *octet ^ 1 << (changed % 8) };
                }
            }
        }
    }
    octets
}
