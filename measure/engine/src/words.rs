//! Choices that options and recipes have a word for each.

/// Gives an enumeration its words: all variants, the word of each, and the way back from text and from a recipe.
macro_rules! words {
    ($kind:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $kind {
            /// Words of all, as options and recipes have them.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            /// All.
            pub const ALL: [$kind; $kind::WORDS.len()] = [$($kind::$variant),+];

            /// As options and recipes have it.
            pub const fn name(self) -> &'static str {
                match self {
                    $($kind::$variant => $word),+
                }
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $kind {
            type Err = ();

            fn from_str(text: &str) -> Result<$kind, ()> {
                $kind::ALL.into_iter().find(|kind| kind.name() == text).ok_or(())
            }
        }

        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$kind, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(|()| serde::de::Error::unknown_variant(&text, $kind::WORDS))
            }
        }
    };
}

pub(crate) use words;
