//! The comment of a column in the engine: the comment of people, and how many characters its texts hold.
//!
//! The engine forgets the length of a type of text, and whether it was spelled VARCHAR or TEXT, JSONB or JSON, which are
//! two types to who asks PostgreSQL's catalogue. Its comment goes where the column goes: through renames, and with the transaction.
//! Words alone are kept as they are.

use sqlparser::ast::{CharLengthUnits, CharacterLength, DataType};

const HOLDS: &str = "holds:";

/// A word for a type that PostgreSQL takes for another type than the engine does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpelledType {
    /// Without a length; else it is TEXT.
    Varchar,
    /// Else it is JSON.
    Jsonb,
}

impl SpelledType {
    const ALL: [Self; 2] = [Self::Varchar, Self::Jsonb];

    /// What is kept of it.
    const fn word(self) -> &'static str {
        match self {
            Self::Varchar => "any",
            Self::Jsonb => "jsonb",
        }
    }

    /// What a column is declared as, where that is such a word.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Varchar(_) | DataType::CharVarying(_) | DataType::CharacterVarying(_) | DataType::Nvarchar(_)
                if length(data_type).is_none() =>
            {
                Some(Self::Varchar)
            }
            DataType::JSONB => Some(Self::Jsonb),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnComment {
    /// `COMMENT ON COLUMN … IS`.
    pub words: Option<String>,
    /// Of `VARCHAR(n)`.
    pub length: Option<u64>,
    /// The word for its type, where the engine's type does not tell it.
    pub spelled: Option<SpelledType>,
}

impl ColumnComment {
    /// What [`ColumnComment::kept`] wrote; anything else is words.
    pub fn read(kept: &str) -> Self {
        parts(kept).unwrap_or_else(|| Self { words: Some(kept.to_owned()), ..Self::default() })
    }

    pub(crate) fn kept(&self) -> Option<String> {
        let words = self.words.as_deref().unwrap_or_default();
        match (self.length, self.spelled) {
            (Some(length), _) => Some(format!("{HOLDS}{length}:{words}")),
            (None, Some(spelled)) => Some(format!("{HOLDS}{}:{words}", spelled.word())),
            (None, None) if words.starts_with(HOLDS) => Some(format!("{HOLDS}:{words}")),
            (None, None) => self.words.clone(),
        }
    }

    /// A type of text with its length; any other as it is.
    pub fn declared(&self, type_name: &str) -> String {
        match self.length {
            Some(length) if type_name == "VARCHAR" => format!("VARCHAR({length})"),
            _ => type_name.to_owned(),
        }
    }
}

/// A text of this length.
pub(crate) fn varchar(length: u64) -> DataType {
    DataType::Varchar(Some(CharacterLength::IntegerLength { length, unit: None }))
}

/// The length that [`ColumnComment::declared`] wrote.
pub fn length_named(type_name: &str) -> Option<u64> {
    type_name.strip_prefix("VARCHAR(")?.strip_suffix(')')?.parse().ok()
}

/// The characters of a type of text that has a length; none where all texts are as short.
pub(crate) fn length(data_type: &DataType) -> Option<u64> {
    const OF_ANY: u64 = 16_777_216;
    let declared = match data_type {
        DataType::Char(length) | DataType::Character(length) => {
            Some(length.unwrap_or(CharacterLength::IntegerLength { length: 1, unit: None }))
        }
        DataType::Varchar(length)
        | DataType::CharVarying(length)
        | DataType::CharacterVarying(length)
        | DataType::Nvarchar(length) => *length,
        DataType::String(length) => length.map(|length| CharacterLength::IntegerLength { length, unit: None }),
        _ => None,
    };
    match declared {
        Some(CharacterLength::IntegerLength { length, unit: None | Some(CharLengthUnits::Characters) }) => {
            Some(length).filter(|length| *length < OF_ANY)
        }
        _ => None,
    }
}

fn parts(kept: &str) -> Option<ColumnComment> {
    let (held, words) = kept.strip_prefix(HOLDS)?.split_once(':')?;
    let spelled = SpelledType::ALL.into_iter().find(|spelled| spelled.word() == held);
    let length = if held.is_empty() || spelled.is_some() { None } else { Some(held.parse().ok()?) };
    Some(ColumnComment { words: (!words.is_empty()).then(|| words.to_owned()), length, spelled })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_kept_is_read(
            words in proptest::option::of("(holds:)?(any:|jsonb:)?.+"),
            length in proptest::option::of(1_u64..),
            spelled in proptest::option::of(proptest::sample::select(SpelledType::ALL.to_vec())),
        ) {
            let comment = ColumnComment { words, length, spelled: spelled.filter(|_| length.is_none()) };
            let kept = comment.kept();
            prop_assert_eq!(kept.as_deref().map(ColumnComment::read).unwrap_or_default(), comment);
        }
    }

    #[test]
    fn what_was_kept_as_words_is_words() {
        for kept in
            ["", "holds", "holds:", "holds:3", "holds:any", "holds:jsonb", "holds:x:abc", "holds:-1:abc", "anything"]
        {
            let words = ColumnComment { words: Some(kept.to_owned()), ..ColumnComment::default() };
            assert_eq!(ColumnComment::read(kept), words);
        }
    }

    #[test]
    fn a_length_is_of_text_alone() {
        let three = ColumnComment { length: Some(3), ..ColumnComment::default() };
        assert_eq!(three.declared("VARCHAR"), "VARCHAR(3)");
        assert_eq!(three.declared("BIGINT"), "BIGINT");
        assert_eq!(length_named(&three.declared("VARCHAR")), Some(3));
        assert_eq!(length_named("VARCHAR"), None);
        assert_eq!(length_named("VARCHAR(3)[]"), None);
    }
}
