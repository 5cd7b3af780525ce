//! What is told of zones, and what of it has room.

use super::*;

fn version(zone: &str, serial: u32, kind: Kind) -> Version {
    Version {
        id: i64::from(serial),
        zone: zone.into(),
        serial,
        mark: format!("{serial:032}"),
        kind,
        rows: 1,
        at: 0,
        who: None,
        why: None,
    }
}

/// Records of a zone: an SOA record, which comes last, and so many others of these octets.
fn records(count: usize, octets: usize) -> Vec<RecordBuf> {
    let mut records = zonefile::records(
        "@ 60 A 192.0.2.1\n@ 60 SOA ns host 1 3600 600 86400 60\n",
        &"a.test.".parse::<wire::NameBuf>().unwrap(),
    )
    .unwrap();
    let soa = records.pop().unwrap();
    let other = RecordBuf { rdata: vec![7; octets], ..records.pop().unwrap() };
    let mut records = vec![other; count];
    records.push(soa);
    records
}

fn next(zones: &[(&str, Option<&str>)]) -> Vec<Next> {
    let next = |(zone, held): &(&str, Option<&str>)| Next {
        zone: (*zone).to_owned(),
        held: held.map(ToOwned::to_owned),
    };
    zones.iter().map(next).collect()
}

fn take_whole(page: &mut Page, zones: &[(&str, usize, usize)]) {
    page.take_wholes(|each| {
        for (zone, count, octets) in zones {
            each(Told::Version(&version(zone, 1, Kind::Whole), false))?;
            records(*count, *octets).iter().try_for_each(|record| each(Told::Record(record)))?;
        }
        Ok(())
    })
    .unwrap();
}

fn count(page: &Page, zone: &str) -> Option<usize> {
    let (mut count, mut first) = (0, None);
    let mut begin = |version: &Version| {
        assert_eq!(version.zone, zone);
        std::ops::ControlFlow::Continue(())
    };
    page.records(zone, &mut begin, &mut |record| {
        first.get_or_insert(record.rtype);
        count += 1;
        std::ops::ControlFlow::Continue(())
    })?
    .unwrap();
    assert_eq!(first, Some(rtype::SOA));
    Some(count)
}

#[test]
fn zones_that_have_room_are_there() {
    let zones = [("a.test.", None), ("b.test.", None), ("c.test.", None), ("d.test.", None)];
    let mut page = Page::of(&next(&zones));
    assert!(zones.iter().all(|(zone, _)| page.wants_whole(zone)));
    // Too many records for a page; and then too many octets.
    take_whole(
        &mut page,
        &[("a.test.", 2, 9), ("b.test.", ROWS_MAX, 9), ("c.test.", 999, 30_000), ("d.test.", 999, 30_000)],
    );
    assert_eq!((count(&page, "a.test."), count(&page, "b.test.")), (Some(3), None));
    assert_eq!((page.newest("b.test.").unwrap().serial, page.has("b.test.")), (1, true));
    // All of it is at hand of these alone; the others take statements of their own.
    assert_eq!(zones.map(|(zone, _)| page.has_all(zone)), [true, false, true, false]);
    assert_eq!(count(&page, "c.test."), Some(1_000));
    assert!(!page.has("d.test.") && page.newest("d.test.").is_none());
    assert!(page.octets < OCTETS_MAX);
}

#[test]
fn what_changed_since_what_is_held() {
    let zones =
        [("a.test.", Some("7")), ("b.test.", Some("7")), ("c.test.", Some("7")), ("d.test.", Some("7"))];
    let mut page = Page::of(&next(&zones));
    let change = &records(1, 9)[0];
    page.take_changes(&zones, |each| {
        each(Told::Known(&version("a.test.", 1, Kind::Whole)))?;
        each(Told::Version(&version("a.test.", 2, Kind::Change), true))?;
        each(Told::Changed(What::Added, change))?;
        each(Told::Known(&version("b.test.", 1, Kind::Whole)))?;
        each(Told::Version(&version("c.test.", 5, Kind::Change), false))
    })
    .unwrap();
    let serials = |zone: &str| {
        let since = page.since(zone)?;
        Some(since.iter().map(|version| version.serial).collect::<Vec<_>>())
    };
    assert_eq!((serials("a.test."), serials("b.test.")), (Some(vec![2]), Some(vec![])));
    assert_eq!((serials("c.test."), serials("d.test.")), (None, None));
    let wants = zones.map(|(zone, _)| page.wants_whole(zone));
    assert_eq!(wants, [false, false, true, false]);
    assert_eq!(zones.map(|(zone, _)| page.has_all(zone)), [true, true, false, true]);
    let newest = zones.map(|(zone, _)| page.newest(zone).map(|newest| newest.serial));
    assert_eq!(newest, [Some(2), Some(1), Some(5), None]);
    let mut seen = 0;
    let changed = page.changed(&version("a.test.", 2, Kind::Change), &mut |_, _| {
        seen += 1;
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!((changed.unwrap(), seen), (1, 1));
}

/// Of what has no room nothing is there, but of a zone that is asked for alone which versions there are.
#[test]
fn changes_beyond_the_bound() {
    let zones = [("a.test.", Some("7")), ("b.test.", Some("7"))];
    let large = &records(1, 60_000)[0];
    let tell = |each: TellEach<'_>| {
        each(Told::Known(&version("a.test.", 1, Kind::Whole)))?;
        each(Told::Version(&version("a.test.", 2, Kind::Change), true))?;
        (0..600).try_for_each(|_| each(Told::Changed(What::Added, large)))?;
        each(Told::Version(&version("a.test.", 3, Kind::Change), true))
    };
    let mut page = Page::of(&next(&zones));
    page.take_changes(&zones, tell).unwrap();
    assert!(!page.has("a.test.") && !page.has("b.test.") && page.octets == 0);
    page.take_alone(&[zones[0]], tell).unwrap();
    assert_eq!(page.newest("a.test.").unwrap().serial, 3);
    assert_eq!(page.since("a.test.").unwrap().len(), 2);
    let changed =
        page.changed(&version("a.test.", 3, Kind::Change), &mut |_, _| std::ops::ControlFlow::Continue(()));
    assert_eq!(changed.unwrap(), 0, "fewer than it says");
    assert!(page.octets < OCTETS_MAX + 70_000);
}
