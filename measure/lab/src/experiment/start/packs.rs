//! What Zonda starts from: text, and packs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::ASK_EVERY;
use crate::{
    Error,
    contender::Packs,
    data::Zones,
    error,
    experiment::{Lab, Subject, start::rest},
    place::Place,
    process,
    recipe::Name,
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
}

impl Kind {
    /// As contenders take it.
    pub fn packs(&self) -> Option<Packs<'_>> {
        match self {
            Kind::Text => None,
            Kind::Pack(pack) => Some(Packs::File(pack)),
            Kind::Packs(folder) => Some(Packs::Folder(folder)),
        }
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
pub fn kinds(lab: &mut Lab, zones: &Zones) -> Result<Vec<(Subject, Kind)>, Error> {
    let builds: Vec<Name> =
        lab.names.iter().copied().filter(|name| matches!(name, Name::Zonda | Name::Before)).collect();
    let mut kinds = Vec::new();
    for subject in lab.subjects(&builds, 1) {
        let labelled =
            |what: &str| Subject { label: format!("{}, {what}", subject.label), ..subject.clone() };
        if zones.list.len() <= WORDS_MAX {
            let pack = pack(lab, subject.name, zones)?;
            kinds.push((labelled("pack"), Kind::Pack(pack)));
            continue;
        }
        let kept = lab.folder(&format!("packs-{}", subject.label))?;
        lab.say(&format!("{}: packs of {} zones", subject.label, zones.list.len()));
        fill(lab, &subject, zones, &kept)?;
        kinds.push((labelled("packs"), Kind::Packs(kept)));
    }
    Ok(kinds)
}

/// A pack made from the zones, as an operator would make it.
fn pack(lab: &Lab, name: Name, zones: &Zones) -> Result<PathBuf, Error> {
    let folder = lab.folder(&format!("pack-{}", name.text()))?;
    let pack = folder.join("zones.pack");
    let program = name.of_zonda(&lab.programs).unwrap_or(&lab.programs.zonda);
    let mut command = vec![program.display().to_string()];
    command.extend(["compile", "-o"].map(str::to_owned));
    command.push(pack.display().to_string());
    command.extend(zones.list.iter().map(|(apex, path)| format!("{apex}={}", path.display())));
    process::run(&command, &Place::default(), &folder, &lab.stop)?;
    Ok(pack)
}

/// Fills a folder of packs by a start from text, which ends in order.
fn fill(lab: &mut Lab, subject: &Subject, zones: &Zones, folder: &Path) -> Result<(), Error> {
    empty(folder)?;
    let mut server = lab.launch(subject, zones, Some(Packs::Folder(folder)))?;
    let answered = server.wait(&lab.bed, &zones.question(), lab.effort.load_seconds, ASK_EVERY, &lab.stop)?;
    rest::follow(lab, &server, answered)?;
    server.end();
    Ok(())
}
