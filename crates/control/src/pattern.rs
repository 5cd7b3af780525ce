//! Paths made from the names of zones: `zones/{1}/{2}/{name}.zone`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use wire::Name;

/// The marks that are replaced; the first three by characters of the name.
const MARKS: [&str; 4] = ["{1}", "{2}", "{3}", "{name}"];
const NAME: usize = 3;

/// A pattern, taken apart once for a million names, and the buffers for the path of one.
pub struct Pattern {
    /// The pattern itself, which is the path where it has no marks.
    plain: PathBuf,
    /// Text and the mark that follows it.
    parts: Vec<(String, Option<usize>)>,
    name: String,
    path: String,
}

impl Pattern {
    /// Takes a pattern apart. One that is no UTF-8 has no marks.
    pub fn new(pattern: &Path) -> Pattern {
        let mut parts = Vec::new();
        let mut rest = pattern.to_str().unwrap_or("");
        while let Some((at, mark)) = first_mark(rest) {
            parts.push((rest[..at].to_owned(), Some(mark)));
            rest = &rest[at + MARKS[mark].len()..];
        }
        if !parts.is_empty() {
            parts.push((rest.to_owned(), None));
        }
        Pattern { plain: pattern.to_owned(), parts, name: String::new(), path: String::new() }
    }

    /// The path for a zone.
    pub fn fill(&mut self, name: &Name) -> &Path {
        if self.parts.is_empty() {
            return &self.plain;
        }
        self.path.clear();
        put_file_text(name, &mut self.name);
        for (text, mark) in &self.parts {
            self.path.push_str(text);
            match mark {
                Some(NAME) => self.path.push_str(&self.name),
                Some(at) => self.path.push(self.name.chars().nth(*at).unwrap_or('_')),
                None => {}
            }
        }
        Path::new(&self.path)
    }
}

fn first_mark(text: &str) -> Option<(usize, usize)> {
    let mark_at = |at: usize| MARKS.iter().position(|mark| text[at..].starts_with(mark));
    text.match_indices('{').find_map(|(at, _)| Some((at, mark_at(at)?)))
}

/// The name as it stands in a path.
fn put_file_text(name: &Name, text: &mut String) {
    text.clear();
    if name.is_root() {
        return text.push('@');
    }
    // Writing to a string does not fail.
    let _ = write!(text, "{name}");
    text.make_ascii_lowercase();
    if text.ends_with('.') {
        text.pop();
    }
    if text.contains('/') {
        *text = text.replace('/', "\\047");
    }
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
            Pattern::new(Path::new(pattern)).fill(&name).display().to_string()
        };
        assert_eq!(fill("z/{1}/{2}/{name}.zone", "Example.COM"), "z/e/x/example.com.zone");
        assert_eq!(fill("{name}", "."), "@");
        assert_eq!(fill("{1}{2}{3}", "a."), "a__");
        assert_eq!(fill("{name}", "0/25.2.0.192.in-addr.arpa"), "0\\04725.2.0.192.in-addr.arpa");
        assert_eq!(fill("plain", "x"), "plain");
        assert_eq!(fill("{4}{{name}}-{name}", "x."), "{4}{x}-x");
    }

    #[test]
    fn a_pattern_serves_name_after_name() {
        let mut pattern = Pattern::new(Path::new("{1}/{name}"));
        for (of, expected) in [("abc.example", "a/abc.example"), ("b.", "b/b"), (".", "@/@")] {
            assert_eq!(pattern.fill(&NameBuf::from_text(of).unwrap()), Path::new(expected));
        }
    }
}
