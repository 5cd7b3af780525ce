use super::*;
use sim::signer::{Key, Role, Signing, ds_of, sign_set};
use std::fs;
use std::sync::mpsc::channel;
use wire::rrset::{RdataListBuf, RrsetBuf};

const DAY: u64 = 86_400;
const HOUR: u64 = 3_600;
const NOW: u64 = EARLIEST + 100 * DAY;
/// TTL of the keys: half of it is how often they are looked at.
const TTL: u32 = 2 * DAY as u32;

/// What is built in, with a key that is pending.
pub(super) fn followed() -> (Vec<Managed>, Vec<Managed>) {
    let seeds = seeds(&Anchors::built_in()).to_vec();
    let mut zones = seeds.clone();
    let state = KeyState::Pending { since: NOW, until: NOW + 30 * DAY };
    zones[0].keys.push(ManagedKey { rdata: vec![1, 1, 3, 8, 3, 1, 0, 1, 7], state });
    (zones[0].checked, zones[0].next) = (NOW, NOW + HOUR);
    (seeds, zones)
}

/// A key signing key of the root by number.
fn key(number: u64) -> Vec<u8> {
    Key::new(number, Name::root(), Role::Ksk, 15).dnskey
}

fn tag(number: u64) -> u16 {
    dnssec::key::key_tag(&key(number))
}

fn revoked(number: u64) -> Vec<u8> {
    let mut key = key(number);
    key[1] |= dnssec::key::FLAG_REVOKE as u8;
    key
}

fn signing(number: u64, now: u64) -> Signing {
    let (inception, expiration) = ((now - DAY) as u32, (now + 14 * DAY) as u32);
    Signing { has_single_key: true, inception, expiration, ..Signing::new(number) }
}

/// The root's keys as its servers give them at a time, signed by those of some numbers; `revoking`: signed by a revoked key, too.
fn published(keys: &[Vec<u8>], signers: &[u64], revoking: Option<u64>, now: u64) -> Found {
    let rdatas: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let by = |number| {
        sign_set(Name::root(), &signing(number, now), Name::root(), rtype::DNSKEY, TTL, &rdatas).remove(0)
    };
    let mut signatures: RdataListBuf = RdataListBuf::new();
    signers.iter().for_each(|&number| signatures.push(&by(number)));
    if let Some(number) = revoking {
        // As the key signs, but for its tag, which is another with the bit.
        let mut fields = by(number)[..19].to_vec();
        fields[16..18].copy_from_slice(&dnssec::key::key_tag(&revoked(number)).to_be_bytes());
        let mut set = dnssec::CanonicalSet::new();
        set.fill(rtype::DNSKEY, rdatas.iter().copied());
        let mut data = fields.clone();
        for (_, rdata) in set.records() {
            data.extend([0, 0, rtype::DNSKEY as u8, 0, 1]);
            data.extend(TTL.to_be_bytes());
            data.extend((rdata.len() as u16).to_be_bytes());
            data.extend(rdata);
        }
        fields.extend(Key::new(number, Name::root(), Role::Ksk, 15).sign(&data));
        signatures.push(&fields);
    }
    let set = RrsetBuf {
        owner: NameBuf::root(),
        rtype: rtype::DNSKEY,
        ttl: TTL,
        rdatas: rdatas.into_iter().collect(),
        signatures,
    };
    Some([set.rrset()].into_iter().collect())
}

/// A server over its restarts, in virtual time.
struct Life {
    folder: tempfile::TempDir,
    seeds: Vec<Managed>,
    keeper: Keeper,
    now: u64,
}

impl Life {
    /// Begins with the DS record of a key.
    fn begin(number: u64) -> Life {
        let mut anchors = Anchors::new();
        anchors.add_ds(Name::root(), &ds_of(Name::root(), &key(number), 2));
        let folder = tempfile::tempdir().unwrap();
        let keeper = Keeper::new(Some(folder.path()));
        let mut life = Life { folder, seeds: seeds(&anchors).to_vec(), keeper, now: NOW };
        life.restart();
        life
    }

    fn restart(&mut self) {
        self.keeper = Keeper::new(Some(self.folder.path()));
        let file = StateFile::in_folder(self.folder.path());
        self.keeper.state.lock().begin(&file, &self.seeds);
    }

    /// Looks each hour whether it is time, for so many days; what has changed, and on which day.
    fn days(
        &mut self,
        days: u64,
        keys: &[Vec<u8>],
        signers: &[u64],
        revoking: Option<u64>,
    ) -> Vec<(u64, Change)> {
        let end = self.now + days * DAY;
        let mut all = Vec::new();
        while self.now < end {
            if let Some(zone) = self.keeper.due(self.now) {
                let found = published(keys, signers, revoking, self.now);
                let changes = self.keeper.take(&zone, &found, self.now);
                all.extend(changes.into_iter().map(|change| ((self.now - NOW) / DAY, change)));
            }
            self.now += HOUR;
        }
        all
    }

    /// Tags of the keys that are trusted.
    fn trusted(&self) -> Vec<u16> {
        let mut anchors = Anchors::new();
        self.keeper.zones().iter().for_each(|zone| zone.apply(&mut anchors));
        let tags = |(_, _, keys): (_, _, wire::RdataList<'_>)| {
            keys.iter().map(dnssec::key::key_tag).collect::<Vec<_>>()
        };
        let mut tags: Vec<u16> = anchors.zones().flat_map(tags).collect();
        tags.sort();
        tags
    }

    fn file(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.folder.path().join(name)).ok()
    }
}

fn sorted<const N: usize>(mut tags: [u16; N]) -> [u16; N] {
    tags.sort();
    tags
}

/// A roll of the root's key as in 2018 and 2026: a new key, 30 days of waiting over a restart, both, the old one revoked, and forgotten.
#[test]
fn a_roll_over_a_restart() {
    let mut life = Life::begin(1);
    assert_eq!(life.days(5, &[key(1)], &[1], None), [(0, Change::Trusted(tag(1)))]);
    let both = [key(1), key(2)];
    let seen = life.days(15, &both, &[1], None);
    assert!(matches!(seen[..], [(5, Change::Seen { tag: new, .. })] if new == tag(2)), "{seen:?}");
    assert_eq!(life.trusted(), [tag(1)]);
    life.restart();
    assert_eq!(
        life.days(20, &both, &[1], None),
        [(35, Change::Trusted(tag(2)))],
        "30 days, not 30 from the restart"
    );
    assert_eq!(life.trusted(), sorted([tag(1), tag(2)]));
    let revoking = [revoked(1), key(2)];
    let tag_revoked = dnssec::key::key_tag(&revoked(1));
    assert_eq!(life.days(20, &revoking, &[2], Some(1)), [(40, Change::Revoked(tag_revoked))]);
    assert_eq!(life.trusted(), [tag(2)]);
    life.restart();
    assert_eq!(life.trusted(), [tag(2)], "a restart does not bring it back");
    assert_eq!(life.days(20, &[key(2)], &[2], None), [(70, Change::Forgotten(tag(1)))]);
    life.restart();
    assert_eq!((life.trusted(), life.days(40, &[key(2)], &[2], None)), (vec![tag(2)], vec![]));
}

#[test]
fn a_key_that_is_away_for_a_time() {
    let mut life = Life::begin(1);
    let both = [key(1), key(2)];
    life.days(35, &both, &[1], None);
    assert_eq!(life.days(5, &[key(2)], &[2], None), [(35, Change::Missing(tag(1)))]);
    life.restart();
    assert_eq!(life.trusted(), sorted([tag(1), tag(2)]), "trusted all the same (RFC 5011 4.2)");
    assert_eq!(life.days(5, &both, &[2], None), [(40, Change::Back(tag(1)))]);
    // One that was pending and goes begins anew.
    let three = [key(1), key(2), key(3)];
    life.days(20, &three, &[1], None);
    assert_eq!(life.days(3, &both, &[1], None), [(65, Change::Dropped(tag(3)))]);
}

/// A machine without a clock comes up in 1970, or years ahead: nothing moves, and nothing is lost when it is right.
#[test]
fn clocks_that_are_wrong_at_boot() {
    let mut life = Life::begin(1);
    let both = [key(1), key(2)];
    life.days(10, &both, &[1], None);
    let (right, kept) = (life.now, life.file("trust-anchors"));
    for wrong in [0, 3 * DAY, NOW] {
        life.restart();
        life.now = wrong;
        assert_eq!(life.keeper.due(wrong), None, "at {wrong}");
    }
    // Ahead: what the servers give is of another time.
    life.now = right + 3650 * DAY;
    let zone = life.keeper.due(life.now).unwrap();
    let found = published(&both, &[1], None, right);
    assert_eq!(life.keeper.take(&zone, &found, life.now), []);
    assert_eq!((life.trusted(), life.file("trust-anchors")), (vec![tag(1)], kept));
    // Nor is the next look put off for ten years.
    life.now = right;
    assert_eq!(life.days(21, &both, &[1], None), [(30, Change::Trusted(tag(2)))]);
}

#[test]
fn a_damaged_state_is_kept_aside_and_begins_anew() {
    let mut life = Life::begin(1);
    life.days(40, &[key(1), key(2)], &[1], None);
    assert_eq!(life.trusted(), sorted([tag(1), tag(2)]));
    let mut damaged = life.file("trust-anchors").unwrap();
    damaged.truncate(damaged.len() - 7);
    fs::write(life.folder.path().join("trust-anchors"), &damaged).unwrap();
    life.restart();
    assert_eq!(life.keeper.zones(), life.seeds);
    assert_eq!((life.file("trust-anchors"), life.file("trust-anchors.damaged")), (None, Some(damaged)));
    let changes = life.days(2, &[key(1), key(2)], &[1], None);
    assert!(matches!(changes[..], [(40, Change::Trusted(_)), (40, Change::Seen { .. })]), "{changes:?}");
    assert!(life.file("trust-anchors").is_some());
}

#[test]
fn a_state_that_cannot_be_written_goes_on_in_memory() {
    let mut life = Life::begin(1);
    life.days(5, &[key(1), key(2)], &[1], None);
    // A folder where the file is made: nobody can write it, root neither.
    fs::create_dir(life.folder.path().join("trust-anchors.new")).unwrap();
    let before = life.file("trust-anchors");
    assert_eq!(life.days(30, &[key(1), key(2)], &[1], None), [(30, Change::Trusted(tag(2)))]);
    assert_eq!((life.trusted().len(), life.file("trust-anchors")), (2, before));
    // With other settings and back what is in memory counts, not the older file.
    let file = StateFile::in_folder(life.folder.path());
    life.keeper.state.lock().begin(&file, &life.seeds);
    assert_eq!(life.trusted().len(), 2);
    fs::remove_dir(life.folder.path().join("trust-anchors.new")).unwrap();
    life.days(2, &[key(1), key(2)], &[1], None);
    life.restart();
    assert_eq!(life.trusted().len(), 2);
}

/// A version that is years old: its anchors match no key any more. They stay, nothing else is trusted, and the log says what to do.
#[test]
fn stale_anchors() {
    let mut life = Life::begin(9);
    assert_eq!(life.days(10, &[key(1)], &[1], None), []);
    assert_eq!(life.keeper.zones()[0].ds, life.seeds[0].ds);
    assert_eq!((life.trusted(), life.file("trust-anchors")), (vec![], None));
    let mut managed = life.seeds[0].clone();
    let mut said = |found: Found| observe(&mut managed, &found, NOW).unwrap_err();
    assert!(said(published(&[key(1)], &[1], None, NOW)).contains("out of date"));
    assert!(said(published(&[key(9)], &[9], None, NOW + 60 * DAY)).contains("the clock of this machine"));
    assert!(
        said(published(&[key(9), key(1)], &[1], None, NOW)).contains("not signed by one that is trusted")
    );
    assert!(said(None).contains("could not be fetched"));
}

#[test]
fn states_go_on_while_the_seeds_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = StateFile::in_folder(folder.path());
    let (seeds, zones) = followed();
    let begun = |seeds: &[Managed]| {
        let mut state = State::default();
        state.begin(&file, seeds);
        state.zones
    };
    assert_eq!(begun(&seeds), seeds, "no file");
    file.write(&seeds, &zones);
    assert_eq!(begun(&seeds), zones);
    // One anchor less: it begins anew.
    let mut others = seeds.clone();
    others[0].ds.pop();
    assert_eq!(begun(&others), others);
    // What is in memory goes before the file, and without seeds nothing is left.
    let mut state = State { seeds: seeds.clone(), zones: seeds.clone(), ..State::default() };
    state.begin(&file, &seeds);
    assert_eq!(state.zones, seeds);
    state.begin(&file, &[]);
    assert_eq!(state.zones, []);
}

#[test]
fn a_look_in_vain_is_taken_again_later() {
    let folder = tempfile::tempdir().unwrap();
    let keeper = Keeper::new(Some(folder.path()));
    let (seeds, _) = followed();
    *keeper.state.lock() = State { zones: seeds.clone(), seeds, ..State::default() };
    let (to, found) = channel();
    keeper.begin_look(NameBuf::root(), found);
    assert!(keeper.looked().is_none() && keeper.due(NOW).is_none(), "it is being looked");
    drop(to);
    let (zone, found) = keeper.looked().unwrap();
    assert_eq!((keeper.take(&zone, &found, NOW), keeper.due(NOW)), (vec![], None));
    assert_eq!(keeper.due(NOW + FIRST_RETRY_SECONDS), Some(NameBuf::root()));
    assert!(!folder.path().join("trust-anchors").exists());
}
