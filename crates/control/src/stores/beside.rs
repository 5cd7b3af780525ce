//! What lies below the folder of a store, where its feeder may write: a feeder that was taken over could change it.

use std::fs::canonicalize;
use std::path::{Path, PathBuf};

use crate::settings::{Settings, StorePlace};
use crate::socket;

/// Warns of settings, packs and a control socket that lie there.
pub(crate) fn warn_of_folders(settings: &Settings) {
    lines(settings).iter().for_each(|line| tracing::warn!("{line}"));
}

fn lines(settings: &Settings) -> Vec<String> {
    let packs = &settings.server.pack_directory;
    let packs = (!packs.as_os_str().is_empty()).then(|| settings.path(packs));
    let all = [
        ("the settings", settings.file.clone()),
        ("the folder of packs", packs),
        ("the control socket", socket::path(settings)),
    ];
    let all: Vec<(&str, PathBuf)> =
        all.into_iter().filter_map(|(what, path)| Some((what, real(&path?)))).collect();
    let mut lines = Vec::new();
    for store in settings.stores() {
        // Beside PowerDNS's tables nothing is written.
        let (StorePlace::File(path), None) = (&store.place, store.powerdns) else { continue };
        let Some(folder) = real(path).parent().map(Path::to_owned) else { continue };
        let below = all.iter().filter(|(_, path)| path.starts_with(&folder));
        let below: Vec<String> = below.map(|(what, path)| format!("{what} ({})", path.display())).collect();
        if !below.is_empty() {
            lines.push(format!(
                "store {}: its feeder, which reads what others write, may write all below {}, and there is {}; give the database a folder of its own",
                store.name,
                folder.display(),
                below.join(", and ")
            ));
        }
    }
    lines
}

/// Where a path leads, also that of a file that is not there yet.
fn real(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    canonicalize(&absolute).unwrap_or_else(|_| {
        let folder = absolute.parent().and_then(|folder| canonicalize(folder).ok());
        folder.zip(absolute.file_name()).map_or(absolute.clone(), |(folder, name)| folder.join(name))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_below_is_said() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("own")).unwrap();
        std::os::unix::fs::symlink(".", home.path().join("link")).unwrap();
        let of = |url: &str| {
            let text = format!(
                "[server]\npack-directory = \"packs\"\n[control]\nsocket = \"ctl\"\n[[store]]\nname = \"a\"\nurl = \"sqlite:{url}\"\n"
            );
            lines(&Settings::parse(&home.path().join("zonda.toml"), &text).unwrap())
        };
        assert!(of("own/zones.db").is_empty());
        for url in ["zones.db", "link/zones.db", "own/../zones.db"] {
            let said = of(url);
            let [line] = &said[..] else { panic!("{said:?}") };
            let real = canonicalize(home.path()).unwrap();
            for text in ["the settings (", "/packs), and the control socket (", "/ctl);"] {
                assert!(line.contains(text), "{line}");
            }
            assert!(line.contains(&format!("all below {},", real.display())), "{line}");
        }
    }
}
