//! What is kept of zones that are made, and who has a zone that two want.

use std::fs;
use std::path::Path;

use super::*;
use crate::controller::Overrides;
use crate::progress::Progress;
use crate::serve::all_wanted;
use crate::settings::Settings;

const TEMPLATE: &str = "[api]\ntemplate = \"hosted\"\nzones = [\"*.test.\"]\n[[template]]\nname = \"hosted\"\nupdate-policy = \"p\"\n\
     [[update-policy]]\nname = \"p\"\nrules = [\"grant * zonesub\"]\n";

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

fn zone(account: &str) -> MadeZone {
    MadeZone::new(&Fields { account: Some(account), ..Fields::default() }, "acme")
}

fn folder(path: &Path) -> PackFolder {
    PackFolder::open(path).unwrap()
}

/// What a start finds.
fn read(path: &Path) -> List {
    List::read(&folder(path)).0
}

/// The same, to go on with.
fn started(path: &Path) -> Made {
    let made = Made::new();
    made.settle(&folder(path), None);
    made
}

#[test]
fn what_is_kept_is_there_after_a_start() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path();
    let made = Made::new();
    for text in ["a.test.", "B.test.", "c.test."] {
        made.keep(&folder(path), &name(text), zone(""), None).unwrap();
    }
    made.keep(&folder(path), &name("a.test."), zone("ours"), None).unwrap();
    made.strike(&folder(path), &name("b.TEST."), Gone { serial: 7, time: crate::expiry::now() }, None)
        .unwrap();
    let list = read(path);
    assert!(list.is_read && list.problem.is_none());
    assert_eq!(list.zones.len(), 2);
    assert_eq!(list.zones[&name("a.test.")], zone("ours"));
    assert_eq!(list.gone[&name("b.test.")].serial, 7);
    // One that comes again is there again.
    made.keep(&folder(path), &name("b.test."), zone(""), None).unwrap();
    assert_eq!((made.count(), made.floor(&name("b.test."))), (3, Some(7)));
    assert_eq!(read(path).zones.len(), 3);
}

/// So with by what it was done: as long as it may be asked for again, also where the file was written anew.
#[test]
fn requests_stay_known_for_a_day() {
    const DAY: u64 = 86_400;
    let (scratch, now) = (tempfile::tempdir().unwrap(), crate::expiry::now());
    let (path, made) = (scratch.path(), Made::new());
    let repeat = |number: u8| Repeat::from_hashes([[1; 16], [number; 16], [number; 16]]);
    let request = |number, time| Some(Request { repeat: repeat(number), serial: number.into(), time });
    made.keep(&folder(path), &name("A.test."), zone(""), request(1, now)).unwrap();
    made.keep(&folder(path), &name("b.test."), zone(""), request(2, now - DAY)).unwrap();
    let gone = Gone { serial: 5, time: now };
    made.strike(&folder(path), &name("a.test."), gone, request(3, now)).unwrap();
    let of = |number: u32| Look::Done(vec![(name("a.test."), (number, number))]);
    let expect =
        |look: &dyn Fn(u8) -> Look| assert_eq!([look(1), look(2), look(3)], [of(1), Look::New, of(3)]);
    expect(&|number| made.look(&repeat(number), now));
    expect(&|number| read(path).requests.look(&repeat(number), now));
    let mut writing = made.writing.lock();
    made.write_anew(&mut writing, &folder(path)).unwrap();
    expect(&|number| read(path).requests.look(&repeat(number), now));
    let list = read(path);
    assert_eq!((list.zones.len(), list.gone.len(), list.requests.count()), (1, 1, 2));
}

/// Half a line is of nobody who was told, wherever it was cut off; what was told before it is there.
#[test]
fn half_a_line_is_none() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path();
    let made = Made::new();
    made.keep(&folder(path), &name("a.test."), zone(""), None).unwrap();
    let whole = fs::read(path.join("made")).unwrap();
    made.keep(&folder(path), &name("b.test."), zone(""), None).unwrap();
    let both = fs::read(path.join("made")).unwrap();
    for length in whole.len()..both.len() {
        fs::write(path.join("made"), &both[..length]).unwrap();
        let list = read(path);
        assert!(list.problem.is_none() && list.zones.len() == 1, "{length}");
        // The next line stands behind the last whole one.
        let again = started(path);
        again.keep(&folder(path), &name("c.test."), zone(""), None).unwrap();
        let zones = read(path).zones;
        assert!(zones.len() == 2 && zones.contains_key(&name("c.test.")), "{length}");
    }
    // So with the first line.
    for length in 0..line::HEAD.len() {
        fs::write(path.join("made"), &line::HEAD[..length]).unwrap();
        let again = started(path);
        again.keep(&folder(path), &name("c.test."), zone(""), None).unwrap();
        assert_eq!(read(path).zones.len(), 1, "{length}");
    }
}

/// Damage of the disk is for people to mend: nothing is written over it.
#[test]
fn damage_is_left_as_it_is() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path();
    let made = Made::new();
    for text in ["a.test.", "b.test.", "c.test."] {
        made.keep(&folder(path), &name(text), zone(""), None).unwrap();
    }
    let text = fs::read_to_string(path.join("made")).unwrap();
    for damaged in [text.replace("b.test", "x.test"), text.replace("made 1", "made 2"), "other\n".to_owned()]
    {
        fs::write(path.join("made"), &damaged).unwrap();
        let list = read(path);
        assert!(!list.is_read && list.problem.is_some(), "{damaged}");
        assert!(list.zones.len() <= 1);
        assert_eq!(fs::read_to_string(path.join("made")).unwrap(), damaged);
    }
    // Once it is mended it is read.
    fs::write(path.join("made"), &text).unwrap();
    assert_eq!(read(path).zones.len(), 3);
}

#[test]
fn the_file_stays_short() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = folder(scratch.path());
    let made = Made::new();
    for number in 0..2_500 {
        made.keep(&folder, &name("a.test."), zone(&number.to_string()), None).unwrap();
    }
    let text = fs::read_to_string(scratch.path().join("made")).unwrap();
    assert!(text.lines().count() < 1_100, "{}", text.lines().count());
    drop(folder);
    assert_eq!(&*read(scratch.path()).zones[&name("a.test.")].account, "2499");
}

/// A line that cannot be written is none, and neither is the zone.
#[test]
fn what_cannot_be_written_is_not_kept() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = folder(scratch.path());
    let made = Made::new();
    fs::create_dir(scratch.path().join("made")).unwrap();
    let kept = made.keep(&folder, &name("a.test."), zone(""), None);
    // A folder can be neither written nor replaced, so that nobody knows.
    assert_eq!((kept, made.count()), (Err(Unkept::Unknown), 0));
    assert!(!made.problems().is_empty());
    fs::remove_dir(scratch.path().join("made")).unwrap();
    made.keep(&folder, &name("a.test."), zone(""), None).unwrap();
    assert!(made.problems().is_empty());
}

/// While a disk syncs, or hangs, what there is can be looked at: each change of any zone does.
#[test]
fn nobody_waits_for_the_disk() {
    let scratch = tempfile::tempdir().unwrap();
    let made = Made::new();
    let own = name("a.test.");
    made.keep(&folder(scratch.path()), &own, zone(""), None).unwrap();
    let _writing = made.writing.lock();
    // Who waited here would wait for ever.
    assert!(made.has(&own) && made.of(&own).is_some() && made.serial_style(&own).is_some());
    assert_eq!((made.count(), made.floor(&own), made.is_leaving(&own)), (1, None, false));
    assert!(made.problem().is_none() && made.problems().is_empty() && made.source().is_none());
}

#[test]
fn old_ones_that_are_gone_are_forgotten() {
    let mut list = List::default();
    let now = 100 * GONE_SECONDS;
    let gone = |time| Gone { serial: 1, time };
    list.gone.insert(name("old.test."), gone(now - GONE_SECONDS));
    list.gone.insert(name("new.test."), gone(now - 1));
    list.forget_old(now);
    assert!(list.gone.len() == 1 && list.gone.contains_key(&name("new.test.")));
    for number in 0..GONE_MAX {
        list.gone.insert(name(&format!("{number}.test.")), gone(now));
    }
    list.forget_old(now);
    assert!(list.gone.len() == GONE_MAX && !list.gone.contains_key(&name("new.test.")));
}

/// Names that come and go, each another one, are not known for ever.
#[test]
fn names_that_come_and_go_have_a_bound() {
    let mut list = List::default();
    for number in 0..3 * GONE_MAX / 2 {
        list.zones.insert(name(&format!("{number}.test.")), zone(""));
        list.strike(name(&format!("{number}.test.")), Gone { serial: 1, time: number as u64 / 4 });
        assert!(list.gone.len() <= GONE_HELD_MAX && list.zones.is_empty());
    }
    let last = name(&format!("{}.test.", 3 * GONE_MAX / 2 - 1));
    assert!(list.gone.contains_key(&last) && !list.gone.contains_key(&name("0.test.")));
}

/// One that is there again went before, and may go without data: the next begins above what was.
#[test]
fn what_was_before_stays_known() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = folder(scratch.path());
    let made = Made::new();
    let (own, now) = (name("a.test."), crate::expiry::now());
    made.keep(&folder, &own, zone(""), None).unwrap();
    made.strike(&folder, &own, Gone { serial: 57, time: now }, None).unwrap();
    made.keep(&folder, &own, zone("again"), None).unwrap();
    assert_eq!(made.floor(&own), Some(57));
    // So it is in a file that was written anew.
    made.write_anew(&mut made.writing.lock(), &folder).unwrap();
    drop(folder);
    let list = read(scratch.path());
    assert_eq!((&*list.zones[&own].account, list.gone[&own].serial), ("again", 57));
}

/// Zones, what is wrong, whose zones others want, and how many lists could not be read.
type Settled = (Vec<String>, Option<String>, Vec<String>, usize);

/// A controller with these zones made before its start, and what is wanted of it by the settings.
fn wanted(scratch: &Path, made: &[&str], more: &str) -> Settled {
    wanted_by(scratch, made, more).0
}

/// The same, and whether a start may go on with that.
fn wanted_by(scratch: &Path, made: &[&str], more: &str) -> (Settled, Result<(), String>) {
    let packs = scratch.join("packs");
    let kept = Made::new();
    for text in made {
        kept.keep(&folder(&packs), &name(text), zone(""), None).unwrap();
    }
    let text = format!("[server]\npack-directory = \"packs\"\n{more}");
    let settings = Settings::parse(&scratch.join("zonda.toml"), &text).unwrap();
    let controller = Controller::new(settings, Overrides::default()).unwrap();
    let changing = controller.change();
    let mut wanted = all_wanted(&changing.settings, &controller.overrides, &Progress::default()).unwrap();
    let (fault, clashes) = controller.settle_made(&changing, &mut wanted);
    let said = |(name, id)| format!("{name} {}", wanted.sources.get(id, name).unwrap());
    let mut zones: Vec<String> =
        wanted.iter().map(said).map(|text| text.replace(&format!("{}/", scratch.display()), "")).collect();
    zones.sort();
    ((zones, fault, clashes, wanted.unread.len()), controller.expect_made_known())
}

#[test]
fn who_was_first_keeps_a_zone() {
    let scratch = tempfile::tempdir().unwrap();
    let more = format!(
        "{TEMPLATE}[[zone]]\nname = \"B.test.\"\nfile = \"b\"\n[[zone]]\nname = \"c.test.\"\nfile = \"c\"\n"
    );
    let (zones, fault, clashes, unread) = wanted(scratch.path(), &["a.test.", "b.test."], &more);
    assert_eq!(
        zones,
        ["a.test. packs/made-zones/a.test.zone", "b.test. packs/made-zones/b.test.zone", "c.test. c"]
    );
    assert!(fault.is_none() && unread == 0);
    assert!(
        clashes.len() == 1 && clashes[0].contains("b.test.") && clashes[0].contains("API"),
        "{clashes:?}"
    );
}

/// Without their template it is not known who may see them: they stay as they were, and their owners.
#[test]
fn without_a_template_nothing_of_them_changes() {
    let scratch = tempfile::tempdir().unwrap();
    let (zones, fault, _, unread) =
        wanted(scratch.path(), &["a.test."], "[[zone]]\nname = \"c.test.\"\nfile = \"c\"\n");
    assert_eq!(zones, ["c.test. c"]);
    assert!(unread == 1 && fault.as_ref().is_some_and(|line| line.contains("template")), "{fault:?}");
    // A start, which has nothing that could stay, is none.
    let (_, known) = wanted_by(scratch.path(), &[], "");
    assert!(known.is_err_and(|line| line.contains("template")));
    let (_, known) = wanted_by(scratch.path(), &[], TEMPLATE);
    assert_eq!(known, Ok(()));
    fs::write(scratch.path().join("packs/made"), "damaged\n").unwrap();
    assert!(wanted_by(scratch.path(), &[], TEMPLATE).1.is_err());
    // A section of that name gets none whose text is there, though the list does not say it.
    fs::create_dir_all(scratch.path().join("packs").join(TEXTS)).unwrap();
    fs::write(scratch.path().join("packs").join(TEXTS).join("b.test.zone"), "").unwrap();
    let sections = "[[zone]]\nname = \"B.test.\"\nfile = \"b\"\n[[zone]]\nname = \"c.test.\"\nfile = \"c\"\n";
    let (zones, fault, clashes, _) = wanted(scratch.path(), &[], &format!("{TEMPLATE}{sections}"));
    assert_eq!(zones, ["c.test. c"]);
    assert!(fault.is_some() && clashes.len() == 1 && clashes[0].contains("b.test."), "{clashes:?}");
    // None was made: nothing is missing.
    let (_, fault, _, unread) = wanted(tempfile::tempdir().unwrap().path(), &[], "");
    assert!(fault.is_none() && unread == 0);
}

/// What lies in the folder of texts without a line is of a zone that came to nothing, or is gone.
#[test]
fn texts_of_nobody_are_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path();
    Made::new().keep(&folder(path), &name("a.test."), zone(""), None).unwrap();
    fs::create_dir(path.join(TEXTS)).unwrap();
    for file in ["a.test.zone", "b.test.zone", ".new", "README"] {
        fs::write(path.join(TEXTS).join(file), "").unwrap();
    }
    drop(read(path));
    let mut left: Vec<_> = fs::read_dir(path.join(TEXTS))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, [".new", "README", "a.test.zone"]);
}

/// Where the list was lost, as by a backup without it, nothing is taken for gone.
#[test]
fn a_lost_list_is_no_empty_one() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path();
    fs::create_dir(path.join(TEXTS)).unwrap();
    assert!(read(path).problem.is_none());
    fs::write(path.join(TEXTS).join("a.test.zone"), "").unwrap();
    let list = read(path);
    assert!(!list.is_read && list.problem.is_some_and(|line| line.contains("restore")));
    assert!(path.join(TEXTS).join("a.test.zone").exists());
    // So it is where it was cut off before it had begun, which nothing of ours leaves beside a text.
    for length in 0..line::HEAD.len() {
        fs::write(path.join("made"), &line::HEAD[..length]).unwrap();
        assert!(read(path).problem.is_some() && path.join(TEXTS).join("a.test.zone").exists(), "{length}");
    }
    // One that is older than many texts does not have them removed either.
    fs::write(path.join("made"), line::HEAD).unwrap();
    for number in 0..20 {
        fs::write(path.join(TEXTS).join(format!("{number}.test.zone")), "").unwrap();
    }
    assert!(read(path).problem.is_some_and(|line| line.contains("older")));
    assert_eq!(fs::read_dir(path.join(TEXTS)).unwrap().count(), 21);
}

/// What could not be begun is begun anew, and not taken for a good one.
#[test]
fn a_head_that_could_not_be_written() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = folder(scratch.path());
    let made = Made::new();
    fs::create_dir(scratch.path().join("made")).unwrap();
    assert_eq!(made.begin(&folder), Err(Unkept::NotNow));
    fs::remove_dir(scratch.path().join("made")).unwrap();
    fs::write(scratch.path().join("made"), &line::HEAD[..5]).unwrap();
    made.begin(&folder).unwrap();
    made.keep(&folder, &name("a.test."), zone(""), None).unwrap();
    drop(folder);
    assert_eq!(read(scratch.path()).zones.len(), 1);
}

#[test]
fn serials_go_on_as_asked_for() {
    let style = |text: &str| {
        MadeZone::new(&Fields { soa_edit_api: Some(text), ..Fields::default() }, "k").serial_style()
    };
    assert_eq!(["", "off", "INCREASE"].map(style), [SerialStyle::Increment; 3]);
    assert_eq!(
        ["EPOCH", "DEFAULT", "INCEPTION-INCREMENT"].map(style),
        [SerialStyle::UnixTime, SerialStyle::Date, SerialStyle::Date]
    );
    // What is not given stays, and what is given empty is empty.
    let before = zone("ours");
    let set = before.with(&Fields { soa_edit_api: Some(""), kind: Some(Kind::Master), ..Fields::default() });
    assert_eq!((&*set.account, &*set.soa_edit_api, set.kind), ("ours", "", Kind::Master));
    assert_eq!(before.with(&Fields::default()), before);
}
