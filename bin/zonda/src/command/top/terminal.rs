//! The terminal: keys in, screens out, and as it was before at every end.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use control::command::Top;
use control::text::cannot;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::screen::{Theme, draw};
use super::state::{Key, State};

/// How often the server is asked.
const READING_PAUSE: Duration = Duration::from_secs(1);

/// How long keys are awaited before it is looked whether there is a reading, or a signal: short enough for people.
const KEY_PAUSE: Duration = Duration::from_millis(100);

/// After how long it is said that the server says nothing: numbers of before are not to be taken for those of now.
const ANSWER_PATIENCE: Duration = Duration::from_secs(3);

/// Restores the terminal when it goes, as does the hook that is called at a panic.
struct Restores;

impl Drop for Restores {
    fn drop(&mut self) {
        // It may be closed: then there is nothing to restore.
        let _ = ratatui::try_restore();
    }
}

/// Looks at a server until a key, a signal or the terminal says that it is enough.
pub fn run(path: &Path, mut state: State, theme: &Theme) -> Result<(), String> {
    let is_over = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&is_over))
            .map_err(|error| cannot("await signals", &error))?;
    }
    let said = ask_each_second(path).map_err(|error| cannot("start a thread", &error))?;
    let _restores = Restores;
    let mut terminal = ratatui::try_init().map_err(|error| cannot("use the terminal", &error))?;
    let (mut is_old, mut heard) = (true, Instant::now());
    while !is_over.load(Ordering::Relaxed) {
        loop {
            match said.try_recv() {
                Ok(reading) => state.hear(reading),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Err("the thread that asks has ended".into()),
            }
            (is_old, heard) = (true, Instant::now());
        }
        if state.problem.is_none() && heard.elapsed() > ANSWER_PATIENCE {
            state.hear(Err("the server says nothing".into()));
            is_old = true;
        }
        if std::mem::take(&mut is_old) {
            terminal
                .draw(|frame| draw(&state, theme, frame.buffer_mut()))
                .map_err(|error| cannot("write to the terminal", &error))?;
        }
        match await_key() {
            Ok(None) => {}
            Ok(Some(Pressed::Key(key))) => {
                if !state.press(key) {
                    return Ok(());
                }
                is_old = true;
            }
            Ok(Some(Pressed::Resized)) => is_old = true,
            Ok(Some(Pressed::Interrupt)) => return Ok(()),
            // It is gone, and the signal that says so on its way.
            Err(_) if is_over.load(Ordering::Relaxed) => {}
            Err(error) => return Err(cannot("read keys", &error)),
        }
    }
    Ok(())
}

enum Pressed {
    Key(Key),
    /// Ctrl-C, which is no signal while keys are read one by one.
    Interrupt,
    Resized,
}

fn await_key() -> io::Result<Option<Pressed>> {
    if !event::poll(KEY_PAUSE)? {
        return Ok(None);
    }
    Ok(match event::read()? {
        Event::Key(KeyEvent { kind: KeyEventKind::Release, .. }) => None,
        Event::Key(KeyEvent { code: KeyCode::Char('c'), modifiers, .. })
            if modifiers.contains(KeyModifiers::CONTROL) =>
        {
            Some(Pressed::Interrupt)
        }
        Event::Key(KeyEvent { code, modifiers, .. }) if !modifiers.contains(KeyModifiers::CONTROL) => {
            key(code).map(Pressed::Key)
        }
        Event::Resize(..) => Some(Pressed::Resized),
        _ => None,
    })
}

fn key(code: KeyCode) -> Option<Key> {
    Some(match code {
        KeyCode::Char(character) => Key::Character(character),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}

/// Asks on a thread of its own, as a server that hangs must not have keys hang.
fn ask_each_second(path: &Path) -> io::Result<Receiver<Result<Top, String>>> {
    let (to, said) = sync_channel(1);
    let path: PathBuf = path.to_owned();
    thread::Builder::new().name("ask".into()).spawn(move || {
        loop {
            let began = Instant::now();
            if to.send(super::reading(&path)).is_err() {
                return;
            }
            thread::sleep(READING_PAUSE.saturating_sub(began.elapsed()));
        }
    })?;
    Ok(said)
}
