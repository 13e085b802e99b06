//! Closed lists of words: one spelling on the wire for each, and a refusal that names them all.

/// The text is not one of the closed list it should be from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {kind}: use one of {allowed}")]
pub struct Unknown {
    pub kind: &'static str,
    pub text: String,
    pub allowed: String,
}

/// A closed list of words, each with its spelling on the wire.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $kind:literal, { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum $name { $($(#[$variant_doc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::caller::Unknown;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text).ok_or_else(|| $crate::caller::Unknown {
                    kind: $kind,
                    text: text.to_owned(),
                    allowed: Self::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}
pub(crate) use words;

/// An enum whose variants have names: each once, beside its variant.
#[macro_export]
macro_rules! named {
    ($(#[$attribute:meta])* $visibility:vis enum $name:ident {
        $($(#[$variant_attribute:meta])* $variant:ident = $text:literal),+ $(,)?
    }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $visibility enum $name { $($(#[$variant_attribute])* $variant),+ }

        impl $name {
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == text)
            }
        }
    };
}

/// Some of the roles, each by the word that it has among them.
#[macro_export]
macro_rules! some_roles {
    ($(#[$attribute:meta])* $visibility:vis enum $name:ident { $($role:ident),+ $(,)? }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        $(#[$attribute])*
        $visibility enum $name { $($role),+ }

        impl $name {
            pub const fn role(self) -> $crate::Role {
                match self { $(Self::$role => $crate::Role::$role),+ }
            }
        }
    };
}

/// Debug output of a type that says its name, and nothing of its values.
#[macro_export]
macro_rules! opaque {
    ($name:ident) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    };
}
