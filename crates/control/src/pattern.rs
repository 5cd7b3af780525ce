//! Paths made from the names of zones: `zones/{1}/{2}/{name}.zone`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use wire::Name;

/// The marks that are replaced; the first three by characters of the name.
const MARKS: [&str; 4] = ["{1}", "{2}", "{3}", "{name}"];
const NAME: usize = 3;

/// A pattern, taken apart once for a million names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The pattern itself, which is the path where it has no marks.
    plain: PathBuf,
    /// Text and the mark that follows it.
    parts: Vec<(String, Option<usize>)>,
    /// How many octets of the pattern are a folder, in which there is no mark. `None`: marks are in folders' names too.
    folder: Option<usize>,
}

impl Pattern {
    /// Takes a pattern apart. One that is no UTF-8 has no marks.
    pub fn new(pattern: &Path) -> Pattern {
        Pattern::with_folder(pattern, 0)
    }

    /// The pattern of files in a folder, whose name means itself, braces included.
    pub fn in_folder(folder: &Path, file: &str) -> Pattern {
        let whole = folder.join(file);
        let octets = whole.as_os_str().len() - file.len();
        Pattern::with_folder(&whole, octets)
    }

    /// `literal`: octets in which there are no marks.
    fn with_folder(pattern: &Path, literal: usize) -> Pattern {
        let mut parts = Vec::new();
        let (mut text, mut rest) =
            pattern.to_str().and_then(|text| text.split_at_checked(literal)).unwrap_or_default();
        let mut before = text.to_owned();
        while let Some((at, mark)) = first_mark(rest) {
            before.push_str(&rest[..at]);
            parts.push((std::mem::take(&mut before), Some(mark)));
            rest = &rest[at + MARKS[mark].len()..];
        }
        if !parts.is_empty() {
            parts.push((rest.to_owned(), None));
            text = &parts[0].0;
        }
        let folder = match parts.len() {
            0 => pattern.parent().map(|folder| folder.as_os_str().len()),
            // The first mark is in the last part of the path.
            _ if !pattern.to_str().unwrap_or("")[text.len()..].contains('/') => {
                Some(text.rfind('/').unwrap_or(0))
            }
            _ => None,
        };
        Pattern { plain: pattern.to_owned(), parts, folder }
    }

    /// The folder that the files of all zones are in, if that is one.
    pub fn folder(&self) -> Option<&Path> {
        use std::os::unix::ffi::OsStrExt;
        let octets = &self.plain.as_os_str().as_bytes()[..self.folder?];
        Some(Path::new(std::ffi::OsStr::from_bytes(octets)))
    }

    /// The path for a zone.
    pub fn path(&self, name: &Name) -> PathBuf {
        if self.parts.is_empty() {
            return self.plain.clone();
        }
        let text = file_text(name);
        let mut path = String::with_capacity(self.plain.as_os_str().len() + text.len());
        for (before, mark) in &self.parts {
            path.push_str(before);
            match mark {
                Some(NAME) => path.push_str(&text),
                Some(at) => path.push(text.chars().nth(*at).unwrap_or('_')),
                None => {}
            }
        }
        path.into()
    }
}

fn first_mark(text: &str) -> Option<(usize, usize)> {
    let mark_at = |at: usize| MARKS.iter().position(|mark| text[at..].starts_with(mark));
    text.match_indices('{').find_map(|(at, _)| Some((at, mark_at(at)?)))
}

/// The name as it stands in a path.
pub fn file_text(name: &Name) -> String {
    if name.is_root() {
        return "@".into();
    }
    let mut text = String::with_capacity(name.octets().len());
    // Writing to a string does not fail.
    let _ = write!(text, "{name}");
    text.make_ascii_lowercase();
    if text.ends_with('.') {
        text.pop();
    }
    if text.contains('/') { text.replace('/', "\\047") } else { text }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::NameBuf;

    #[test]
    fn patterns() {
        let fill = |pattern: &str, of: &str| {
            let name = NameBuf::from_text(of).unwrap();
            Pattern::new(Path::new(pattern)).path(&name).display().to_string()
        };
        assert_eq!(fill("z/{1}/{2}/{name}.zone", "Example.COM"), "z/e/x/example.com.zone");
        assert_eq!(fill("{name}", "."), "@");
        assert_eq!(fill("{1}{2}{3}", "a."), "a__");
        assert_eq!(fill("{name}", "0/25.2.0.192.in-addr.arpa"), "0\\04725.2.0.192.in-addr.arpa");
        assert_eq!(fill("plain", "x"), "plain");
        assert_eq!(fill("{4}{{name}}-{name}", "x."), "{4}{x}-x");
    }

    #[test]
    fn folders_mean_themselves() {
        let name = NameBuf::from_text("example").unwrap();
        let pattern = Pattern::in_folder(Path::new("/a{1}/b"), "x{name}.zone");
        assert_eq!(pattern.path(&name), Path::new("/a{1}/b/xexample.zone"));
        let folders = |pattern: &str| {
            Pattern::new(Path::new(pattern)).folder().map(|folder| folder.display().to_string())
        };
        assert_eq!(pattern.folder(), Some(Path::new("/a{1}/b")));
        assert_eq!(folders("a/b/{name}").as_deref(), Some("a/b"));
        assert_eq!(folders("a/{1}/{name}"), None);
        assert_eq!((folders("{name}").as_deref(), folders("a/b").as_deref()), (Some(""), Some("a")));
    }
}
