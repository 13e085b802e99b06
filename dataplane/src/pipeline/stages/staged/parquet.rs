//! The columns of a Parquet file that a statement reads, and the query of them.

use engine::{Column, Session, SpoolFile, records_of};
use sql::{LoadOptions, NameMatching, StagedRows};

use crate::pipeline::Query;

/// Which columns of a file are read.
#[derive(Debug, Clone)]
pub(super) enum ReadColumns {
    All,
    /// None: only what the footer says of them.
    Footer,
    /// Those of these names.
    Named(Vec<String>),
    /// Those whose names are these in any case.
    NamedInAnyCase(Vec<String>),
}

/// The query of a file's rows, and the columns that it has where these were asked for.
pub(super) struct ParquetRows {
    pub query: String,
    pub names: Vec<String>,
    /// The same with their types.
    pub columns: Vec<Column>,
}

impl ReadColumns {
    /// Those that are members of records which the statement names, or columns of the table that is loaded.
    pub fn of(rows: &StagedRows) -> Self {
        match rows.load {
            Some(LoadOptions { by_name: Some(how), .. }) => {
                let names = rows.columns.iter().map(|column| column.name.clone()).collect();
                match how {
                    NameMatching::CaseSensitive => Self::Named(names),
                    NameMatching::CaseInsensitive => Self::NamedInAnyCase(names),
                }
            }
            _ if rows.infers.is_some() => Self::Footer,
            _ if rows.selects() => rows.members.clone().map_or(Self::All, Self::Named),
            _ => Self::All,
        }
    }

    /// Those of a file; its first one where no other is read, since each row of it is.
    pub fn chosen<'n>(&self, names: &[&'n str]) -> Vec<&'n str> {
        if matches!(self, Self::Footer) {
            return Vec::new();
        }
        let is_read = |name: &&str| match self {
            Self::All => true,
            Self::Footer => false,
            Self::Named(read) => read.iter().any(|one| one == name),
            Self::NamedInAnyCase(read) => read.iter().any(|one| one.eq_ignore_ascii_case(name)),
        };
        let chosen: Vec<&str> = names.iter().copied().filter(is_read).collect();
        if chosen.is_empty() { names.iter().copied().take(1).collect() } else { chosen }
    }
}

impl ParquetRows {
    /// The rows of a file with the columns that are read.
    pub async fn of(
        spool: &SpoolFile,
        binary_is_text: bool,
        rows: &StagedRows,
        (session, query): (&mut Session, &Query),
    ) -> std::result::Result<Self, engine::Error> {
        let all = spool.parquet_table(binary_is_text)?;
        let read = ReadColumns::of(rows);
        if matches!(read, ReadColumns::All) {
            return Ok(Self { query: all, names: Vec::new(), columns: Vec::new() });
        }
        let mut columns = session.describe(&all, query.deadline, &query.ask.cancel).await?.columns;
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let names: Vec<String> = read.chosen(&names).into_iter().map(str::to_owned).collect();
        columns.retain(|column| names.contains(&column.name));
        Ok(Self { query: spool.parquet_columns(binary_is_text, &names)?, names, columns })
    }

    /// A query of its records as JSON objects.
    pub fn records(&self) -> String {
        records_of(&self.query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_that_are_read_are_those_that_are_named() {
        let chosen = |read: ReadColumns| read.chosen(&["ID", "note", "Note"]).join(" ");
        assert_eq!(chosen(ReadColumns::All), "ID note Note");
        assert_eq!(chosen(ReadColumns::Footer), "");
        assert_eq!(chosen(ReadColumns::Named(vec!["note".to_owned(), "id".to_owned()])), "note");
        assert_eq!(chosen(ReadColumns::NamedInAnyCase(vec!["NOTE".to_owned(), "id".to_owned()])), "ID note Note");
        assert_eq!(chosen(ReadColumns::Named(vec!["none".to_owned()])), "ID");
    }
}
