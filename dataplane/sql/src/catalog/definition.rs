//! Objects that statements define beside tables: views, functions, sequences, stages and file formats.
//!
//! The engine keeps an entry of the name, so that names collide and disappear as they should, and with it, as a
//! comment, the statement that made it. A view or function is read by its statement, put in where it is named,
//! and governed there for whoever asks; the engine's own entry is never read.

use std::sync::Arc;

use sqlparser::ast::{Ident, ObjectName};

use crate::ast::names;
use crate::catalog::comment::Comment;
use crate::catalog::table::Column;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DefinitionKind {
    View,
    Function,
    Sequence,
    Stage,
    FileFormat,
}

impl DefinitionKind {
    /// Before its name in trees, paths and policies: they are names of their own kind.
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Self::View | Self::Function | Self::Sequence => "",
            Self::Stage => names::STAGE_SIGN,
            Self::FileFormat => names::FILE_FORMAT_SIGN,
        }
    }

    /// Before its name in the engine, where it is a macro that nobody else can name.
    const fn entry(self) -> &'static str {
        match self {
            Self::View | Self::Function | Self::Sequence => "",
            Self::Stage => "_svc_stage_",
            Self::FileFormat => "_svc_file_format_",
        }
    }

    /// Of what kind a tree's name is, where that is a stage or a file format. A name in quotes is a table's.
    pub(crate) fn of_name(name: &ObjectName) -> Option<Self> {
        let last = names::last(name)?;
        let is = |kind: &Self| last.value.starts_with(kind.sign());
        [Self::Stage, Self::FileFormat].into_iter().find(is).filter(|_| last.quote_style.is_none())
    }

    /// The full name of a stage or file format in a tree.
    pub(crate) fn place(schema: &str, name: &str) -> ObjectName {
        let last = Ident { value: name.to_owned(), ..Ident::new("") };
        ObjectName::from(vec![names::quoted(names::RAW_CATALOG), names::quoted(schema), last])
    }

    /// The name of a stage or file format in the engine, of that in a tree.
    pub(crate) fn entry_of(name: &str) -> Option<String> {
        let of = |kind: Self| Some(format!("{}{}", kind.entry(), name.strip_prefix(kind.sign())?));
        of(Self::Stage).or_else(|| of(Self::FileFormat))
    }

    /// What a macro of the engine is, and its name in a tree.
    fn of_macro(name: &str) -> (Self, String) {
        let of = |kind: Self| Some((kind, format!("{}{}", kind.sign(), name.strip_prefix(kind.entry())?)));
        let found = of(Self::Stage).or_else(|| of(Self::FileFormat));
        found.unwrap_or_else(|| (Self::Function, name.to_owned()))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    pub kind: DefinitionKind,
    pub schema: String,
    pub name: String,
    /// Of a view.
    pub columns: Vec<Column>,
    /// The statement that made it; empty for a sequence.
    pub text: String,
    /// The schemas in which names without one were looked for, as [`searched`] joins them.
    pub home: String,
    /// `COMMENT ON`.
    pub comment: Option<String>,
}

const HEAD: &str = "sluice:";

/// Before the names of sequences that belong to a column.
pub(crate) const OWNED: &str = "_svc_";

/// Between the schemas of a search path that is kept.
const BETWEEN: &str = "\u{1f}";

/// A search path as a definition keeps it. It is what a session says: a name that could end its line, and be taken for the
/// statement behind it, is left out.
pub(crate) fn searched(path: &[String]) -> String {
    let fits = |name: &&str| !name.contains(char::is_control);
    let kept: Vec<&str> = path.iter().map(String::as_str).filter(fits).collect();
    if kept.is_empty() { names::MAIN_SCHEMA.to_owned() } else { kept.join(BETWEEN) }
}

/// The comment that keeps a statement.
pub(crate) fn comment(home: &str, text: &str) -> Comment {
    Comment::ours(format!("{HEAD}{home}\n{text}"))
}

impl Definition {
    /// What the engine's catalogue says; nothing for an entry that is not ours.
    pub fn read(
        kind: DefinitionKind,
        schema: &str,
        name: &str,
        columns: Vec<Column>,
        comment: Comment,
    ) -> Option<Self> {
        let schema = schema.to_owned();
        let (kind, name) = match kind {
            DefinitionKind::Function => DefinitionKind::of_macro(name),
            other => (other, name.to_owned()),
        };
        let Comment { words, ours, own_stage: _, of_columns: _, widened: _ } = comment;
        if kind == DefinitionKind::Sequence && name.starts_with(OWNED) {
            return None;
        }
        if kind == DefinitionKind::Sequence {
            let home = schema.clone();
            return Some(Self { kind, home, schema, name, columns, text: String::new(), comment: words });
        }
        let (home, text) = ours.as_deref()?.strip_prefix(HEAD)?.split_once('\n')?;
        Some(Self { kind, schema, name, columns, text: text.to_owned(), home: home.to_owned(), comment: words })
    }

    /// What the engine keeps of it.
    pub(crate) fn kept(&self) -> Comment {
        Comment { words: self.comment.clone(), ..comment(&self.home, &self.text) }
    }

    /// Its name as it was written.
    pub fn called(&self) -> &str {
        self.name.strip_prefix(self.kind.sign()).unwrap_or(&self.name)
    }

    pub fn path(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// The schemas in which a name without one was looked for.
    pub fn homes(&self) -> impl Iterator<Item = &str> {
        self.home.split(BETWEEN)
    }
}

/// Found by name in a session.
pub(crate) type FoundDefinition = Option<Arc<Definition>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_search_path_is_taken_for_the_statement() {
        let own = "CREATE STAGE s ID = 'own' FILE_FORMAT = (TYPE = 'CSV' NULL_IF = ('*/--'))";
        let forged = "x\nCREATE STAGE s ID = 'another' FILE_FORMAT = (TYPE = 'CSV') /*".to_owned();
        for (path, homes) in [
            (vec!["main".to_owned(), forged.clone(), "raw".to_owned()], vec!["main", "raw"]),
            (vec![forged], vec!["main"]),
            (vec!["a\u{1f}b".to_owned(), "c".to_owned()], vec!["c"]),
            (Vec::new(), vec!["main"]),
        ] {
            let kept = comment(&searched(&path), own);
            let read = Definition::read(DefinitionKind::Function, "main", "_svc_stage_s", Vec::new(), kept).unwrap();
            assert_eq!(read.text, own, "{path:?}");
            assert_eq!(read.homes().collect::<Vec<_>>(), homes, "{path:?}");
        }
    }
}
