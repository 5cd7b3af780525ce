#![allow(clippy::unwrap_used)]

use super::*;

const ZONE: &str = "@ 9 SOA ns host 1 2 3 4 5\n@ 9 NS ns\nns 9 A 192.0.2.1\n";

fn job(id: usize, name: &str, path: &Path) -> Job {
    Job {
        id,
        name: name.parse().unwrap(),
        source: Source::File(path.to_owned()),
        refuse: Severity::Fatal,
        digest: Digest::Ignore,
    }
}

fn load(jobs: &[Job]) -> Vec<Outcome> {
    let (stored, progress) = (Stored::default(), Progress::default());
    let loader = Loader {
        effort: Effort::beside(1),
        folder: None,
        stored: &stored,
        progress: &progress,
        keep_small: false,
        anchors: Arc::default(),
        room: Room::default(),
    };
    let mut outcomes = Vec::new();
    loader.load(jobs, &mut |mut batch| outcomes.append(&mut batch));
    outcomes.sort_by_key(|(id, _)| *id);
    assert!(outcomes.iter().map(|(id, _)| *id).eq(0..jobs.len()));
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// A text is told from a pack by its content, whatever its length; a pack that was cut off is told as one. So it is where zones are so
/// many that files are opened without a look.
#[test]
fn texts_and_packs() {
    texts_and_packs_beside(0);
    texts_and_packs_beside(UNLOOKED_MIN);
}

fn texts_and_packs_beside(others: usize) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, octets: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, octets).unwrap();
        path
    };
    let text = write("text", ZONE.as_bytes());
    let mut long = ZONE.to_owned();
    while long.len() < HEADER_OCTETS || !may_be_pack(long.len() as u64) {
        long.push('\n');
    }
    let long = write("long", long.as_bytes());
    let compiled = compile(&[job(0, "a.example", &text), job(1, "b.example", &text)], Effort::all()).unwrap();
    let octets = compiled.packs[0].octets();
    let (pack, cut) = (write("pack", octets), write("cut", &octets[..octets.len() - 1]));
    let short = write("short", &octets[..octets.len() - SECTION_ALIGNMENT]);
    let large = write("large", format!("{ZONE}{}", "\n".repeat(ALONE_TEXT_OCTETS as usize)).as_bytes());
    let mut jobs = vec![
        job(0, "text.example", &text),
        job(1, "long.example", &long),
        job(2, "a.example", &pack),
        job(3, "b.example", &pack),
        job(4, "c.example", &pack),
        job(5, "a.example", &cut),
        job(6, "a.example", &short),
        job(7, "a.example", &folder.path().join("none")),
        job(8, "large.example", &large),
        job(9, "folder.example", folder.path()),
    ];
    jobs.extend((10..10 + others).map(|number| job(number, &format!("z{number}.example"), &text)));
    let outcomes = load(&jobs);
    let said: Vec<String> = outcomes
        .into_iter()
        .map(|outcome| match outcome {
            Ok(loaded) if loaded.pack.pack.zone_count() > 2 => format!("{:?} many", loaded.origin),
            Ok(loaded) => format!("{:?} {}", loaded.origin, loaded.pack.pack.zone_count()),
            Err(lines) => lines.join("\n").replace(&format!("{}/", folder.path().display()), ""),
        })
        .collect();
    let (whole, aligned) = (octets.len(), octets.len() - SECTION_ALIGNMENT);
    let damaged =
        |octets| format!("truncated or extended: the header says {whole} octets, there are {octets}");
    // With others, what has the length of a pack comes after them.
    let texts = if others > 0 { ["Text many", "Text 1"] } else { ["Text 2", "Text 2"] };
    assert_eq!(said[..2], texts);
    assert_eq!(said[2..4], ["PackFile 2", "PackFile 2"]);
    assert_eq!(said[4], "pack: the pack has no zone c.example.");
    assert_eq!(said[5], format!("cut: {}", damaged(whole - 1)));
    assert_eq!(said[6], format!("short: {}", damaged(aligned)));
    assert_eq!(said[7], "none: cannot open: no such file or directory");
    assert_eq!(said[8], "Text 1", "a large zone has a pack of its own");
    assert!(said[9].ends_with(": expected a file, found a folder"), "{}", said[9]);
    assert!(said[10..].iter().all(|said| said == "Text many"));
}

/// Zones that are handed over in batches all arrive, each once and with its own data.
#[test]
fn many_small_zones() {
    let folder = tempfile::tempdir().unwrap();
    let jobs: Vec<Job> = (0..500)
        .map(|number| {
            let path = folder.path().join(number.to_string());
            let text = if number % 50 == 7 {
                "broken".into()
            } else {
                ZONE.replace("host 1", &format!("host {number}"))
            };
            std::fs::write(&path, text).unwrap();
            job(number, &format!("z{number}.example"), &path)
        })
        .collect();
    for (number, outcome) in load(&jobs).into_iter().enumerate() {
        match outcome {
            Ok(loaded) => assert_eq!(loaded.pack.pack.zone_row(loaded.number).serial, number as u32),
            Err(lines) => {
                assert!(number % 50 == 7 && lines[0].contains(&format!("/{number}:1:")), "{lines:?}")
            }
        }
    }
}
