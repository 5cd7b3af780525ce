//! One declaration a section: struct, defaults, reading, and the rows that the manual is made from.

use toml::Spanned;
use toml::de::DeValue;

use super::problem::{Report, nearest};
use super::value::{Range, Value, found};

/// One setting as the manual shows it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its key, with dashes.
    pub key: String,
    /// What may be written.
    pub expected: String,
    /// What holds where it is not written, as TOML.
    pub default: String,
    /// Whether `zonda ctl reconfigure` puts a change in force, or only a new start.
    pub live: bool,
    /// What it does.
    pub help: &'static str,
}

/// A section of the file.
pub(super) trait Section: Default {
    /// Its name.
    const HEADING: &'static str;
    /// What it is for.
    const ABOUT: &'static str;
    /// Its settings.
    fn rows() -> Vec<Row>;
    /// Reads one setting; says whether it has one named `key`.
    fn set(&mut self, key: &str, value: &Spanned<DeValue<'_>>, report: &mut Report<'_>) -> bool;

    /// Reads all of a table's settings. Returns where each key stood.
    fn read(table: &Spanned<DeValue<'_>>, report: &mut Report<'_>) -> Self {
        let mut section = Self::default();
        let Some(settings) = table.get_ref().as_table() else {
            let text = format!("expected a table [{}], found {}", Self::HEADING, found(table.get_ref()));
            report.add(table.span(), text);
            return section;
        };
        for (key, value) in settings {
            if !section.set(key.get_ref(), value, report) {
                let keys: Vec<String> = Self::rows().into_iter().map(|row| row.key).collect();
                let place = format!(" in [{}]", Self::HEADING);
                report.add(key.span(), unknown(key.get_ref(), &place, keys.iter().map(String::as_str)));
            }
        }
        section
    }
}

/// The message about a key that nobody knows.
pub(super) fn unknown<'k>(key: &str, place: &str, known: impl Iterator<Item = &'k str> + Clone) -> String {
    match nearest(key, known.clone()) {
        Some(near) => format!("unknown key \"{key}\"{place}; did you mean \"{near}\"?"),
        None => format!("unknown key \"{key}\"{place}; known are {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// Reads one value into its field, or reports what was expected.
pub(super) fn read_into<T: Value>(
    field: &mut T,
    key: &str,
    value: &Spanned<DeValue<'_>>,
    range: Range,
    report: &mut Report<'_>,
) {
    if let Some(read) = T::read(value.get_ref(), range) {
        *field = read;
        return;
    }
    let items: Vec<&Spanned<DeValue<'_>>> = value.get_ref().as_array().into_iter().flatten().collect();
    let mut wrong: Vec<&Spanned<DeValue<'_>>> =
        T::wrong_items(value.get_ref(), range).into_iter().filter_map(|at| items.get(at).copied()).collect();
    if wrong.is_empty() {
        wrong.push(value);
    }
    for wrong in wrong {
        report.add(
            wrong.span(),
            format!("{key}: expected {}, found {}", T::expected(range), found(wrong.get_ref())),
        );
    }
}

/// Declares a section: `key: type = default, range, live|start;` under the help text of each.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident in $heading:literal {
            $($(#[doc = $help:literal])+ $field:ident: $type:ty = $default:expr, $range:expr, $when:ident;)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $help])+ pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl $crate::settings::declare::Section for $name {
            const HEADING: &'static str = $heading;
            const ABOUT: &'static str = concat!($($about, "\n"),+);

            fn rows() -> Vec<$crate::settings::declare::Row> {
                let default = Self::default();
                vec![$($crate::settings::declare::Row {
                    key: stringify!($field).replace('_', "-"),
                    expected: <$type as $crate::settings::value::Value>::expected($range),
                    default: $crate::settings::value::Value::show(&default.$field),
                    live: stringify!($when) == "live",
                    help: concat!($($help, "\n"),+),
                }),+]
            }

            fn set(
                &mut self,
                key: &str,
                value: &toml::Spanned<toml::de::DeValue<'_>>,
                report: &mut $crate::settings::problem::Report<'_>,
            ) -> bool {
                // Keys are written with dashes; an underscore is a mistake that gets its hint.
                if key.contains('_') {
                    return false;
                }
                match key.replace('-', "_").as_str() {
                    $(stringify!($field) => $crate::settings::declare::read_into(
                        &mut self.$field, key, value, $range, report,
                    ),)+
                    _ => return false,
                }
                true
            }
        }

        impl $name {
            /// Takes back what only a new start puts in force: such settings become those of `old`. Returns the
            /// ones that differ.
            pub fn keep_until_start(&mut self, old: &Self) -> Vec<String> {
                let mut kept: Vec<&str> = Vec::new();
                $(if stringify!($when) == "start" && self.$field != old.$field {
                    self.$field.clone_from(&old.$field);
                    kept.push(stringify!($field));
                })+
                kept.into_iter().map(|key| format!("[{}] {}", $heading, key.replace('_', "-"))).collect()
            }
        }
    };
}

pub(super) use section;
