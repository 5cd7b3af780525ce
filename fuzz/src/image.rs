//! What a start reads of the changes of zones: the log (`journal::fuzz`), or images of deltas with octets changed, as if their checksums were right: they are
//! refused, or the zone is read and changed without panic.
//!
//! An input for images begins with `image`, then a list of changes of four octets: which of the images, place (16 bits, little-endian, taken modulo the
//! length), new octet. `image-raw`: all that follows is an image instead.

use std::sync::{Arc, OnceLock};

use wire::iana::rtype;
use zone::change::Records;
use zone::delta::image::{Block, Loader};
use zone::{Change, Crawl, DeltaWriter, Pack, PackBuilder, TextStamp, ZoneView};

/// Signed, with NSEC and with NSEC3.
const ZONES: [(&str, &str); 2] = [
    ("corners.test.", include_str!("../../tests/data/zones/corners.zone")),
    ("optout.test.", include_str!("../../tests/data/zones/optout.test.zone")),
];
/// Steps of a walk: damage may have made it long.
const STEPS_MAX: usize = 10_000;

/// A zone in a pack, and the images of its delta: one that has all, and one of what came since.
struct Sound {
    pack: Arc<Pack>,
    images: [Vec<u8>; 2],
}

fn sound(zone: usize) -> &'static Sound {
    static SOUND: [OnceLock<Sound>; 2] = [OnceLock::new(), OnceLock::new()];
    SOUND[zone].get_or_init(|| {
        let (origin, text) = ZONES[zone];
        let origin: wire::NameBuf = origin.parse().expect("a name");
        let contents = auth::inspect::contents(&origin, text).expect("a sound zone");
        let mut builder = PackBuilder::new(7);
        builder.add_zone(&contents, TextStamp::default()).expect("a zone that fits");
        let pack = Arc::new(Pack::open(builder.finish().expect("a pack")).expect("a sound pack"));
        let mut writer = DeltaWriter::new(Arc::clone(&pack), 0).expect("a zone");
        let mut mark = None;
        let images = [0, 1].map(|step| {
            let change = change(&writer.newest(), step).expect("records that can be read");
            let applied = writer.apply(&change).expect("a change that fits");
            writer.published(applied.changed.state());
            let mut octets = Vec::new();
            let mut write = |part: &[u8]| {
                octets.extend_from_slice(part);
                Ok(())
            };
            let next = writer.pin().expect("all is published").write(mark.as_ref(), &mut write);
            mark = Some(next.expect("a sound zone"));
            octets
        });
        Sound { pack, images }
    })
}

/// A change of the zone: every third RRset goes, some names come. `None`: its records cannot be read.
fn change(zone: &ZoneView<'_>, step: usize) -> Option<Change> {
    let (mut removed, mut added) = (Records::default(), Records::default());
    let (mut crawl, mut labels, mut count) = (Crawl::default(), [0; 255], step);
    let mut gone = Records::default();
    for _ in 0..STEPS_MAX {
        let Some(step) = crawl.next(zone).ok()? else { break };
        let octets = step.owner.write_labels(&mut labels)?;
        let owner = [&labels[..octets], zone.apex().octets()].concat();
        let owner = wire::Name::from_wire(&owner).ok()?;
        let (rtype, ttl) = (step.rrset.rtype(), step.rrset.ttl());
        if rtype == rtype::SOA {
            let mut soa = step.rrset.rdata(owner, zone.apex())?.into_iter().next()?;
            removed.push(owner, rtype, ttl, &soa);
            let serial = soa.len().checked_sub(20)?;
            let next = u32::from_be_bytes(*soa.get(serial..)?.first_chunk()?).wrapping_add(1);
            soa.get_mut(serial..serial + 4)?.copy_from_slice(&next.to_be_bytes());
            added.push(owner, rtype, ttl, &soa);
            continue;
        }
        count += 1;
        let is_kept = matches!(rtype, rtype::NS | rtype::DNSKEY | rtype::NSEC3PARAM) && *owner == *zone.apex();
        if count.is_multiple_of(3) && !is_kept {
            step.rrset.rdata(owner, zone.apex())?.iter().for_each(|rdata| gone.push(owner, rtype, ttl, rdata));
        }
    }
    removed.append(gone);
    for number in 0..20 {
        let name: wire::NameBuf = format!("x{number}.y{step}.{}", zone.apex()).parse().ok()?;
        added.push(&name, rtype::A, 60, &[192, 0, 2, number]);
    }
    Change::new(removed, added).ok()
}

/// One input.
pub fn run(data: &[u8]) {
    let Some(data) = data.strip_prefix(b"image") else { return journal::fuzz::fuzz_log(data) };
    if let Some(raw) = data.strip_prefix(b"-raw") {
        return load(&sound(0).pack, &[raw]);
    }
    for zone in 0..ZONES.len() {
        let Sound { pack, images } = sound(zone);
        let mut images = images.clone();
        for change in data.chunks_exact(4) {
            let image = &mut images[usize::from(change[0] % 2)];
            let place = usize::from(u16::from_le_bytes([change[1], change[2]])) % image.len();
            image[place] = change[3];
        }
        load(pack, &[&images[0], &images[1]]);
    }
}

/// Puts images in, and reads and changes what came of them.
fn load(pack: &Arc<Pack>, images: &[&[u8]]) {
    let Some(mut loader) = Loader::new(Arc::clone(pack), 0, 64) else { return };
    for image in images {
        let mut from = *image;
        while !from.is_empty() {
            let Ok(block) = Block::read(&mut from) else { return };
            if loader.put(block).is_err() {
                return;
            }
        }
    }
    let Ok((mut writer, mark)) = loader.finish() else { return };
    walk(&writer.newest());
    if let Some(change) = change(&writer.newest(), 2)
        && let Ok(applied) = writer.apply(&change)
    {
        writer.published(applied.changed.state());
        walk(&writer.newest());
    }
    let pinned = writer.pin().expect("all is published");
    for after in [None, Some(&mark)] {
        std::hint::black_box(pinned.write(after, &mut |_| Ok(())).is_ok());
    }
}

fn walk(zone: &ZoneView<'_>) {
    for node in zone.nodes().take(STEPS_MAX) {
        for rrset in node.rrsets() {
            std::hint::black_box((rrset.rtype(), rrset.ttl(), rrset.is_signed()));
        }
        std::hint::black_box((node.glue().is_some(), node.nsec3_rank()));
    }
    let mut crawl = Crawl::default();
    for _ in 0..STEPS_MAX {
        let Ok(Some(step)) = crawl.next(zone) else { break };
        std::hint::black_box((step.owner.write_labels(&mut [0; 255]), step.rrset.rtype()));
    }
    for number in 0..40 {
        let name = format!("x{number}.y{}.{}", number % 3, zone.apex());
        let Ok(name) = name.parse::<wire::NameBuf>() else { return };
        let found = zone.walk(&wire::SortKey::of(&name));
        std::hint::black_box(found.map(|found| found.node.number()));
    }
}
