//! A laboratory for tests of single experiments.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

use super::{Lab, Ledger};
use crate::{
    bed::{Bed, BedKind},
    contender::Programs,
    place,
    recipe::{Form, Recipe},
    record::Record,
    sample,
};

/// A laboratory with a recipe, whose programs are all this script.
pub(super) fn lab(folder: &Path, recipe: &str, script: &str) -> Lab {
    let bench = folder.join("bench");
    fs::write(&bench, script).unwrap();
    fs::set_permissions(&bench, fs::Permissions::from_mode(0o755)).unwrap();
    let recipe = Recipe::from_text("own", "own.toml", recipe).unwrap();
    let cores = place::cores();
    let made_up = sample::record();
    let record = Record {
        quick: false,
        contenders: Vec::new(),
        blocks: crate::record::Blocks::default(),
        validity: crate::record::Validity::default(),
        figures: Vec::new(),
        tables: Vec::new(),
        charts: Vec::new(),
        notes: Vec::new(),
        raw: Vec::new(),
        ..made_up
    };
    Lab {
        effort: recipe.effort(Form::Full),
        recipe,
        programs: Programs { zonda: bench.clone(), before: bench.clone(), bench },
        bed: Bed::make(BedKind::None, &cores, &cores).unwrap(),
        server_cores: cores.clone(),
        load_cores: cores,
        data: folder.to_owned(),
        work: folder.to_owned(),
        stop: Arc::new(AtomicBool::new(false)),
        names: Vec::new(),
        record,
        validity: Ledger::default(),
        began: Instant::now(),
    }
}
