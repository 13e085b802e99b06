//! Commands that change something which is not kept here: an index, and when a constraint is checked.

use super::{CommandParser, PgCommand};

/// What who drops an index is told.
const INDEX: &str =
    "an index is not kept, so none is dropped: a table has none but those of the keys that CREATE TABLE declares";

impl CommandParser<'_> {
    /// `SET CONSTRAINTS ALL | names DEFERRED | IMMEDIATE`, its first word read: what is checked, is checked at once.
    pub(super) fn constraints(&mut self) -> Option<PgCommand> {
        self.word("constraints")?;
        if self.word("all").is_none() {
            self.separated(Self::path)?;
        }
        self.word("deferred").or_else(|| self.word("immediate"))?;
        Some(PgCommand::OfNothing { tag: "SET CONSTRAINTS", notice: None })
    }

    /// `DROP INDEX [CONCURRENTLY] [IF EXISTS] names [CASCADE | RESTRICT]`, its first word read.
    pub(super) fn drop_index(&mut self) -> Option<PgCommand> {
        self.word("index")?;
        let _how = self.word("concurrently");
        let _whether = self.words(&["if", "exists"]);
        self.separated(Self::path)?;
        let _behavior = self.word("cascade").or_else(|| self.word("restrict"));
        Some(PgCommand::OfNothing { tag: "DROP INDEX", notice: Some(INDEX) })
    }
}
