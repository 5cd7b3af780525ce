//! What Zonda starts from: text, packs, and a store in SQLite.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::ASK_EVERY;
use crate::{
    Error,
    contender::{Source, zonda_files},
    data::Zones,
    error,
    experiment::{Lab, Subject, start::rest},
    place::Place,
    process,
    recipe::{Case, Name},
};

/// Most zones of which one pack is made: each is a word of a command line.
pub const WORDS_MAX: usize = 1000;

/// What a server starts from.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Text; nothing is kept.
    Text,
    /// A pack of all zones, made before.
    Pack(PathBuf),
    /// A folder of packs that an earlier start made.
    Packs(PathBuf),
    /// A store, which is read as a whole; or with a folder of packs that an earlier start from it made.
    Store(PathBuf, Option<PathBuf>),
}

impl Kind {
    /// As contenders take it.
    pub fn source(&self) -> Option<Source<'_>> {
        match self {
            Kind::Text => None,
            Kind::Pack(pack) => Some(Source::Pack(pack)),
            Kind::Packs(folder) => Some(Source::Packs(folder)),
            Kind::Store(file, kept) => Some(Source::Store(file, kept.as_deref())),
        }
    }

    /// Whether a start takes so long that it takes part in as many rounds as peers do.
    pub fn is_slow(&self, zones: &Zones) -> bool {
        matches!(self, Kind::Store(_, None)) && zones.list.len() > WORDS_MAX
    }
}

/// An empty folder.
fn empty(folder: &Path) -> Result<(), Error> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(error::file(folder, "empty"))?;
    }
    fs::create_dir_all(folder).map_err(error::file(folder, "create"))
}

/// Rows of builds of Zonda beside that from text.
pub fn kinds(lab: &mut Lab, case: &Case, zones: &Zones) -> Result<Vec<(Subject, Kind)>, Error> {
    let builds: Vec<Name> =
        lab.names.iter().copied().filter(|name| matches!(name, Name::Zonda | Name::Before)).collect();
    let mut kinds = Vec::new();
    for subject in lab.subjects(&builds, 1) {
        let labelled =
            |what: &str| Subject { label: format!("{}, {what}", subject.label), ..subject.clone() };
        if zones.list.len() <= WORDS_MAX {
            let pack = pack(lab, subject.name, zones)?;
            kinds.push((labelled("pack"), Kind::Pack(pack)));
        } else {
            let kind = Kind::Packs(lab.folder(&format!("packs-{}", subject.label))?);
            lab.say(&format!("{}: packs of {} zones", subject.label, zones.list.len()));
            fill(lab, &subject, zones, &kind)?;
            kinds.push((labelled("packs"), kind));
        }
        if case.store {
            let of_case = |what: &str| format!("{what}-{}-{}", subject.label, case.name.replace(' ', "-"));
            lab.say(&format!("{}: a store of {}", subject.label, case.name));
            let file = store(lab, subject.name, zones, &of_case("store"))?;
            let both = Kind::Store(file.clone(), Some(lab.folder(&of_case("kept"))?));
            fill(lab, &subject, zones, &both)?;
            kinds.push((labelled("store"), Kind::Store(file, None)));
            kinds.push((labelled("store and packs"), both));
        }
    }
    Ok(kinds)
}

/// A pack made from the zones, as an operator would make it.
fn pack(lab: &Lab, name: Name, zones: &Zones) -> Result<PathBuf, Error> {
    let folder = lab.folder(&format!("pack-{}", name.text()))?;
    let pack = folder.join("zones.pack");
    let words = ["compile".to_owned(), "-o".to_owned(), pack.display().to_string()];
    zonda(lab, name, words.into_iter().chain(with_files(&zones.list)), &folder)?;
    Ok(pack)
}

/// A store made from the zones, likewise, in a folder of this name.
fn store(lab: &Lab, name: Name, zones: &Zones, folder: &str) -> Result<PathBuf, Error> {
    let folder = lab.folder(folder)?;
    empty(&folder)?;
    let file = folder.join("zones.db");
    let words = |word: &str| ["store".to_owned(), word.to_owned(), file.display().to_string()].into_iter();
    zonda(lab, name, words("init"), &folder)?;
    let settings = folder.join("zonda.toml");
    fs::write(&settings, zonda_files(zones)).map_err(error::file(&settings, "write"))?;
    let given = ["--from-config".to_owned(), settings.display().to_string()];
    // Another build may not know how to take them all at once, and reads what this one wrote.
    let writer = if name == Name::Before { Name::Zonda } else { name };
    zonda(lab, writer, words("import").chain(given), &folder)?;
    Ok(file)
}

/// Zones with their texts, as commands take them.
fn with_files(list: &[(String, PathBuf)]) -> impl Iterator<Item = String> {
    list.iter().map(|(apex, path)| format!("{apex}={}", path.display()))
}

/// Runs a command of the program.
fn zonda(lab: &Lab, name: Name, words: impl Iterator<Item = String>, folder: &Path) -> Result<(), Error> {
    let program = name.of_zonda(&lab.programs).unwrap_or(&lab.programs.zonda);
    let command: Vec<String> = [program.display().to_string()].into_iter().chain(words).collect();
    process::run(&command, &Place::default(), folder, &lab.stop).map(drop)
}

/// Fills the folder of packs of a kind by a start, which ends in order.
fn fill(lab: &mut Lab, subject: &Subject, zones: &Zones, kind: &Kind) -> Result<(), Error> {
    if let Kind::Packs(folder) | Kind::Store(_, Some(folder)) = kind {
        empty(folder)?;
    }
    let mut server = lab.launch(subject, zones, kind.source())?;
    let answered = server.wait(&lab.bed, &zones.question(), lab.effort.load_seconds, ASK_EVERY, &lab.stop)?;
    rest::follow(lab, &server, answered)?;
    server.end();
    Ok(())
}
