//! The settings of PostgreSQL that there are here.

use contract::Heal;

/// A setting of PostgreSQL: its name as it is shown, its default, and how it may be changed.
#[derive(Debug)]
pub(super) struct KnownSetting {
    pub name: &'static str,
    pub default: &'static str,
    pub change: AllowedValues,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AllowedValues {
    /// Any value; it has no effect here.
    Any,
    /// Only to what it means already: the value must start so, whatever the case.
    Only(&'static [&'static str]),
    /// To one of these words, whatever the case.
    OneOf(&'static [&'static str]),
    Never,
}

use AllowedValues::{Any, Never, OneOf, Only};

const fn known(name: &'static str, default: &'static str, change: AllowedValues) -> KnownSetting {
    KnownSetting { name, default, change }
}

/// How far statements that fail may be healed: the one setting that is not PostgreSQL's.
pub(super) const HEAL: &str = "heal";

/// Whether a backslash in `'…'` is an ordinary character; else it escapes, as in the warehouse.
pub(super) const STANDARD_STRINGS: &str = "standard_conforming_strings";

/// The isolation that there is.
pub(super) const SNAPSHOT: &str = "repeatable read";
/// The one that is asked for in vain.
pub(super) const SERIALIZABLE: &str = "serializable";
const LEVELS: &[&str] = &["read uncommitted", "read committed", SNAPSHOT, SERIALIZABLE];

/// `TimeZone`, `search_path`, `statement_timeout`, `standard_conforming_strings` and `heal` have effects, and code of their
/// own.
pub(super) const KNOWN: &[KnownSetting] = &[
    known("application_name", "", Any),
    known("backslash_quote", "safe_encoding", Any),
    known("bytea_output", "hex", Only(&["hex"])),
    known("client_encoding", "UTF8", Only(&["utf8", "utf-8", "unicode"])),
    known("client_min_messages", "notice", Any),
    known("DateStyle", "ISO, MDY", Only(&["iso"])),
    known("default_transaction_deferrable", "off", Any),
    known("default_transaction_isolation", SNAPSHOT, Only(LEVELS)),
    known("default_transaction_read_only", "off", Any),
    known("escape_string_warning", "on", Any),
    known("extra_float_digits", "1", Any),
    known(HEAL, Heal::Auto.as_str(), OneOf(&[Heal::Off.as_str(), Heal::Safe.as_str(), Heal::Auto.as_str()])),
    known("idle_in_transaction_session_timeout", "0", Any),
    known("idle_session_timeout", "0", Any),
    known("in_hot_standby", "off", Never),
    known("integer_datetimes", "on", Never),
    known("IntervalStyle", "postgres", Only(&["postgres"])),
    known("is_superuser", "off", Never),
    known("jit", "off", Any),
    known("lc_messages", "C", Any),
    known("lock_timeout", "0", Any),
    known("max_identifier_length", "128", Never),
    known("quote_all_identifiers", "off", Any),
    known("row_security", "on", Only(&["on", "true", "1"])),
    known("search_path", "main", Any),
    known("server_encoding", "UTF8", Never),
    known("server_version", "15.0", Never),
    known("server_version_num", "150000", Never),
    known("session_authorization", "", Never),
    known(STANDARD_STRINGS, "on", OneOf(&["on", "off"])),
    known("statement_timeout", "0", Any),
    known("synchronize_seqscans", "on", Any),
    known("synchronous_commit", "on", Any),
    known("TimeZone", "UTC", Any),
    known("transaction_isolation", SNAPSHOT, Only(LEVELS)),
    known("transaction_read_only", "off", Any),
];

/// Told to the client at login, and again when they change.
pub const REPORTED: &[&str] = &[
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "server_encoding",
    "server_version",
    "session_authorization",
    STANDARD_STRINGS,
    "TimeZone",
];

pub(super) fn find(lower: &str) -> Option<&'static KnownSetting> {
    KNOWN.iter().find(|known| known.name.eq_ignore_ascii_case(lower))
}

impl KnownSetting {
    /// It is of one transaction: whoever sets it, it ends there.
    pub fn is_of_transaction(&self) -> bool {
        self.name.starts_with("transaction_")
    }

    /// The setting that a transaction begins with.
    pub fn stands_for(&self) -> Option<&'static Self> {
        self.is_of_transaction().then(|| find(&format!("default_{}", self.name))).flatten()
    }
}

/// Spellings of one value: `utf-8` is shown as `UTF8`.
pub(super) fn shows_default(known: &KnownSetting) -> bool {
    matches!(known.change, Only(_)) && !known.name.ends_with("isolation")
}
