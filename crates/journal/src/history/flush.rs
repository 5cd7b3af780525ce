//! From the queue to the files of zones, off the commit path.

use std::io;

use wire::Name;

use super::files::{self, ZoneFiles};
use super::waiting::{Pushed, What, is_forward};
use super::{BOUND_OCTETS_MIN, Bound, History, mark};
use crate::record::Body;

impl History {
    /// Writes what waits, up to a difference that is not found yet. `bound_of`: how much of a zone is kept. The error: one could not be written, and its
    /// zone's history ends there; others go on. To be called every 100 ms or so by a thread of low priority.
    pub fn flush(&self, bound_of: &dyn Fn(&Name) -> Bound) -> io::Result<()> {
        let _writing = self.files.lock();
        if !self.queue.lock().log.is_begun {
            return Ok(());
        }
        self.make_valid()?;
        let mut result = Ok(());
        // What comes meanwhile is for the next time.
        let count = self.queue.lock().queue.len();
        let mut group = 0;
        for _ in 0..count {
            let (next, known) = {
                let mut state = self.queue.lock();
                let Some(next) = state.queue.front().cloned() else { break };
                if matches!(&next.what, What::Later(later) if later.found().is_none()) {
                    break;
                }
                let known = state.known.remove(&next.zone);
                (next, known)
            };
            group = group.max(next.group);
            let written = self.write(&next, known, bound_of);
            let mut state = self.queue.lock();
            // It leaves the queue when it can be read from the file. It is gone if the queue was too long.
            if state.queue.front().is_some_and(|front| front.is(&next)) {
                state.leave();
            }
            match written {
                Ok(files) => state.keep(next.zone, files),
                Err(error) => result = Err(error),
            }
        }
        result.and(if count > 0 { self.raise_mark(group) } else { Ok(()) })
    }

    /// Removes what is of another log.
    fn make_valid(&self) -> io::Result<()> {
        if !self.queue.lock().log.is_void {
            return Ok(());
        }
        for folder in self.folders()? {
            for name in self.disk.names(&folder)? {
                self.disk.remove(&folder.join(name))?;
            }
            self.disk.sync_folder(&folder)?;
        }
        self.queue.lock().log.is_void = false;
        Ok(())
    }

    /// Says how far the history is: `group` was the last that was written, of which more may come.
    fn raise_mark(&self, group: u64) -> io::Result<()> {
        let (identity, marked, file) = {
            let log = &self.queue.lock().log;
            (log.identity, log.marked, log.mark.clone())
        };
        if group <= marked && file.is_some() {
            return Ok(());
        }
        let file = match file {
            Some(file) => file,
            None => mark::make(&*self.disk, &self.folder, &identity)?,
        };
        mark::raise(&*file, group)?;
        let log = &mut self.queue.lock().log;
        if log.identity == identity {
            (log.marked, log.mark) = (group, Some(file));
        }
        Ok(())
    }

    /// Writes one change, if it is new. A history that it does not follow begins anew.
    fn write(
        &self,
        next: &Pushed,
        known: Option<ZoneFiles>,
        bound_of: &dyn Fn(&Name) -> Bound,
    ) -> io::Result<ZoneFiles> {
        let (name, entry) = match &next.what {
            What::Entry(entry) => (entry.record().zone, Some(entry)),
            What::Later(later) => (later.zone(), later.found().and_then(|found| found.ok().flatten())),
        };
        let is_same = matches!(&next.what, What::Later(later) if matches!(later.found(), Some(Ok(None))));
        let mut files = match known {
            Some(files) => files,
            None => ZoneFiles::load(&*self.disk, &self.folder, name)?.counted()?,
        };
        self.check_life(next.zone, &mut files)?;
        if is_same {
            return Ok(files);
        }
        let Some(entry) = entry else {
            self.end(&mut files)?;
            return Ok(files);
        };
        let record = entry.record();
        let Body::Difference { removed, added } = record.body else {
            // Said again, it is the end of what was before it.
            let is_behind = next.is_again && files.last().is_some_and(|last| last.group >= next.group);
            if record.body.is_change() && !is_behind {
                self.end(&mut files)?;
            }
            return Ok(files);
        };
        // A group may have several versions of a zone: one of the last group is new if it goes on from there.
        let is_old = |last: files::Last| {
            next.group < last.group || next.group == last.group && record.serial_before != last.after
        };
        if next.group != 0 && files.last().is_some_and(is_old) {
            return Ok(files);
        }
        // A serial that is not greater is that of another life, and comes by again.
        let is_forward = is_forward(entry);
        if !is_forward || files.last().is_some_and(|last| last.after != record.serial_before) {
            if next.is_again {
                return Ok(files);
            }
            self.end(&mut files)?;
        }
        let bound = bound_of(record.zone);
        let bound = Bound { octets: bound.octets.max(BOUND_OCTETS_MIN), ..bound };
        let octets = files::entry(next.group, &record, removed, added);
        if !is_forward || octets.len() as u64 > bound.difference_octets_max() - files.head_octets() {
            self.end(&mut files)?;
            return Ok(files);
        }
        let path = files.append(&*self.disk, octets, bound)?;
        let mut state = self.queue.lock();
        state.appended += 1;
        state.unsynced.insert(path);
        Ok(files)
    }

    /// What is there of a zone from before must not be newer than the log: then the log has lost something, and the same serials come by again.
    fn check_life(&self, zone: u64, files: &mut ZoneFiles) -> io::Result<()> {
        let newest = {
            let mut state = self.queue.lock();
            if state.ended.remove(&zone) {
                drop(state);
                return self.end(files);
            }
            if state.zones.get(&zone).is_some_and(|is_checked| *is_checked) {
                return Ok(());
            }
            state.log.newest
        };
        if files.last().is_some_and(|last| last.group > newest) {
            self.end(files)?;
        }
        Ok(())
    }

    fn end(&self, files: &mut ZoneFiles) -> io::Result<()> {
        if files.last().is_some() {
            self.queue.lock().begun += 1;
        }
        files.remove(&*self.disk)
    }
}
