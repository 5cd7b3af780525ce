//! Commands about texts of zones that change.

use std::io;

use wire::{Name, NameBuf};

use crate::command::{Reply, TextLine};
use crate::controller::Controller;
use crate::texts::Written;

/// Writes texts; `all`: of all zones that have changed. Says whether all went well.
pub(super) fn sync(
    controller: &Controller,
    names: &[NameBuf],
    (all, force): (bool, bool),
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> io::Result<bool> {
    let changed = if all { controller.changed_zones() } else { Vec::new() };
    let mut is_well = true;
    for name in names.iter().chain(&changed) {
        // A zone at a time, so that reloads need not wait for all.
        let written = controller.sync_text(&mut controller.change(), name, force);
        is_well &= written.is_ok();
        reply(match written {
            Ok(written) => Reply::Text(line(name, &written)),
            Err(message) => Reply::Error { message },
        })?;
    }
    Ok(is_well)
}

/// Freezes a zone.
pub(super) fn freeze(controller: &Controller, name: &Name, force: bool) -> Result<TextLine, String> {
    let written = controller.freeze(&mut controller.change(), name, force)?;
    let line = line(name, &written);
    Ok(TextLine { message: format!("frozen; {}", line.message), ..line })
}

fn line(name: &Name, written: &Written) -> TextLine {
    let (message, serial) = match written {
        Written::Done(serial) => (format!("serial {serial} written"), Some(*serial)),
        Written::Current => ("the text says what is served".into(), None),
    };
    TextLine { zone: name.to_string(), message, serial }
}
