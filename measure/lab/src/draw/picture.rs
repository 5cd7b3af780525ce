//! A picture of a report, by a browser without a window.

use std::{fs, path::Path, sync::atomic::AtomicBool};

use crate::{Error, error, file::REPORT, place::Place, process, record::Record, report};

/// Browsers that draw a page into a file, by the names that distributions give them.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// Size of the picture: the upper part of a report, as wide as its text.
const SIZE: &str = "--window-size=1200,2200";
/// A page draws in a second or two; a browser that hangs is ended.
const SECONDS_MAX: f64 = 60.0;

/// Draws the report of a record into `out`, a PNG file. `false` where no browser is there.
pub fn picture(record: &Record, out: &Path, stop: &AtomicBool) -> Result<bool, Error> {
    let Some(browser) = BROWSERS.into_iter().find_map(process::find) else {
        return Ok(false);
    };
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = fs::canonicalize(parent).map_err(error::file(parent, "find"))?;
    let out = parent.join(out.file_name().unwrap_or_default());
    // The page, what the browser keeps, and what it says.
    let work = parent.join(format!(".browser-{}", std::process::id()));
    fs::create_dir_all(&work).map_err(error::file(&work, "create"))?;
    let written = report::write(&work, record).map_err(Error::Result);
    let done = written.and_then(|()| draw(&browser, &work.join(REPORT), &out, &work, stop));
    // What the browser left there is of no use to anyone.
    let _ = fs::remove_dir_all(&work);
    done.map(|()| true)
}

fn draw(browser: &Path, page: &Path, out: &Path, work: &Path, stop: &AtomicBool) -> Result<(), Error> {
    let mut command = vec![
        browser.display().to_string(),
        "--headless".to_owned(),
        "--hide-scrollbars".to_owned(),
        SIZE.to_owned(),
        format!("--user-data-dir={}", work.display()),
        format!("--screenshot={}", out.display()),
        format!("file://{}", page.display()),
    ];
    // Its sandbox refuses root; the page is ours, has no scripts and loads nothing.
    if rustix::process::geteuid().is_root() {
        command.insert(1, "--no-sandbox".to_owned());
    }
    let command = [vec!["timeout".to_owned(), SECONDS_MAX.to_string()], command].concat();
    process::run(&command, &Place::default(), work, stop)?;
    out.is_file()
        .then_some(())
        .ok_or(Error::Output { program: "the browser", wanted: "a picture of the page" })
}
