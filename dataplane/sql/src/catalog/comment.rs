//! The comment of a table, view or function in the engine: the comment of people, and facts of ours.
//!
//! Ours is where the rows of a table are from, or the statement that a view or function is read by, and before it the
//! id of a table's own stage. Who comments can neither write nor lose them: their words stand before, with their length.

use sqlparser::ast::{CommentDef, CommentObject, CreateTable, CreateTableOptions, Ident, ObjectName, SqlOption};

use crate::ast::names;

const SAID: &str = "said:";
/// Before the id of a table's own stage, behind which stands another colon.
const STAGE: &str = "stage:";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comment {
    /// `COMMENT ON … IS`.
    pub words: Option<String>,
    pub ours: Option<String>,
    /// The id of a table's own stage, once something was put into it.
    pub own_stage: Option<String>,
    /// Words of the columns that have a comment, where types of columns are changed.
    pub(crate) of_columns: Vec<(String, Option<String>)>,
    /// The column whose texts all fit the type that it is given.
    pub(crate) widened: Option<String>,
}

impl Comment {
    /// What [`Comment::kept`] wrote. What it did not write is ours, for whoever reads that to refuse.
    pub fn read(kept: &str) -> Self {
        let read = parts(kept).unwrap_or_else(|| Self { ours: some(kept), ..Self::default() });
        let staged = read.ours.as_deref().and_then(|ours| ours.strip_prefix(STAGE)?.split_once(':'));
        match staged.map(|(id, ours)| (some(id), some(ours))) {
            Some((own_stage, ours)) => Self { ours, own_stage, ..read },
            None => read,
        }
    }

    pub(crate) fn ours(text: String) -> Self {
        Self { ours: Some(text), ..Self::default() }
    }

    pub(crate) fn kept(&self) -> Option<String> {
        let staged = self.own_stage.as_deref().map_or_else(String::new, |id| format!("{STAGE}{id}:"));
        let ours = self.ours.as_deref().unwrap_or_default();
        match &self.words {
            Some(words) => Some(format!("{SAID}{}:{words}{staged}{ours}", words.len())),
            None => some(&format!("{staged}{ours}")),
        }
    }
}

/// The table or view that is commented on, and which column of it.
pub(crate) fn described(object: CommentObject, name: &ObjectName) -> (ObjectName, Option<Ident>) {
    let mut parts: Vec<Ident> = names::parts(name).unwrap_or_default().into_iter().cloned().collect();
    let column = if object == CommentObject::Column { parts.pop() } else { None };
    (ObjectName::from(parts), column)
}

/// What CREATE TABLE says of the table: `COMMENT = '…'`.
pub(crate) fn of_table(create: &CreateTable) -> Option<&str> {
    let options = match &create.table_options {
        CreateTableOptions::Plain(options) => options.as_slice(),
        _ => &[],
    };
    let said = options.iter().find_map(|option| if let SqlOption::Comment(said) = option { Some(said) } else { None });
    let (CommentDef::WithEq(words) | CommentDef::WithoutEq(words)) = create.comment.as_ref().or(said)?;
    Some(words)
}

fn parts(kept: &str) -> Option<Comment> {
    let (bytes, rest) = kept.strip_prefix(SAID)?.split_once(':')?;
    let (words, ours) = rest.split_at_checked(bytes.parse().ok()?)?;
    Some(Comment { words: Some(words.to_owned()), ours: some(ours), ..Comment::default() })
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_kept_is_read(
            words in proptest::option::of(".*"),
            ours in proptest::option::of("\\[.+|sluice:.+"),
            own_stage in proptest::option::of("[a-z0-9-]+"),
        ) {
            let comment = Comment { words, ours, own_stage, ..Comment::default() };
            let kept = comment.kept();
            prop_assert_eq!(kept.as_deref().map(Comment::read).unwrap_or_default(), comment);
        }
    }

    #[test]
    fn what_is_not_as_it_was_written_is_ours() {
        for kept in ["said", "said:", "said:3", "said:x:abc", "said:9:abc", "said:1:é", "said:-1:abc", "anything"] {
            assert_eq!(Comment::read(kept), Comment::ours(kept.to_owned()));
        }
    }
}
