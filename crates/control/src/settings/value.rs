//! The kinds of values that settings have: how each is read from TOML, checked and shown.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeValue;
use wire::NameBuf;

use super::lasting::Lasting;

/// What a value may be, beyond its type.
#[derive(Clone, Copy, Debug)]
pub enum Range {
    /// Whatever the type allows.
    Any,
    /// A number of this unit from the first to the second, both included.
    Number(&'static str, u64, u64),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Texts, which are this, one at least.
    Texts(&'static str),
    /// The same, or none.
    TextsOrNone(&'static str),
    /// A time from the first to the second, both included.
    Lasting(Lasting, Lasting),
}

/// A type of setting.
pub(super) trait Value: Sized + PartialEq {
    /// What a reader is to write, for messages and the manual.
    fn expected(range: Range) -> String;
    /// Reads it; `None` when it is not what [`Value::expected`] says.
    fn read(value: &DeValue<'_>, range: Range) -> Option<Self>;
    /// Its TOML text, for the manual.
    fn show(&self) -> String;
    /// Of a list that was not read: the numbers of its wrong items.
    fn wrong_items(_: &DeValue<'_>, _: Range) -> Vec<usize> {
        Vec::new()
    }
}

/// How a value that was not expected is shown in a message.
pub(super) fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if text.is_empty() => "an empty string".into(),
        DeValue::String(text) => format!("{:?}", shorten(text)),
        DeValue::Integer(number) => number.as_str().into(),
        DeValue::Float(number) => number.as_str().into(),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(items) if items.is_empty() => "an empty list".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

/// The beginning of a long text: the place says where the rest is.
fn shorten(text: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

fn number(value: &DeValue<'_>, range: Range) -> Option<u64> {
    let integer = value.as_integer()?;
    let digits = integer.as_str().replace('_', "");
    let number = u64::from_str_radix(&digits, integer.radix()).ok()?;
    match range {
        Range::Number(_, low, high) => (low..=high).contains(&number).then_some(number),
        _ => Some(number),
    }
}

fn expected_number(range: Range) -> String {
    match range {
        Range::Number("", low, high) => format!("a number from {low} to {high}"),
        Range::Number(unit, low, high) => format!("a number of {unit} from {low} to {high}"),
        _ => "a number".into(),
    }
}

macro_rules! numbers {
    ($($type:ty)+) => {$(
        impl Value for $type {
            fn expected(range: Range) -> String {
                expected_number(range)
            }
            fn read(value: &DeValue<'_>, range: Range) -> Option<Self> {
                number(value, range)?.try_into().ok()
            }
            fn show(&self) -> String {
                self.to_string()
            }
        }
    )+};
}

numbers! { u8 u16 u32 u64 usize }

/// Seconds.
impl Value for Duration {
    fn expected(range: Range) -> String {
        expected_number(range)
    }
    fn read(value: &DeValue<'_>, range: Range) -> Option<Self> {
        number(value, range).map(Duration::from_secs)
    }
    fn show(&self) -> String {
        self.as_secs().to_string()
    }
}

impl Value for bool {
    fn expected(_: Range) -> String {
        "true or false".into()
    }
    fn read(value: &DeValue<'_>, _: Range) -> Option<Self> {
        value.as_bool()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// `None`: left out, so that something else decides.
impl Value for Option<bool> {
    fn expected(_: Range) -> String {
        "true or false".into()
    }
    fn read(value: &DeValue<'_>, _: Range) -> Option<Self> {
        value.as_bool().map(Some)
    }
    fn show(&self) -> String {
        self.map_or_else(|| "none".into(), |value| value.to_string())
    }
}

impl Value for String {
    fn expected(range: Range) -> String {
        match range {
            Range::OneOf(words) => format!("one of {}", words.map_join(", ", |word| format!("\"{word}\""))),
            _ => "text".into(),
        }
    }
    fn read(value: &DeValue<'_>, range: Range) -> Option<Self> {
        let text = value.as_str()?;
        match range {
            Range::OneOf(words) if !words.contains(&text) => None,
            _ => Some(text.into()),
        }
    }
    fn show(&self) -> String {
        format!("{self:?}")
    }
}

/// The numbers of a list's items of which `is_wrong` says so.
fn items_that(value: &DeValue<'_>, is_wrong: impl Fn(&DeValue<'_>) -> bool) -> Vec<usize> {
    let items = value.as_array().into_iter().flatten().enumerate();
    items.filter(|(_, item)| is_wrong(item.get_ref())).map(|(at, _)| at).collect()
}

/// A text or several. A million zones have them, mostly none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Names(Box<[Box<str>]>);

impl From<Vec<String>> for Names {
    fn from(texts: Vec<String>) -> Names {
        Names(texts.into_iter().map(String::into_boxed_str).collect())
    }
}

impl Names {
    /// One name.
    pub fn one(name: &str) -> Names {
        Names([name.into()].into())
    }

    /// All of them.
    pub fn texts(&self) -> &[Box<str>] {
        &self.0
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Value for Names {
    fn expected(range: Range) -> String {
        match range {
            Range::Texts(what) | Range::TextsOrNone(what) => format!("{what}, or a list of such"),
            _ => "a text or a list of texts".into(),
        }
    }
    fn read(value: &DeValue<'_>, range: Range) -> Option<Self> {
        let names = match value {
            DeValue::String(text) => Names::one(text),
            _ => {
                let items = value.as_array()?.iter().map(|item| item.get_ref().as_str().map(Box::from));
                Names(items.collect::<Option<_>>()?)
            }
        };
        let is_enough = !names.is_empty() || matches!(range, Range::TextsOrNone(_));
        is_enough.then_some(names)
    }
    fn wrong_items(value: &DeValue<'_>, _: Range) -> Vec<usize> {
        items_that(value, |item| item.as_str().is_none())
    }
    fn show(&self) -> String {
        match self.texts() {
            [one] => format!("{one:?}"),
            several => format!("[{}]", several.map_join(", ", |text| format!("{text:?}"))),
        }
    }
}

/// A text that is shown nowhere: neither in messages about it nor in debugging output.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// The text as it was written; empty: not set.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "no secret" } else { "a secret" })
    }
}

impl Value for Secret {
    fn expected(_: Range) -> String {
        "text in base64".into()
    }
    fn read(value: &DeValue<'_>, _: Range) -> Option<Self> {
        // Whether it is base64 is looked at later, by who does not repeat it.
        value.as_str().map(|text| Secret(text.into()))
    }
    fn show(&self) -> String {
        "\"\"".into()
    }
}

/// Empty: not set.
impl Value for PathBuf {
    fn expected(_: Range) -> String {
        "a path".into()
    }
    fn read(value: &DeValue<'_>, _: Range) -> Option<Self> {
        value.as_str().filter(|text| !text.contains('\0')).map(PathBuf::from)
    }
    fn show(&self) -> String {
        format!("{:?}", self.display().to_string())
    }
}

impl Value for Option<NameBuf> {
    fn expected(_: Range) -> String {
        "a domain name".into()
    }
    fn read(value: &DeValue<'_>, _: Range) -> Option<Self> {
        // Empty text would be the root by the rules of names; nobody writes it who means that.
        NameBuf::from_text(value.as_str().filter(|text| !text.is_empty())?).ok().map(Some)
    }
    fn show(&self) -> String {
        self.as_ref().map_or_else(|| "\"\"".into(), |name| format!("{:?}", name.to_string()))
    }
}

/// Port of an address that names none.
const PORT_DEFAULT: u16 = 53;

/// Addresses to listen on.
impl Value for Vec<SocketAddr> {
    fn expected(_: Range) -> String {
        "a list of addresses such as \"192.0.2.1:53\", \"[2001:db8::1]:53\" or \"192.0.2.1\"".into()
    }
    fn read(value: &DeValue<'_>, _: Range) -> Option<Self> {
        value.as_array()?.iter().map(|item| address(item.get_ref().as_str()?)).collect()
    }
    fn wrong_items(value: &DeValue<'_>, _: Range) -> Vec<usize> {
        items_that(value, |item| item.as_str().and_then(address).is_none())
    }
    fn show(&self) -> String {
        format!("[{}]", self.map_join(", ", |address| format!("\"{address}\"")))
    }
}

/// Reads `ADDRESS:PORT`, `[ADDRESS]:PORT` or an address alone, which means port 53.
pub fn address(text: &str) -> Option<SocketAddr> {
    let with_port = || text.parse().ok().map(|ip| SocketAddr::new(ip, PORT_DEFAULT));
    text.parse().ok().or_else(with_port)
}

/// Workers and processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pinning {
    /// Each worker on a processor of its own, or none on any.
    Switch(bool),
    /// Worker `i` on processor `list[i]`.
    List(Vec<usize>),
}

impl Value for Pinning {
    fn expected(_: Range) -> String {
        "true, false or a list of processor numbers".into()
    }
    fn read(value: &DeValue<'_>, range: Range) -> Option<Self> {
        match value {
            DeValue::Boolean(switch) => Some(Pinning::Switch(*switch)),
            DeValue::Array(items) => {
                let processors = items.iter().map(|item| usize::read(item.get_ref(), range));
                processors.collect::<Option<Vec<_>>>().filter(|list| !list.is_empty()).map(Pinning::List)
            }
            _ => None,
        }
    }
    fn wrong_items(value: &DeValue<'_>, range: Range) -> Vec<usize> {
        items_that(value, |item| usize::read(item, range).is_none())
    }
    fn show(&self) -> String {
        match self {
            Pinning::Switch(switch) => switch.to_string(),
            Pinning::List(list) => format!("{list:?}"),
        }
    }
}

/// `join` after a conversion.
trait MapJoin<T> {
    fn map_join(&self, separator: &str, convert: impl Fn(&T) -> String) -> String;
}

impl<T> MapJoin<T> for [T] {
    fn map_join(&self, separator: &str, convert: impl Fn(&T) -> String) -> String {
        self.iter().map(convert).collect::<Vec<_>>().join(separator)
    }
}
