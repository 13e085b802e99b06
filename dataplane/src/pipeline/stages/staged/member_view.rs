//! One Parquet file that a query reads itself, through a temporary view with a column for each member that it asks for.
//!
//! Else each record is made JSON, written to a temporary table, and its members are read out of it again. A member whose
//! text is what the engine makes of its column is that text, or the column itself where the cast behind it makes the same
//! of both. All others are read out of the record as before.

use engine::Column;
use sql::ast::quote;
use sql::{FileRecords, MemberRead};

use super::super::snapshot::agrees_here;
use super::super::transpile::Native;
use super::columns::{self, ReadFile};
use super::parquet::ParquetRows;
use super::parquet_source::ParquetAhead;
use super::source::FileSource;
use super::viewed::ViewedFile;
use crate::pipeline::Result;
use crate::storage::stage_files::StageFile;

/// A row of the file, in its view.
const ROW: &str = "_sluice_record";
const TEXT: &str = "VARCHAR";
/// Whole numbers of a file, those that an INTEGER holds first.
const WHOLE: [&str; 7] = ["TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER", "BIGINT"];
const WITHIN_INTEGER: usize = 5;
/// Types that hold each of them.
const HOLDING: [&str; 5] = ["BIGINT", "HUGEINT", "DOUBLE", "DECIMAL(38, 0)", "DECIMAL(38,0)"];
/// Types that have one text, in JSON and elsewhere.
const OF_ONE_TEXT: [&str; 3] = ["DATE", "BOOLEAN", "TIMESTAMP"];

impl FileSource<'_> {
    /// Takes in the files of a query: one of Parquet by a view, where that tells it no less.
    pub async fn selected(
        &mut self,
        files: &[StageFile],
        native: &mut Native,
        is_direct: bool,
    ) -> Result<Option<ViewedFile>> {
        let is_alone = native.about.staged.len() == 1 && self.query.ask.transaction.is_none();
        let rows = self.rows;
        // else no column of the file is described, and each member would be NULL
        let names_columns = rows.selects() && rows.members.is_some();
        let is_fit = is_direct && is_alone && rows.load.is_none() && names_columns;
        let records = &rows.reading.records;
        if let (true, [file], FileRecords::Parquet { binary_is_text }) = (is_fit, files, records)
            && let Some((by_member, reads)) = native.sql.by_member(&rows.kept_as)?
        {
            let mut ahead = ParquetAhead::of(self.parquet_source()?, files);
            ahead.begin(); // while the engine looks at the text
            // while it reads a table: the engine's parser names none of a statement that reads a view
            agrees_here(self.query, self.session, native).await?;
            native.sql = by_member;
            let asks_number = native.sql.sql.to_ascii_uppercase().contains(sql::ROW_NUMBER);
            let view = self.view_by_member((file, ahead), *binary_is_text, (&reads, asks_number));
            return Box::pin(view).await.map(Some);
        }
        Box::pin(self.fill(files)).await?;
        Ok(None)
    }

    async fn view_by_member(
        &mut self,
        (file, mut ahead): (&StageFile, ParquetAhead),
        binary_is_text: bool,
        (reads, asks_number): (&[MemberRead], bool),
    ) -> Result<ViewedFile> {
        let rows = self.rows;
        let spool = self.parquet_spool(&mut ahead).await?;
        let found = ParquetRows::of(&spool, binary_is_text, rows, (self.session, self.query)).await;
        let found = found.map_err(|error| self.fault(file, error))?;
        let (mut own, names) =
            (columns::whole(rows, ReadFile::whole(file)), rows.columns.iter().map(|column| &column.name));
        if let Some(first) = own.first_mut() {
            *first = format!("to_json({ROW})");
        }
        if let Some(last) = own.last_mut().filter(|_| !asks_number) {
            "cast(null as bigint)".clone_into(last); // to number rows is the work of one thread
        }
        let own = own.iter().zip(names).map(|(value, name)| format!("{value} as {}", quote::name(name)));
        let members =
            reads.iter().map(|read| format!("{} as {}", member(read, &found.columns), quote::name(&read.column())));
        let select = own.chain(members).collect::<Vec<_>>().join(", ");
        self.view_of(file, &format!("select {select} from ({}) as {ROW}", found.query), spool).await
    }
}

/// What a member is in a view: for each value the same, behind its cast, as the text of it in JSON.
fn member(read: &MemberRead, found: &[Column]) -> String {
    let Some(column) = found.iter().find(|column| column.name == read.name) else {
        return "cast(null as varchar)".to_owned(); // no record has it
    };
    let own = format!("{ROW}.{}", quote::name(&column.name));
    let wanted = read.type_name.as_deref().unwrap_or(TEXT);
    let kind = column.type_name.as_str();
    if kind == TEXT || (kind == "DOUBLE" && wanted == kind) {
        return own;
    }
    if let Some(place) = WHOLE.iter().position(|whole| *whole == kind) {
        let is_held = HOLDING.contains(&wanted) || (wanted == "INTEGER" && place < WITHIN_INTEGER);
        return if is_held { own } else { format!("cast({own} as varchar)") };
    }
    if OF_ONE_TEXT.contains(&kind) {
        return format!("cast({own} as varchar)");
    }
    format!("(to_json({ROW}) ->> {})", quote::text(&read.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_its_column_only_where_both_are_the_same() {
        let column =
            |name: &str, type_name: &str| Column { name: name.into(), type_name: type_name.into(), nullable: true };
        let found = [
            column("i", "INTEGER"),
            column("u", "UINTEGER"),
            column("b", "UBIGINT"),
            column("d", "DOUBLE"),
            column("t", TEXT),
            column("y", "DATE"),
            column("n", "DECIMAL(18,2)"),
        ];
        let of = |name: &str, type_name: Option<&str>| {
            let (name, path) = (name.to_owned(), format!("$.\"{name}\""));
            member(&MemberRead { name, path, type_name: type_name.map(str::to_owned) }, &found)
        };
        for (name, type_name, told) in [
            ("i", Some("BIGINT"), "_sluice_record.\"i\""),
            ("i", Some("INTEGER"), "_sluice_record.\"i\""),
            ("i", Some("SMALLINT"), "cast(_sluice_record.\"i\" as varchar)"),
            ("u", Some("INTEGER"), "cast(_sluice_record.\"u\" as varchar)"),
            ("b", Some("BIGINT"), "(to_json(_sluice_record) ->> '$.\"b\"')"),
            ("d", Some("DOUBLE"), "_sluice_record.\"d\""),
            ("d", Some("BIGINT"), "(to_json(_sluice_record) ->> '$.\"d\"')"),
            ("t", Some("DATE"), "_sluice_record.\"t\""),
            ("y", None, "cast(_sluice_record.\"y\" as varchar)"),
            ("n", Some("DECIMAL(18, 2)"), "(to_json(_sluice_record) ->> '$.\"n\"')"),
            ("none", None, "cast(null as varchar)"),
        ] {
            assert_eq!(of(name, type_name), told, "{name} {type_name:?}");
        }
    }
}
