//! What is looked at, and what keys do to that.

use control::command::Top;

use super::history::History;

/// Longest filter: as long as a name.
const FILTER_OCTETS_MAX: usize = 255;

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    Overview,
    Names,
    Clients,
    Workers,
    Server,
}

impl View {
    pub const ALL: [(View, &str); 5] = [
        (View::Overview, "overview"),
        (View::Names, "names"),
        (View::Clients, "clients"),
        (View::Workers, "workers"),
        (View::Server, "server"),
    ];

    /// That of a number, which begin with 1.
    pub fn numbered(number: u8) -> Option<View> {
        View::ALL.get(usize::from(number).checked_sub(1)?).map(|(view, _)| *view)
    }
}

/// A key, as far as it means anything here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Character(char),
    Enter,
    Escape,
    Backspace,
}

/// All that a screen is made of.
pub struct State {
    history: History,
    /// What it was when it was paused.
    paused: Option<History>,
    pub view: View,
    /// In lower case; all if it is empty.
    pub filter: String,
    /// Whether keys are letters of the filter.
    pub is_typing: bool,
    /// Why there is no newer reading.
    pub problem: Option<String>,
    /// Whether the screen says which keys there are.
    pub has_keys: bool,
}

impl State {
    pub fn new(history: History, view: View) -> State {
        State {
            history,
            paused: None,
            view,
            filter: String::new(),
            is_typing: false,
            problem: None,
            has_keys: true,
        }
    }

    /// What is to be seen.
    pub fn shown(&self) -> &History {
        self.paused.as_ref().unwrap_or(&self.history)
    }

    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Takes what the server said, or why it did not.
    pub fn hear(&mut self, said: Result<Top, String>) {
        match said {
            Ok(top) => {
                self.history.add(top);
                self.problem = None;
            }
            Err(problem) => self.problem = Some(problem),
        }
    }

    /// Does what a key wants; `false`: it wants the end.
    pub fn press(&mut self, key: Key) -> bool {
        if self.is_typing {
            self.type_filter(key);
            return true;
        }
        match key {
            Key::Character('q') => return false,
            Key::Character('p') => {
                self.paused = if self.is_paused() { None } else { Some(self.history.clone()) };
            }
            Key::Character('/') => self.is_typing = true,
            Key::Character(digit) => {
                let number = digit.to_digit(10).map(|number| number as u8);
                self.view = number.and_then(View::numbered).unwrap_or(self.view);
            }
            Key::Escape => self.filter.clear(),
            Key::Enter | Key::Backspace => {}
        }
        true
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Enter => self.is_typing = false,
            Key::Escape => {
                self.filter.clear();
                self.is_typing = false;
            }
            Key::Backspace => {
                self.filter.pop();
            }
            // Names are shown in these characters alone.
            Key::Character(character) if character.is_ascii_graphic() => {
                if self.filter.len() < FILTER_OCTETS_MAX {
                    self.filter.push(character.to_ascii_lowercase());
                }
            }
            Key::Character(_) => {}
        }
    }

    /// Whether the filter lets this through.
    pub fn has(&self, text: &str) -> bool {
        self.filter.is_empty() || text.to_ascii_lowercase().contains(&self.filter)
    }
}
