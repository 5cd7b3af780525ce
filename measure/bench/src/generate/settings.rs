//! Sections that name many zones with their files, in the form of each server: to be included in, or added to,
//! a server's settings.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use crate::{Error, error};

/// The files of one folder of zones: `zones.txt`, and a part of the settings for Zonda, named, NSD and Knot DNS.
pub struct Settings {
    folder: PathBuf,
    is_spread: bool,
    files: [Fragment; 5],
}

/// One output and how a zone is written there; `@` stands for the apex without final dot, `%` for the file.
struct Fragment {
    output: BufWriter<File>,
    path: PathBuf,
    each: &'static str,
}

impl Settings {
    /// Makes the folder and the files. `is_spread`: zone files in folders by the first two characters of the name.
    pub fn begin(folder: &Path, is_spread: bool) -> Result<Settings, Error> {
        let zones = folder.join("zones");
        fs::create_dir_all(&zones).map_err(error::file(&zones, "create"))?;
        let open = |name: &str, head: &str, each: &'static str| {
            let path = folder.join(name);
            let mut output = BufWriter::new(File::create(&path).map_err(error::file(&path, "create"))?);
            output.write_all(head.as_bytes()).map_err(error::file(&path, "write"))?;
            Ok(Fragment { output, path, each })
        };
        let zonda = match is_spread {
            false => "[[zone-directory]]\npath = \"zones\"\n",
            true => "[[zone]]\nnames-file = \"zones.txt\"\nfile = \"zones/{1}/{2}/{name}.zone\"\n",
        };
        Ok(Settings {
            folder: folder.to_owned(),
            is_spread,
            files: [
                open("zones.txt", "", "@.\n")?,
                open("zonda.toml", zonda, "")?,
                open("named.conf", "", "zone \"@\" { type primary; file \"%\"; };\n")?,
                open("nsd.conf", "", "zone:\n  name: \"@\"\n  zonefile: \"%\"\n")?,
                open("knot.conf", "zone:\n", "  - domain: \"@\"\n    file: \"%\"\n")?,
            ],
        })
    }

    /// Adds a zone; `apex`: lower case, with final dot, not the root. Returns where its file is to be written.
    pub fn zone(&mut self, apex: &str) -> Result<PathBuf, Error> {
        let bare = apex.strip_suffix('.').unwrap_or(apex);
        let mut file = "zones/".to_owned();
        if self.is_spread {
            for character in bare.chars().take(2) {
                file.extend([character, '/']);
            }
            let parent = self.folder.join(&file);
            fs::create_dir_all(&parent).map_err(error::file(&parent, "create"))?;
        }
        file += apex;
        file += "zone";
        for fragment in &mut self.files {
            let text = fragment.each.replace('@', bare).replace('%', &file);
            fragment.output.write_all(text.as_bytes()).map_err(error::file(&fragment.path, "write"))?;
        }
        Ok(self.folder.join(file))
    }

    /// Ends the files.
    pub fn end(self) -> Result<(), Error> {
        for mut fragment in self.files {
            fragment.output.flush().map_err(error::file(&fragment.path, "write"))?;
        }
        Ok(())
    }
}
