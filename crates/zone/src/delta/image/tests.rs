//! Images that are damaged do no harm, whatever their octets are.
#![allow(clippy::unwrap_used)]

use super::{Block, Loader, Mark};
use crate::change::Records;
use crate::contents::SourcePosition;
use crate::{Change, ContentsBuilder, DeltaWriter, Pack, PackBuilder, TextStamp, ZoneView};
use proptest::prelude::*;
use std::sync::Arc;
use wire::NameBuf;
use wire::iana::rtype;

fn soa(serial: u32) -> Vec<u8> {
    [&b"\x02ns\0\x04host\0"[..], &serial.to_be_bytes(), &[0; 16]].concat()
}

fn name(number: u32) -> NameBuf {
    format!("h{number}.a{}.example.", number % 5).parse().unwrap()
}

fn pack() -> Arc<Pack> {
    let apex: NameBuf = "example.".parse().unwrap();
    let mut contents = ContentsBuilder::new(&apex);
    contents.push(&apex, false, rtype::SOA, 60, &soa(0), SourcePosition::default()).unwrap();
    for number in 0..40 {
        let text = [&[3][..], b"abc"].concat();
        contents.push(&name(number), false, rtype::TXT, 60, &text, SourcePosition::default()).unwrap();
    }
    let mut builder = PackBuilder::new(5);
    builder.add_zone(&contents.finish(), TextStamp::default()).unwrap();
    Arc::new(Pack::open(builder.finish().unwrap()).unwrap())
}

/// A change of some names: some go, others come, with what the serial says.
fn change(serial: u32) -> Change {
    let apex: NameBuf = "example.".parse().unwrap();
    let (mut removed, mut added) = (Records::default(), Records::default());
    removed.push(&apex, rtype::SOA, 60, &soa(serial));
    added.push(&apex, rtype::SOA, 60, &soa(serial + 1));
    for number in (0..40).filter(|number| number % 4 == serial) {
        removed.push(&name(number), rtype::TXT, 60, &[3, b'a', b'b', b'c']);
        added.push(&name(100 + number), rtype::TXT, 60, &[2, b'0' + serial as u8, b'b']);
        added.push(&name(200 + number), rtype::A, 60, &number.to_be_bytes());
    }
    Change::new(removed, added).unwrap()
}

/// Two images, the second of what came since the first, and one of all.
fn images(pack: &Arc<Pack>) -> [Vec<u8>; 3] {
    let mut writer = DeltaWriter::new(Arc::clone(pack), 0).unwrap();
    let mut mark = None;
    let mut images = [0, 1].map(|serial| {
        assert!(writer.pin().is_some());
        let applied = writer.apply(&change(serial)).unwrap();
        assert!(writer.pin().is_none(), "it may be taken back yet");
        writer.published(applied.changed.state());
        let (octets, next) = image(&writer, mark.as_ref());
        mark = Some(next);
        octets
    });
    [std::mem::take(&mut images[0]), std::mem::take(&mut images[1]), image(&writer, None).0]
}

fn image(writer: &DeltaWriter, after: Option<&Mark>) -> (Vec<u8>, Mark) {
    let mut octets = Vec::new();
    let mut write = |part: &[u8]| {
        octets.extend_from_slice(part);
        Ok(())
    };
    let mark = writer.pin().unwrap().write(after, &mut write).unwrap();
    (octets, mark)
}

fn load(pack: &Arc<Pack>, images: &[&[u8]]) -> Option<DeltaWriter> {
    let mut loader = Loader::new(Arc::clone(pack), 0, 10).unwrap();
    for image in images {
        let mut from = *image;
        while !from.is_empty() {
            loader.put(Block::read(&mut from).ok()?).ok()?;
        }
    }
    Some(loader.finish().ok()?.0)
}

#[test]
fn images_are_taken_in_their_order_and_whole() {
    let pack = pack();
    let [one, two, all] = &images(&pack);
    let serial = |images: &[&[u8]]| load(&pack, images).map(|writer| writer.newest().row().serial);
    assert_eq!((serial(&[one]), serial(&[one, two])), (Some(1), Some(2)));
    assert!(two.len() < all.len() && serial(&[all]) == Some(2));
    assert_eq!(serial(&[all, two]), None, "it has that already");
    assert_eq!(serial(&[]), None);
    assert_eq!(serial(&[two]), None, "what it lies over is not there");
    assert_eq!(serial(&[two, one]), None);
    assert_eq!(serial(&[one, one]), None);
    for end in (1..two.len()).step_by(7) {
        assert_eq!(serial(&[one, &two[..end]]), None, "cut off at {end}");
    }
    let other = Arc::new(Pack::open(crate::Backing::Memory(pack.octets().to_vec())).unwrap());
    assert!(load(&other, &[one, two]).is_some(), "the same pack in another place");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn damage_does_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), of in 0..2usize) {
        let pack = pack();
        let [one, two, _] = images(&pack);
        let mut images = [one, two];
        for (at, octet) in changes {
            let at = at.index(images[of].len());
            images[of][at] = octet;
        }
        let Some(mut writer) = load(&pack, &[&images[0], &images[1]]) else { return Ok(()) };
        let walk = |zone: &ZoneView<'_>| zone.nodes().take(10_000).map(|node| node.rrsets().count()).sum::<usize>();
        std::hint::black_box(walk(&writer.newest()));
        for number in 0..250 {
            let key = wire::SortKey::of(&name(number));
            std::hint::black_box(writer.newest().walk(&key).map(|found| found.node.number()));
        }
        let _ = writer.apply(&change(2));
        std::hint::black_box(walk(&writer.newest()));
    }
}
