//! How often a second a directory's disk can be made to keep something: what bounds durable updates (RFC 2136 3.5).

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{Error, error};

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Directory {
    /// Writes of a small record, each kept before the next (`fdatasync`).
    pub writes: usize,
    /// Such writes a second.
    pub rate: f64,
    /// Milliseconds of a write in the middle.
    pub median_ms: f64,
    /// Milliseconds of the longest write.
    pub longest_ms: f64,
    /// Whether the rate is beyond all that a disk does: then nothing is kept, as in memory file systems.
    pub is_suspicious: bool,
}

/// Octets of a record: as many as a journal entry of a small update has.
const RECORD_OCTETS: usize = 512;
/// Most writes: enough for a median.
const WRITES_MAX: usize = 20_000;
/// Above this rate nothing can have reached a device: the fastest answer in some 10 microseconds.
const SUSPICIOUS_RATE: f64 = 200_000.0;

/// Appends records to a new file in `path` for about `time`, each made durable, and removes the file.
pub fn measure(path: &Path, time: Duration) -> Result<Directory, Error> {
    let file_path = path.join(format!(".zonda-bench-{}", std::process::id()));
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&file_path)
        .map_err(error::file(&file_path, "create"))?;
    let result = write_records(file, time);
    // Whatever came of it, the file is not to stay; a disk that is full or gone has been reported by then.
    let _ = fs::remove_file(&file_path);
    result.map_err(error::file(&file_path, "write"))
}

fn write_records(mut file: File, time: Duration) -> io::Result<Directory> {
    let record = [0x5a; RECORD_OCTETS];
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < WRITES_MAX && (times.is_empty() || start.elapsed() < time) {
        let before = Instant::now();
        file.write_all(&record)?;
        file.sync_data()?;
        times.push(before.elapsed().as_secs_f64() * 1e3);
    }
    let rate = times.len() as f64 / start.elapsed().as_secs_f64().max(1e-9);
    times.sort_by(f64::total_cmp);
    Ok(Directory {
        writes: times.len(),
        rate,
        median_ms: times[times.len() / 2],
        longest_ms: times[times.len() - 1],
        is_suspicious: rate > SUSPICIOUS_RATE,
    })
}

impl Directory {
    /// As a JSON object.
    pub fn json(&self) -> Value {
        json!({
            "writes": self.writes,
            "rate": self.rate,
            "median_ms": self.median_ms,
            "longest_ms": self.longest_ms,
            "is_suspicious": self.is_suspicious,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let result = measure(folder.path(), Duration::from_millis(10)).unwrap();
        assert!(result.writes >= 1 && result.rate > 0.0 && result.median_ms <= result.longest_ms);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(matches!(
            measure(Path::new("/nonexistent"), Duration::from_millis(1)),
            Err(Error::File { .. })
        ));
    }
}
