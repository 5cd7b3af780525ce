use super::*;

const NOW: u64 = CLOCK_SECONDS_MIN + 86_400;

/// What is built in, with a key that is pending.
fn followed() -> (Vec<Managed>, Vec<Managed>) {
    let seeds = seeds(&Anchors::built_in()).to_vec();
    let mut zones = seeds.clone();
    let state = KeyState::Pending { since: NOW, until: NOW + 30 * 86_400 };
    zones[0].keys.push(ManagedKey { rdata: vec![1, 1, 3, 8, 3, 1, 0, 1, 7], state });
    (zones[0].checked, zones[0].next) = (NOW, NOW + 3600);
    (seeds, zones)
}

fn begun(file: &Path, seeds: &[Managed]) -> Vec<Managed> {
    let mut state = State::default();
    state.begin(file, seeds);
    state.zones
}

#[test]
fn states_go_on_over_a_restart_while_the_seeds_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    let (seeds, zones) = followed();
    assert_eq!(begun(&file, &seeds), seeds, "no file");
    let mut is_unwritable = false;
    write(&file, &text(&seeds, &zones), &mut is_unwritable);
    assert!(!is_unwritable && !folder.path().join(TEMPORARY).exists());
    assert_eq!(begun(&file, &seeds), zones);
    // One anchor less: it begins anew.
    let mut others = seeds.clone();
    others[0].ds.pop();
    assert_eq!(begun(&file, &others), others);
    // What is in memory goes before the file, and without seeds nothing is left.
    let mut state = State { seeds: seeds.clone(), zones: seeds.clone(), ..State::default() };
    state.begin(&file, &seeds);
    assert_eq!(state.zones, seeds);
    state.begin(&file, &[]);
    assert_eq!(state.zones, []);
}

#[test]
fn of_a_damaged_file_nothing_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    let (seeds, zones) = followed();
    let whole = text(&seeds, &zones);
    #[track_caller]
    fn check(file: &Path, text: &[u8], expected: &str) {
        fs::write(file, text).unwrap();
        let fault = read(file).unwrap_err();
        assert!(fault.starts_with(expected), "{fault}");
        let (seeds, _) = followed();
        assert_eq!(begun(file, &seeds), seeds);
    }
    check(&file, b"", "line 1: expected `zonda-managed-keys 1`");
    check(&file, whole.replace("key pending", "key trusted").as_bytes(), "line 13: expected `valid`");
    check(&file, whole.replace(BEGUN, "# ").as_bytes(), "what it was begun with cannot be read");
    check(&file, b"\xff\xfe", "stream did not contain valid UTF-8");
    check(&file, "#".repeat(FILE_OCTETS_MAX as usize + 1).as_bytes(), "it has more than");
}

#[test]
fn what_cannot_be_written_goes_on_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gone").join(FILE);
    let mut is_unwritable = false;
    write(&file, "", &mut is_unwritable);
    assert!(is_unwritable);
    fs::create_dir(folder.path().join("gone")).unwrap();
    write(&file, "", &mut is_unwritable);
    assert!(!is_unwritable && file.exists());
}

#[test]
fn a_clock_that_is_behind_moves_nothing() {
    let keeper = Keeper::new(Some(Path::new("nowhere")));
    let (seeds, zones) = followed();
    *keeper.state.lock() = State { seeds, zones, ..State::default() };
    let root = Some(NameBuf::root());
    assert_eq!(keeper.due(0), None, "before this was written");
    assert_eq!(keeper.due(NOW - 2 * CLOCK_STEP_SECONDS_MAX), None, "before the last look");
    assert_eq!(keeper.due(NOW), None, "not due");
    assert_eq!(keeper.due(NOW + 3600), root);
    // Put off by a clock that was wrong.
    keeper.state.lock().zones[0].next = NOW + 2 * PUT_OFF_SECONDS_MAX;
    assert_eq!(keeper.due(NOW), root);
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
    assert!(!folder.path().join(FILE).exists());
}
