//! Copies of texts as they were read or written last, where no pack has them any more.

use std::fs::File;
use std::sync::Arc;

use wire::Name;
use zone::pack::ZoneRow;
use zone::{Pack, PackBuilder, TextStamp, ZoneView};

use super::print::{self, Copies, NotPrinted};
use super::state::Base;
use crate::controller::Controller;
use crate::load::SEEDS_MAX;
use crate::read::{self, Unread};
use crate::stamp::{Stamp, sum_of_file};
use crate::system::random;
use crate::text::cannot;

/// A zone in a pack: a text as it was.
pub(super) struct Old {
    pack: Arc<Pack>,
    number: u32,
}

impl Old {
    pub(super) fn view(&self) -> Option<ZoneView<'_>> {
        ZoneView::new(&self.pack, self.number)
    }
}

impl Controller {
    /// Keeps the text of a zone that has changed since it was read, where the pack below its changes is all that has it: to be called before another pack takes that
    /// one's place. Where that fails an edit of the text is refused later, with words.
    pub(crate) fn keep_text(&self, name: &Name) -> Result<(), String> {
        let name = name.to_lowercase();
        if self.texts.of(&name).base.is_some_and(|base| base.copy != 0) {
            return Ok(());
        }
        if self.text_path(&name).is_err() {
            return Ok(());
        }
        let Some(below) = self.text_below(&name) else { return Ok(()) };
        let view = below.view().ok_or("its pack cannot be read")?;
        let row = view.row();
        let copy = self.keep_copy(&name, &view)?;
        let kept = self.texts.change(&name, |text| {
            let base = Base { mark: row.text_mark, serial: row.serial, ..Base::default() };
            // Whoever has taken in an edit meanwhile has kept a newer one.
            if text.base.is_none_or(|base| base.copy == 0) {
                text.base = Some(Base { copy, ..text.base.unwrap_or(base) });
            }
        });
        self.drop_copy(&name, copy);
        kept
    }

    /// The pack below a zone's changes, if that says what its text had.
    fn text_below(&self, name: &Name) -> Option<Old> {
        let mut reader = self.catalog.reader();
        reader.with(|view| {
            let zone::catalog::View::Zone(zone) = view.view_of(view.slot_named(name)?)? else { return None };
            let changed = zone.changed()?;
            let old = Old { pack: Arc::clone(changed.pack()), number: changed.number() };
            let is_text = old.view()?.row().bits & ZoneRow::BESIDE_TEXT == 0;
            is_text.then_some(old)
        })
    }

    /// The text that a zone's changes are counted from. `base`: `None` where the pack below has it.
    pub(super) fn old_text(&self, name: &Name, base: Option<Base>) -> Result<Old, String> {
        match base {
            Some(base) if base.copy != 0 => self.read_copy(name, base.copy),
            _ => self.text_below(name).ok_or_else(|| "it is not known any more what the text was".to_owned()),
        }
    }

    /// Writes a copy of a zone as its text is, and makes sure of it; its sum. `name`: lower-case.
    pub(super) fn keep_copy(&self, name: &Name, view: &ZoneView<'_>) -> Result<u64, String> {
        let temporary = self.texts.temporary(name)?;
        let describe = |act: &str, error| format!("{}: {}", temporary.0.display(), cannot(act, &error));
        let mut file = File::create(&temporary.0).map_err(|error| describe("make it", error))?;
        let mut copies = Copies::new(vec![&mut file]);
        let printed = print::zone(view, "", &mut copies).and_then(|()| Ok(copies.end()?));
        let copy = match printed {
            Ok(copy) => copy,
            Err(NotPrinted::Damaged) => return Err("the zone cannot be read".into()),
            Err(NotPrinted::Io(error)) => return Err(describe("write", error)),
        };
        self.enter_copy(name, &temporary.0, copy)?;
        Ok(copy)
    }

    /// Gives a copy that is on the disk its name.
    pub(super) fn enter_copy(
        &self,
        name: &Name,
        temporary: &std::path::Path,
        copy: u64,
    ) -> Result<(), String> {
        let path = self.texts.copy_path(name, copy).ok_or("there is no `pack-directory`")?;
        let renamed = std::fs::rename(temporary, &path)
            .and_then(|()| File::open(self.texts.folder().unwrap_or(&path))?.sync_all());
        renamed.map_err(|error| format!("{}: {}", path.display(), cannot("write", &error)))
    }

    fn read_copy(&self, name: &Name, copy: u64) -> Result<Old, String> {
        let path = self.texts.copy_path(name, copy).ok_or("there is no `pack-directory`")?;
        let describe = |problem: String| format!("{}: {problem}", path.display());
        let (file, _) = read::open_regular(&path).map_err(describe)?;
        let sum = sum_of_file(&file).map_err(|error| describe(cannot("read", &error)))?;
        if sum != copy {
            return Err(describe("damaged".into()));
        }
        let octets = std::sync::atomic::AtomicU64::new(0);
        let text = read::read_text(
            name,
            path.display().to_string(),
            &path,
            Box::new(file),
            Stamp::default(),
            &octets,
        );
        let text = text.map_err(|unread: Unread| unread.lines().join("\n"))?;
        for _ in 0..SEEDS_MAX {
            let mut builder = PackBuilder::new(random());
            builder
                .add_zone(&text.contents, TextStamp::default())
                .map_err(|_| describe("no zone that can be served".into()))?;
            if let Ok(backing) = builder.finish() {
                let pack = Pack::open(backing).map_err(|error| describe(error.to_string()))?;
                return Ok(Old { pack: Arc::new(pack), number: 0 });
            }
        }
        Err(describe("no pack can be made of it".into()))
    }
}
