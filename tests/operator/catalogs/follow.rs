//! A catalog is followed.

use std::time::Instant;

use super::*;

const ONE: &str = "one.member.test.";
const TWO: &str = "two.member.test.";
const THREE: &str = "three.member.test.";

/// A primary with a catalog of these members and all their zones.
#[track_caller]
fn primary_of(other: SocketAddr, members: &[Member<'_>]) -> Zonda {
    let (catalog, zone) = (catalog_text(1, members), zone_text(1));
    let mut zones = vec![(CATALOG, catalog.as_str())];
    zones.extend(members.iter().map(|member| (member.zone, zone.as_str())));
    primary(other, &zones)
}

/// Nothing becomes of it.
#[track_caller]
fn stays(mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + MOMENT;
    while Instant::now() < until {
        assert!(is_so());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Members are added, removed, put into another group, and are other zones where their label is another.
#[test]
fn members_come_and_go() {
    let address = free_address();
    let mut list = members(&[ONE, TWO]);
    let there = primary_of(address, &list);
    there.put(THREE, &zone_text(7));
    let here = Zonda::start(address, &consumer(there.address, "", ""), &[]);
    await_that("the members", || is_served(address, ONE) && is_served(address, TWO));
    assert!(is_refused(address, THREE));
    assert!(here.ctl(&["zones", ONE]).1.contains("member of catalog.test."));
    let (is_well, said) = here.ctl(&["catalog"]);
    assert!(is_well && said.contains("followed") && said.contains("2 members"), "{said}");

    // One more, one in another group.
    list.push(Member { label: "x", zone: THREE, ..Member::default() });
    list[1].group = "closed";
    there.put(CATALOG, &catalog_text(2, &list));
    await_that("one more", || serial(address, THREE) == Some(Ok(7)));
    await_that("another group", || is_refused(address, TWO));
    let (_, said) = here.ctl(&["catalog", "show", CATALOG]);
    assert!(said.contains("two.member.test. (closed)") && said.contains("1 added, 1 regrouped"), "{said}");

    // The same name, and another zone: its serial is lower, which a secondary does not take.
    there.put(THREE, &zone_text(3));
    stays(|| serial(address, THREE) == Some(Ok(7)));
    list[2].label = "y";
    there.put(CATALOG, &catalog_text(3, &list));
    await_that("the other zone", || serial(address, THREE) == Some(Ok(3)));

    // One leaves.
    list.remove(0);
    list[0].group = "";
    there.put(CATALOG, &catalog_text(4, &list));
    await_that("the end of one", || is_refused(address, ONE));
    await_that("the first group", || is_served(address, TWO));
    assert!(here.ctl(&["remove-zone", TWO]).1.contains("is a member of catalog"));
    let members =
        std::fs::read_to_string(here.folder.path().join("packs/members")).expect("the file of members");
    assert!(members.contains("- catalog.test. one.member.test.\n"), "{members}");
}

/// A catalog that is broken changes nothing, says why, and is followed again once it is mended.
#[test]
fn a_broken_catalog_changes_nothing() {
    let address = free_address();
    let list = members(&[ONE, TWO]);
    let there = primary_of(address, &list);
    there.put(THREE, &zone_text(1));
    let here = Zonda::start(address, &consumer(there.address, "", ""), &[]);
    await_that("the members", || is_served(address, ONE) && is_served(address, TWO));
    let broken = [
        (catalog_text(2, &members(&[THREE])).replace("TXT 2", "TXT 3"), "another version"),
        (catalog_text(3, &members(&[THREE])).replace("version TXT 2\n", ""), "no TXT record"),
        (catalog_text(4, &members(&[THREE])) + "three.zones PTR four.member.test.\n", "several PTR records"),
        (catalog_text(5, &members(&[THREE])) + "again.zones PTR three.member.test.\n", "listed already"),
    ];
    for (text, why) in broken {
        there.put(CATALOG, &text);
        await_that(why, || here.ctl(&["catalog"]).1.contains(why));
        let (is_well, said) = here.ctl(&["catalog"]);
        assert!(!is_well && said.contains("broken"), "{said}");
        let (is_well, said) = here.ctl(&["status"]);
        assert!(!is_well && said.contains("is broken"), "{said}");
        assert!(is_served(address, ONE) && is_served(address, TWO) && is_refused(address, THREE));
    }
    there.put(CATALOG, &catalog_text(6, &members(&[ONE, THREE])));
    await_that("what it says now", || is_served(address, THREE) && is_refused(address, TWO));
    assert!(here.ctl(&["catalog"]).0 && is_served(address, ONE));
}

/// What removes too much at once waits, however it comes, and goes on when it is confirmed.
#[test]
fn mass_removal_waits() {
    let address = free_address();
    let names: Vec<String> = (0..12).map(|number| format!("m{number}.member.test.")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let there = primary_of(address, &members(&names));
    there.put(THREE, &zone_text(1));
    let settings = consumer(there.address, "remove-max = \"3\"", "");
    let mut here = Zonda::start(address, &settings, &[]);
    let are_served = || names.iter().all(|name| is_served(address, name));
    await_that("the members", are_served);
    // All but one are gone, and one is new: that comes, the others stay.
    there.put(CATALOG, &catalog_text(2, &members(&[names[0], THREE])));
    await_that("the new one", || is_served(address, THREE));
    await_that("what waits", || here.ctl(&["catalog"]).1.contains("waits"));
    assert!(are_served());
    let (is_well, said) = here.ctl(&["status"]);
    assert!(!is_well && said.contains("the data of 11 of its 13 members would be forgotten"), "{said}");
    // So after a start, too.
    here.start_again(&settings);
    await_that("what waits", || here.ctl(&["catalog"]).1.contains("waits"));
    assert!(are_served() && is_served(address, THREE));
    // Mended, nothing waits.
    let mended: Vec<&str> = names[2..].iter().copied().chain([THREE]).collect();
    there.put(CATALOG, &catalog_text(3, &members(&mended)));
    await_that("two removals", || is_refused(address, names[0]) && is_refused(address, names[1]));
    assert!(here.ctl(&["catalog"]).0, "{}", here.ctl(&["catalog"]).1);
    assert!(here.ctl(&["catalog", "confirm", CATALOG]).1.contains("nothing waits"));
    // Two more are too many within the hour.
    there.put(CATALOG, &catalog_text(4, &members(&mended[2..])));
    await_that("what waits", || here.ctl(&["catalog"]).1.contains("waits"));
    assert!(is_served(address, mended[0]) && is_served(address, mended[1]));
    let (is_well, said) = here.ctl(&["catalog", "confirm", CATALOG]);
    assert!(is_well && said.contains("2 removed"), "{said}");
    assert!(
        is_refused(address, mended[0]) && is_refused(address, mended[1]) && is_served(address, mended[2])
    );
    assert!(here.ctl(&["catalog"]).0 && here.ctl(&["status"]).0);
    assert!(here.ctl(&["catalog", "confirm", "other.test."]).1.contains("there is no catalog"));
}

/// A zone goes from one catalog to another where the first offers it, with its data; without an offer it stays.
#[test]
fn a_member_moves() {
    let (address, other) = (free_address(), "other.test.");
    let mut list = members(&[ONE, TWO]);
    let there = primary_of(address, &list);
    there.put(other, &catalog_text(1, &[]));
    let more = format!(
        "[[catalog]]\nzone = \"{other}\"\ntemplates = \"closed\"\n[[zone]]\nname = \"{other}\"\nprimaries = \"there\"\n"
    );
    let here = Zonda::start(address, &consumer(there.address, "", &more), &[]);
    await_that("the members", || is_served(address, ONE) && is_served(address, TWO));
    // Without an offer.
    there.put(other, &catalog_text(2, &members(&[ONE])));
    await_that("the clash", || here.ctl(&["catalog", "show", other]).1.contains("does not offer it"));
    assert!(is_served(address, ONE));
    // Offered, and taken with the next state.
    list[0].coo = other;
    there.put(CATALOG, &catalog_text(2, &list));
    await_that("the offer", || here.ctl(&["catalog", "show", other]).1.contains("offers it"));
    there.put(other, &catalog_text(3, &members(&[ONE])));
    await_that("the move", || is_refused(address, ONE));
    await_that("that it is told", || here.ctl(&["catalog", "show", other]).1.contains("1 moved"));
    assert!(here.ctl(&["zones", ONE]).1.contains("member of other.test."));
    // The first lets go: nothing becomes of the zone.
    there.put(CATALOG, &catalog_text(3, &list[1..]));
    await_that("the first", || here.ctl(&["catalog", "show", CATALOG]).1.contains("1 member\n"));
    assert!(here.ctl(&["zones", ONE]).1.contains("member of other.test.") && is_served(address, TWO));
}

/// Members are served after a start before their catalog is there, and go on when it is.
#[test]
fn members_outlive_a_start_without_the_primary() {
    let address = free_address();
    let list = members(&[ONE, TWO]);
    let mut there = primary_of(address, &list);
    let settings = consumer(there.address, "", "");
    let mut here = Zonda::start(address, &settings, &[]);
    await_that("the members", || is_served(address, ONE) && is_served(address, TWO));
    // Stored some seconds after they came.
    there.kill();
    here.start_again(&settings);
    await_that("the members as stored", || is_served(address, ONE) && is_served(address, TWO));
    assert!(is_refused(address, CATALOG), "who may not transfer it may not ask");
    await_that("the lists", || here.ctl(&["zones", ONE]).1.contains("member of catalog.test."));
    // Without the packs, too, they are members: waited for, not refused.
    here.kill();
    let packs = here.folder.path().join("packs");
    for entry in std::fs::read_dir(&packs).expect("the packs") {
        let path = entry.expect("an entry").path();
        if path.file_name().is_some_and(|name| name != "members") && path.is_file() {
            std::fs::remove_file(path).expect("a file less");
        }
    }
    std::fs::remove_dir_all(packs.join("journal")).ok();
    here.process = spawn(here.folder.path(), address, &settings);
    here.await_answers();
    await_that("the members as absent", || {
        serial(address, ONE) == Some(Err(2)) && serial(address, TWO) == Some(Err(2))
    });
    let (zones, address_there) = (there.folder.path().join("zones"), there.address);
    std::fs::write(zones.join("catalog.test.zone"), catalog_text(2, &members(&[TWO]))).expect("a file");
    let more = format!(
        "[access]\ntransfer = \"all\"\n[[remote]]\nname = \"other\"\naddresses = [\"{address}\"]\n[[zone-directory]]\npath = \"HOME/zones\"\nnotify = \"other\"\n"
    );
    there.process = spawn(there.folder.path(), address_there, &more);
    there.await_answers();
    // As somebody who does not wait for the next retry.
    await_that("what the catalog says now", || {
        here.ctl(&["refresh", CATALOG]);
        is_served(address, TWO) && is_refused(address, ONE)
    });
}

/// What settings and commands have is theirs; what leaves them is a member again.
#[test]
fn settings_come_before_catalogs() {
    let address = free_address();
    let there = primary_of(address, &members(&[ONE, TWO, "top."]));
    let own = format!("[[zone]]\nname = \"{ONE}\"\nfile = \"HOME/own\"\n");
    let with = |more: &str| consumer(there.address, "members = \"*.member.test.\"", more);
    let here = Zonda::start(address, &with(&own), &[("own", &zone_text(99))]);
    await_that("the member", || is_served(address, TWO));
    assert_eq!(serial(address, ONE), Some(Ok(99)));
    await_that("the clash", || {
        here.ctl(&["catalog"]).1.contains("one.member.test.: the settings or a command have it")
    });
    let (is_well, said) = here.ctl(&["catalog", "show", CATALOG]);
    assert!(is_well && said.contains("top.: `members` of the catalog does not allow the name"), "{said}");
    // It leaves the settings, and is the catalog's; then the settings have the other one.
    let write_settings = |more: &str| {
        let text = settings(here.folder.path(), address, &[], &with(more));
        write(
            here.folder.path(),
            "zonda.toml",
            &text.replace("HOME", &here.folder.path().display().to_string()),
        );
        assert!(here.ctl(&["reload"]).0);
    };
    write_settings(&format!("[[zone]]\nname = \"{TWO}\"\nfile = \"HOME/own\"\n"));
    assert_eq!(serial(address, TWO), Some(Ok(99)));
    assert!(here.ctl(&["zones", ONE]).1.contains("member of catalog.test."));
    assert!(here.ctl(&["add-zone", ONE, "own"]).1.contains("served already"));
    // Without the catalog in the settings its members go.
    let text = settings(
        here.folder.path(),
        address,
        &[],
        &format!("pack-directory = \"HOME/packs\"\n[[zone]]\nname = \"{TWO}\"\nfile = \"HOME/own\"\n"),
    );
    write(here.folder.path(), "zonda.toml", &text.replace("HOME", &here.folder.path().display().to_string()));
    assert!(here.ctl(&["reload"]).0);
    assert!(is_refused(address, ONE) && is_served(address, TWO));
}

/// Killed at any moment while its catalog changes, a server has what the catalog says in the end, and serves no member that is none.
#[test]
fn killed_while_members_come_and_go() {
    let address = free_address();
    let names: Vec<String> = (0..40).map(|number| format!("m{number}.member.test.")).collect();
    let of = |round: usize| -> Vec<&str> {
        names
            .iter()
            .enumerate()
            .filter(|(at, _)| !(at + round).is_multiple_of(3))
            .map(|(_, name)| name.as_str())
            .collect()
    };
    let there = primary_of(address, &members(&of(0)));
    for name in &names {
        let file = format!("zones/{}.zone", name.trim_end_matches('.'));
        write(there.folder.path(), &file, &zone_text(1));
    }
    assert!(there.ctl(&["reload"]).0);
    let settings = consumer(there.address, "remove-max = \"any\"", "");
    let mut here = Zonda::start(address, &settings, &[]);
    await_that("the first members", || of(0).iter().all(|name| is_served(address, name)));
    for round in 1..7 {
        there.put(CATALOG, &catalog_text(1 + round as u32, &members(&of(round))));
        // A little later each time.
        std::thread::sleep(Duration::from_millis(3 * round as u64));
        here.start_again(&settings);
    }
    await_that("the last members", || {
        here.ctl(&["refresh", CATALOG]);
        of(6).iter().all(|name| is_served(address, name))
    });
    let others = names.iter().filter(|name| !of(6).contains(&name.as_str()));
    assert!(others.clone().count() > 10 && others.clone().all(|name| is_refused(address, name)));
    let (is_well, said) = here.ctl(&["catalog"]);
    assert!(is_well && said.contains(&format!("{} members", of(6).len())), "{said}");
    assert!(!here.log().contains("not understood"), "{}", here.log());
}

/// The server that takes over has the members that there are, and follows the catalog.
#[test]
fn an_upgrade_keeps_members() {
    let address = free_address();
    let mut list = members(&[ONE, TWO]);
    let there = primary_of(address, &list);
    there.put(THREE, &zone_text(1));
    let here = Zonda::start(address, &consumer(there.address, "", ""), &[]);
    await_that("the members", || is_served(address, ONE) && is_served(address, TWO));
    let (is_well, said) = here.ctl(&["upgrade"]);
    assert!(is_well, "{said}");
    // No child of ours: ended whatever becomes of this test.
    let _successor = Successor(&here);
    assert!(is_served(address, ONE) && is_served(address, TWO));
    list.remove(0);
    list.extend(members(&[THREE]));
    there.put(CATALOG, &catalog_text(2, &list));
    await_that("what the catalog says now", || {
        here.ctl(&["refresh", CATALOG]);
        is_served(address, THREE) && is_refused(address, ONE)
    });
    assert!(is_served(address, TWO));
}

/// A server that took over, which is told to stop.
struct Successor<'s>(&'s Zonda);

impl Drop for Successor<'_> {
    fn drop(&mut self) {
        self.0.ctl(&["stop"]);
    }
}
