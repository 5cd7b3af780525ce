//! Random zones through random changes: a pack with a delta says all that a pack says which is made anew of the same records.
use crate::kit::change::{State, change, pack, state};
use crate::kit::said::{check_same, of_answer};
use crate::kit::{Denial, Draft, apex, drafts, labels, model_of, questions, relative_key};
use proptest::prelude::*;
use std::sync::Arc;
use wire::{Name, NameBuf};
use zone::catalog::PartSet;
use zone::delta::image::{Block, Loader, Mark};
use zone::delta::{Changed, Rebuild, Refused};
use zone::pack::ZoneRow;
use zone::{DeltaWriter, Pack, PackBuilder, ZoneView};

/// The zone's number in packs of the kit.
const NUMBER: u32 = 1;

/// One step: which drafts come or go, what else changes, and what becomes of it.
#[derive(Clone, Debug)]
struct Step {
    toggled: Vec<usize>,
    salt: u64,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    TakenBack,
    Unpublished,
    Published,
    /// And a copy of the delta is begun.
    Copied,
    /// And a new pack is made of it, after which the delta is made anew.
    Merged,
    /// And what was begun ends.
    Ended,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let fates = [
        Fate::TakenBack,
        Fate::Unpublished,
        Fate::Published,
        Fate::Copied,
        Fate::Merged,
        Fate::Ended,
        Fate::Ended,
    ];
    let step = (prop::collection::vec(0..64usize, 1..10), 0..4u64, prop::sample::select(fates.to_vec()))
        .prop_map(|(toggled, salt, fate)| Step { toggled, salt, fate });
    prop::collection::vec(step, 1..9)
}

/// Names to ask for: of both states, and some more.
fn names(states: &[&State], apex: &Name, more: &[Vec<u8>]) -> Vec<NameBuf> {
    let records: Vec<_> = states
        .iter()
        .flat_map(|state| state.iter().map(|(owner, rtype, _, rdata)| (owner.name(), *rtype, rdata.clone())))
        .collect();
    let all = questions(&model_of(&records, apex), apex, more);
    let step = all.len().div_ceil(120).max(1);
    all.into_iter().step_by(step).collect()
}

/// Images of a delta, each of what came since the one before.
#[derive(Default)]
struct Images {
    all: Vec<Vec<u8>>,
    mark: Option<Mark>,
    /// What was made of them last, for the next change.
    loaded: Option<DeltaWriter>,
}

impl Images {
    /// Writes the next image, all of it where that is asked for or the delta is another, and makes a delta of all.
    fn take(&mut self, writer: &DeltaWriter, is_whole: bool) {
        let pinned = writer.pin().unwrap();
        if is_whole || self.mark.is_none_or(|mark| !mark.is_of(pinned.changed())) {
            (self.all, self.mark) = (Vec::new(), None);
        }
        let mut octets = Vec::new();
        let mut write = |part: &[u8]| {
            octets.extend_from_slice(part);
            Ok(())
        };
        let mark = pinned.write(self.mark.as_ref(), &mut write).unwrap();
        self.all.push(octets);
        let pack = Arc::clone(pinned.changed().pack());
        let mut loader = Loader::new(pack, NUMBER, mark.rows() as usize).unwrap();
        for image in &self.all {
            let mut from = &image[..];
            while !from.is_empty() {
                loader.put(Block::read(&mut from).unwrap()).unwrap();
            }
        }
        let (loaded, again) = loader.finish().unwrap();
        assert_eq!(again.rows(), mark.rows());
        // What is loaded may be what the next image is made of.
        assert!(again.is_of(loaded.newest_box()) && !again.is_of(writer.newest_box()));
        (self.mark, self.loaded) = (Some(mark), Some(loaded));
    }
}

fn check(drafts: &[Draft], apex: &Name, denial: Denial, steps: &[Step], more: &[Vec<u8>]) {
    let mut is_in: Vec<bool> = (0..drafts.len()).map(|at| at % 2 == 0).collect();
    let chosen = |is_in: &[bool]| -> Vec<Draft> {
        drafts.iter().zip(is_in).filter(|(_, is_in)| **is_in).map(|(draft, _)| draft.clone()).collect()
    };
    let mut now = state(&chosen(&is_in), apex, denial, 1, 0);
    let mut writer = DeltaWriter::new(Arc::new(pack(&now, apex, 7)), NUMBER).unwrap();
    let mut held: Vec<(Changed, State)> = vec![(writer.newest_box().clone(), now.clone())];
    let (mut rebuild, mut shown): (Option<Rebuild>, _) = (None, writer.newest_box().clone());
    let mut images = Images::default();
    for (serial, step) in (2..).zip(steps) {
        let was_in = is_in.clone();
        for &at in &step.toggled {
            if let Some(is_in) = is_in.get_mut(at) {
                *is_in = !*is_in;
            }
        }
        let next = state(&chosen(&is_in), apex, denial, serial, step.salt);
        let made = change(&now, &next);
        let before = writer.newest_box().clone();
        let applied = writer.apply(&made).unwrap();
        let asked = names(&[&now, &next], apex, more);
        let fresh = pack(&next, apex, 9);
        let fresh_view = ZoneView::new(&fresh, NUMBER).unwrap();
        check_same(&ZoneView::of_changed(&applied.changed).unwrap(), &fresh_view, &asked);
        assert_eq!(lines_of(&ZoneView::of_changed(&applied.changed).unwrap()), lines_of(&fresh_view));
        if let Some(mut apart) =
            Rebuild::apart(&shown).filter(|apart| apart.newest().row().serial + 1 == serial)
        {
            // As the zone that it is apart from, with what is published alone.
            apart.apply(&made).unwrap();
            check_same(&apart.newest(), &fresh_view, &asked);
        }
        check_parts(&ZoneView::of_changed(&before).unwrap(), &fresh_view, *applied.parts, &asked);
        assert!(matches!(writer.apply(&made), Err(Refused::NotThere(0))), "it is of another state");
        if let Some(mut loaded) = images.loaded.take_if(|loaded| loaded.newest().row().serial + 1 == serial) {
            // Goes on as the one that it was made of.
            let applied = loaded.apply(&made).unwrap();
            check_same(&ZoneView::of_changed(&applied.changed).unwrap(), &fresh_view, &asked);
        }
        if let Some(rebuild) = &mut rebuild {
            // What is not published yet is none of its business.
            rebuild.step(&shown, 1 + serial % 3).unwrap();
        }
        if step.fate == Fate::TakenBack {
            assert!(writer.take_back(applied.changed.state()) && !writer.take_back(applied.changed.state()));
            is_in = was_in;
            let before = pack(&now, apex, 9);
            check_same(&writer.newest(), &ZoneView::new(&before, NUMBER).unwrap(), &asked);
            continue;
        }
        now = next;
        held.push((applied.changed, now.clone()));
        if step.fate == Fate::Unpublished {
            continue;
        }
        shown = writer.newest_box().clone();
        writer.published(shown.state());
        assert!(!writer.take_back(shown.state()));
        if step.salt != 3 {
            images.take(&writer, step.salt == 2);
            check_same(&images.loaded.as_ref().unwrap().newest(), &fresh_view, &asked);
        }
        match step.fate {
            Fate::Copied => rebuild = Rebuild::copy(&shown),
            Fate::Merged => {
                let mut builder = PackBuilder::new(u64::from(serial));
                builder.merge_zone(&ZoneView::new(&fresh, 0).unwrap()).unwrap();
                builder.merge_zone(&writer.newest()).unwrap();
                let merged = Pack::open(builder.finish().unwrap()).unwrap();
                check_whole(&ZoneView::new(&merged, NUMBER).unwrap(), &fresh_view, &asked);
                rebuild = Rebuild::onto(Arc::new(merged), NUMBER, &shown);
            }
            _ => {}
        }
        let Some(mut began) = rebuild.take() else { continue };
        if step.fate == Fate::Ended {
            writer = began.finish(&writer).map_err(|failed| failed.1).unwrap();
            check_same(&writer.newest(), &fresh_view, &asked);
            shown = writer.newest_box().clone();
            held.push((shown.clone(), now.clone()));
        } else {
            began.step(&shown, 1 + serial % 5).unwrap();
            rebuild = Some(began);
        }
    }
    // What was seen before is seen still, and the changes that stand for it lead to it, however few names each has.
    for ((changed, state), names_max) in held.iter().zip((1..4).cycle()) {
        let fresh = pack(state, apex, 3);
        let asked = names(&[state, &now], apex, more);
        let view = ZoneView::of_changed(changed).unwrap();
        let fresh_view = ZoneView::new(&fresh, NUMBER).unwrap();
        check_same(&view, &fresh_view, &asked);
        let mut again = DeltaWriter::new(Arc::clone(changed.pack()), changed.number()).unwrap();
        for piece in changed.condensed(usize::MAX, names_max).unwrap() {
            assert_eq!(piece.serial_before(), again.newest().row().serial);
            let applied = again.apply(&piece).unwrap();
            again.published(applied.changed.state());
        }
        check_same(&again.newest(), &fresh_view, &asked);
    }
}

/// All records, in canonical order.
fn lines_of(zone: &ZoneView<'_>) -> Vec<(NameBuf, u16, u32, Vec<u8>)> {
    let contents = zone.contents().unwrap();
    let mut lines = Vec::new();
    for node in contents.nodes() {
        for set in node.rrsets() {
            let records =
                set.records().map(|record| (node.name(), set.rtype(), record.ttl, record.rdata.to_vec()));
            lines.extend(records);
        }
    }
    lines
}

/// What is not among the parts answers as before.
fn check_parts(before: &ZoneView<'_>, after: &ZoneView<'_>, parts: PartSet, asked: &[NameBuf]) {
    for name in asked {
        let part = PartSet::of_name(&relative_key(name, before.apex()));
        let is_raised = parts.is_everything() || parts.has(part);
        assert!(is_raised || of_answer(before, name) == of_answer(after, name), "{name} has another answer");
    }
}

/// A merged pack says the same in the same numbers, and knows as much ahead.
fn check_whole(merged: &ZoneView<'_>, fresh: &ZoneView<'_>, asked: &[NameBuf]) {
    check_same(merged, fresh, asked);
    let numbers = |zone: &ZoneView<'_>| {
        let row = zone.row();
        (row.bits & !ZoneRow::BESIDE_TEXT, row.denial_count, row.first_expiry)
    };
    assert_eq!(numbers(merged), numbers(fresh));
    for (one, other) in merged.nodes().zip(fresh.nodes()) {
        assert_eq!((one.flags(), one.nsec3_rank()), (other.flags(), other.nsec3_rank()));
        assert!(one.glue().into_iter().flatten().eq(other.glue().into_iter().flatten()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn says_what_a_new_pack_says(
        drafts in drafts(),
        number in 0..5u8,
        denial in prop::sample::select(vec![Denial::None, Denial::Nsec, Denial::Nsec3]),
        steps in steps(),
        more in prop::collection::vec(labels(), 0..20),
    ) {
        check(&drafts, &apex(number), denial, &steps, &more);
    }
}

/// Few names, so that cuts, their servers, wildcards and DNAMEs hide and name each other.
fn narrow() -> impl Strategy<Value = Vec<Draft>> {
    let labels = || prop::collection::vec(prop::sample::select(vec![0u8, 2, 5, 16]), 1..4);
    let kinds = vec![0u8, 0, 2, 4, 4, 4, 6, 8, 12, 12, 13, 13];
    prop::collection::vec((labels(), prop::sample::select(kinds), labels()), 8..64)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn glue_is_that_of_a_new_pack(
        drafts in narrow(),
        denial in prop::sample::select(vec![Denial::None, Denial::Nsec, Denial::Nsec3]),
        steps in steps(),
    ) {
        check(&drafts, &apex(1), denial, &steps, &[]);
    }
}

mod long {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

        #[test]
        #[ignore = "long: make test-long"]
        fn says_what_a_new_pack_says(
            drafts in drafts(),
            number in 0..5u8,
            denial in prop::sample::select(vec![Denial::None, Denial::Nsec, Denial::Nsec3]),
            steps in steps(),
            more in prop::collection::vec(labels(), 0..20),
        ) {
            check(&drafts, &apex(number), denial, &steps, &more);
        }

        #[test]
        #[ignore = "long: make test-long"]
        fn glue_is_that_of_a_new_pack(
            drafts in narrow(),
            denial in prop::sample::select(vec![Denial::None, Denial::Nsec, Denial::Nsec3]),
            steps in steps(),
        ) {
            check(&drafts, &apex(1), denial, &steps, &[]);
        }
    }
}
