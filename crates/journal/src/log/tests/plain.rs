//! Without crashes: what is appended is read, segments are used again, parts are joined.

use super::*;

#[test]
fn what_was_appended_is_read_in_order() {
    let disk = Simulated::new(1);
    let mut log = begin(open(&disk, Start::default()));
    let mut expected = Vec::new();
    for version in 1..60u32 {
        let content = vec![version as u8; version as usize * 40];
        let (one, other) =
            (entry(1, version - 1, version, &content), entry(version as usize, 0, version, b"x"));
        let number = append(&mut log, &[&one, &other]);
        expected.push((number, name(1).to_string(), version, content));
        expected.push((number, name(version as usize).to_string(), version, b"x".to_vec()));
    }
    assert!(expected.windows(2).all(|pair| pair[1].0 - pair[0].0 <= 1), "numbers have no gaps");
    let recovery = open(&disk.kill(), Start { identity: Some(log.identity()), ..Start::default() });
    assert_eq!(records(&recovery), expected);
    assert!(recovery.lost().is_empty());
    assert_eq!(recovery.next(), log.status().next);
}

#[test]
fn a_record_names_the_group_of_the_one_before() {
    let disk = Simulated::new(1);
    let mut log = begin(open(&disk, Start::default()));
    let (a, b) = (entry(1, 0, 1, b""), entry(2, 0, 1, b""));
    let checked = Entry::new(&name(1), 1, 1, 0, Body::Checked { time: 1, expiry: 2 }).expect("small");
    let first = append(&mut log, &[&a]);
    let second = append(&mut log, &[&checked, &b]);
    let third = append(&mut log, &[&a, &b, &a]);
    let before = |disk: &Simulated, start: Start| {
        let mut found = Vec::new();
        let recovery = open(&disk.kill(), start);
        recovery.replay(&mut |group, record| found.push((group, record.group_before))).expect("readable");
        found
    };
    let expected =
        vec![(first, 0), (second, 0), (second, 0), (third, first), (third, second), (third, third)];
    assert_eq!(before(&disk, Start::default()), expected);
    // A start goes on with what it has read.
    drop(log);
    let mut log = begin(open(&disk, Start::default()));
    let fourth = append(&mut log, &[&b]);
    assert_eq!(before(&disk, Start::default()).last(), Some(&(fourth, third)));
    // What a checkpoint has is not named.
    log.release(fourth + 1);
    let fifth = append(&mut log, &[&b]);
    assert_eq!(before(&disk, Start { first: fifth, ..Start::default() }), [(fifth, 0)]);
}

#[test]
fn segments_are_used_again_and_old_groups_are_none() {
    let disk = Simulated::new(1);
    let mut log = begin(open(&disk, Start::default()));
    let mut first = 1;
    for version in 1..400u32 {
        let number = append(&mut log, &[&entry(1, version - 1, version, b"some content")]);
        if version % 10 == 0 {
            first = number - 3;
            log.release(first);
        }
        if version % 50 == 0 {
            let recovery = open(&disk.kill(), Start { first, ..Start::default() });
            let serials: Vec<u32> = records(&recovery).iter().map(|record| record.2).collect();
            assert_eq!(serials, (version - 3..=version).collect::<Vec<u32>>());
            assert!(recovery.lost().is_empty(), "{:?}", recovery.lost());
        }
    }
    assert!(segment_files(&disk).len() < 16, "a bounded number of files: {}", segment_files(&disk).len());
}

#[test]
fn a_large_record_goes_over_several_segments() {
    let disk = Simulated::new(1);
    let mut log = begin(open(&disk, Start::default()));
    append(&mut log, &[&entry(1, 0, 1, b"small")]);
    let content: Vec<u8> = (0..2 * OPTIONS.segment_octets).map(|at| (at / 7) as u8).collect();
    assert!(matches!(log.append(&[&entry(2, 0, 1, &content)], Urgency::Ordinary), Err(AppendError::Full)));
    let last = log.append(&[&entry(2, 0, 1, &content)], Urgency::Last).expect("with those that are kept");
    while log.prepare().expect("a disk that works") {}
    let next = append(&mut log, &[&entry(1, 1, 2, b"small again")]);
    assert_eq!(next, last + 1);
    let found = records(&open(&disk.kill(), Start::default()));
    assert_eq!(found.len(), 3);
    assert_eq!((found[1].0, &found[1].3), (last, &content));
}

#[test]
fn without_room_nothing_is_written() {
    let disk = Simulated::new(1);
    let mut log = begin(open(&disk, Start::default()));
    disk.set_room(disk.used());
    let mut count = 0;
    let refused = loop {
        let has_room = log.has_room();
        let result = log.append(&[&entry(1, count, count + 1, b"")], Urgency::Ordinary);
        assert!(result.is_ok() || !has_room, "what it says is so");
        match result {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
        let _ = log.prepare();
    };
    assert!(matches!(refused, AppendError::Full), "{refused}");
    assert!(!log.has_room() && !log.is_undecided());
    assert!(log.room_error().is_some(), "it is known why");
    assert!(
        log.append(&[&entry(1, count, count + 1, b"")], Urgency::Last).is_ok(),
        "for a checkpoint there is room"
    );
    log.release(log.status().next);
    assert!(log.has_room());
    assert!(log.append(&[&entry(1, count + 1, count + 2, b"")], Urgency::Ordinary).is_ok());
    assert_eq!(records(&open(&disk.kill(), Start::default())).last().map(|record| record.2), Some(count + 2));
}

#[test]
fn a_log_of_another_server_is_not_touched() {
    let disk = Simulated::new(1);
    let mut log = begin(open(&disk, Start::default()));
    append(&mut log, &[&entry(1, 0, 1, b"")]);
    let start = Start { identity: Some([1; 16]), ..Start::default() };
    let opened = Recovery::open(Arc::new(disk.clone()), &folder(), OPTIONS, start);
    assert!(matches!(opened, Err(OpenError::Foreign(_))));
    let path =
        segment_files(&disk).into_iter().find(|path| disk.content(path).is_some_and(|octets| octets[0] != 0));
    disk.damage(&path.expect("one in use"), 8, |octets| octets[0] = 2);
    let opened = Recovery::open(Arc::new(disk.clone()), &folder(), OPTIONS, Start::default());
    assert!(matches!(opened, Err(OpenError::Version(_, 2))));
}

#[test]
fn numbers_are_above_what_packs_know() {
    let disk = Simulated::new(1);
    let start = Start { first: 40, known: 50, epoch: 7, identity: Some([9; 16]) };
    let recovery = open(&disk, start);
    assert!(recovery.is_new());
    assert_eq!(recovery.next(), 51);
    let mut log = begin(recovery);
    assert_eq!(log.status().epoch, 8);
    let number = append(&mut log, &[&entry(1, 0, 1, b"")]);
    assert!(number > 50);
    assert_eq!(log.identity(), [9; 16]);
    // A log that is there and ends before has lost its end.
    let recovery = open(&disk.kill(), Start { first: 51, known: 60, ..start });
    assert!(!recovery.is_new());
    assert_eq!(recovery.lost().len(), 1);
    assert!(recovery.suffers(&name(1), 50).is_some() && recovery.suffers(&name(1), 60).is_none());
    assert!(append(&mut begin(recovery), &[&entry(1, 1, 2, b"")]) > 60);
}

#[test]
fn starts_do_not_use_the_log_up() {
    let disk = Simulated::new(1);
    let mut log = begin(open(&disk, Start::default()));
    append(&mut log, &[&entry(1, 0, 1, b"kept")]);
    for _ in 0..200 {
        drop(log);
        log = begin(open(&disk, Start::default()));
        assert_eq!(records(&open(&disk.kill(), Start::default())).len(), 1);
    }
    assert!(segment_files(&disk).len() <= 8, "{}", segment_files(&disk).len());
}

/// A server that is killed again and again before it has shortened its log can write all the same, and does so then.
#[test]
fn starts_that_shorten_nothing_find_room() {
    let disk = Simulated::new(1);
    let most = usize::try_from(OPTIONS.log_octets).expect("small") / OPTIONS.segment_octets;
    let lives = most as u32 + 20;
    for life in 0..lives {
        let mut log = open(&disk, Start::default()).begin();
        if let Err(error) = log.decide() {
            assert!(matches!(error, AppendError::Full) && segment_files(&disk).len() >= most, "{error}");
            assert!(log.prepare().expect("a disk that works"), "one more is made");
            log.decide().expect("a disk that works");
        }
        append(&mut log, &[&entry(1, life, life + 1, b"")]);
    }
    assert!(segment_files(&disk).len() > most);
    let mut log = open(&disk, Start::default()).begin();
    while log.decide().is_err() {
        assert!(log.prepare().expect("a disk that works"));
    }
    assert_eq!(records(&open(&disk.kill(), Start::default())).len(), lives as usize);
    let last = append(&mut log, &[&entry(1, lives, lives + 1, b"")]);
    log.release(last);
    assert!(segment_files(&disk).len() <= most, "{}", segment_files(&disk).len());
    assert!(log.has_room());
}
