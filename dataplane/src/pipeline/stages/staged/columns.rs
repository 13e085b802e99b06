//! SQL of ours over the files of a stage: what fills the temporary table of their rows.

use chrono::{DateTime, Utc};
use engine::{FileColumn, RECORD};
use sql::ast::quote;
use sql::{Column, NameMatching, StagedRows};

use crate::storage::stage_files::StageFile;

const JSON: &str = "JSON";
/// The number of a row, where its file is read from the begin.
const NUMBER: &str = "row_number() over ()";

/// A file that is read, and what numbers its records.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadFile<'f> {
    pub file: &'f StageFile,
    pub number: &'f str,
}

impl<'f> ReadFile<'f> {
    /// One that is read from the begin.
    pub fn whole(file: &'f StageFile) -> Self {
        Self { file, number: NUMBER }
    }

    /// What is known of it by this name.
    fn fact(self, name: &str) -> String {
        match name {
            sql::FILE_NAME => quote::text(&self.file.path),
            sql::CONTENT_KEY => quote::text(&self.file.md5),
            sql::LAST_MODIFIED => {
                let modified: DateTime<Utc> = self.file.modified.into();
                format!("cast('{}' as timestamp)", modified.format("%Y-%m-%d %H:%M:%S%.6f"))
            }
            sql::SCAN_TIME => "now()".to_owned(),
            _ => self.number.to_owned(),
        }
    }

    /// What a load fills a column with in place of a value of the file; none where it is to have that.
    fn filling(self, rows: &StagedRows, column: &Column) -> Option<String> {
        let fact = self.fact(rows.metadata.iter().find(|one| one.column == column.name)?.value);
        Some(if column.type_name == JSON { format!("to_json({fact})") } else { fact })
    }
}

/// What fills it from a query of a file.
pub(super) fn filled(rows: &StagedRows, values: &[String], query: &str) -> String {
    format!("insert into {} select {} from ({query}) as file", rows.place(), values.join(", "))
}

/// The query of no more records than are to be read.
pub(super) fn limited(query: String, most: Option<u64>) -> String {
    match most {
        Some(most) => format!("select * from ({query}) as file limit {most}"),
        None => query,
    }
}

/// The columns of CSV that a file has where all are texts: `$1` and so on.
pub(super) fn numbered(count: usize) -> Vec<FileColumn> {
    (1..=count).map(|number| FileColumn { name: format!("${number}"), type_name: "VARCHAR".to_owned() }).collect()
}

/// The columns of CSV that are those of a table.
pub(super) fn typed(rows: &StagedRows) -> Vec<FileColumn> {
    let column = |column: &Column| FileColumn { name: column.name.clone(), type_name: column.type_name.clone() };
    rows.columns.iter().map(column).collect()
}

/// Columns of CSV by their names.
pub(super) fn named(columns: &[FileColumn]) -> Vec<String> {
    columns.iter().map(|column| quote::name(&column.name)).collect()
}

/// Of the columns that a statement selects, those that say where a row is from.
pub(super) fn origin(rows: &StagedRows, read: ReadFile<'_>) -> Vec<String> {
    rows.columns.iter().skip(rows.width()).map(|column| read.fact(&column.name)).collect()
}

/// The values of CSV as an object of `c1`, `c2` and so on.
pub(super) fn object(columns: &[FileColumn]) -> String {
    let member = |(place, column): (usize, &FileColumn)| {
        format!("{}, {}", quote::text(&format!("c{}", place + 1)), quote::name(&column.name))
    };
    let members: Vec<String> = columns.iter().enumerate().map(member).collect();
    format!("json_object({})", members.join(", "))
}

/// `$1` and so on of a record that is one value: only the first is there.
pub(super) fn whole(rows: &StagedRows, read: ReadFile<'_>) -> Vec<String> {
    let value = |place: usize| if place == 0 { quote::name(RECORD) } else { "cast(null as json)".to_owned() };
    (0..rows.width()).map(value).chain(origin(rows, read)).collect()
}

/// What a record that is one value has for the columns of a table, or for `$1` and so on.
pub(super) fn records(rows: &StagedRows, read: ReadFile<'_>) -> Vec<Option<String>> {
    let values = if rows.selects() { whole(rows, read) } else { vec![quote::name(RECORD)] };
    values.into_iter().map(Some).collect()
}

/// The values of an object's members for the columns of a table, as texts or JSON; none of one that no object has.
pub(super) fn member_values(
    rows: &StagedRows,
    read: ReadFile<'_>,
    (keys, how): (&[String], NameMatching),
) -> Vec<Option<String>> {
    let value = |column: &Column| {
        if let Some(filling) = read.filling(rows, column) {
            return Some(filling);
        }
        let taken = if column.type_name == JSON { "json_extract" } else { "json_extract_string" };
        let member = |key: &String| {
            let pointer = quote::text(&format!("/{}", key.replace('~', "~0").replace('/', "~1")));
            format!("{taken}({}, {pointer})", quote::name(RECORD))
        };
        // one record may have another case than the next
        let members: Vec<_> = matching(&column.name, keys, how).map(member).collect();
        if members.is_empty() {
            return None;
        }
        let value = format!("coalesce({})", members.join(", "));
        Some(rows.reading.named.expression(value, &column.type_name, true))
    };
    rows.columns.iter().map(value).collect()
}

/// The values of a file of columns for those of a table; none of one that it has not.
pub(super) fn column_values(
    rows: &StagedRows,
    read: ReadFile<'_>,
    (names, how): (&[String], NameMatching),
) -> Vec<Option<String>> {
    let value = |column: &Column| {
        if let Some(filling) = read.filling(rows, column) {
            return Some(filling);
        }
        let found = quote::name(matching(&column.name, names, how).next()?);
        let value = if column.type_name == JSON { format!("to_json({found})") } else { found };
        Some(rows.reading.named.expression(value, &column.type_name, false))
    };
    rows.columns.iter().map(value).collect()
}

/// The texts of CSV with a header for the columns of a table; none of one that it has not.
pub(super) fn headed_values(
    rows: &StagedRows,
    read: ReadFile<'_>,
    (names, how): (&[String], NameMatching),
) -> Vec<Option<String>> {
    let value = |column: &Column| {
        if let Some(filling) = read.filling(rows, column) {
            return Some(filling);
        }
        let found = matching(&column.name, names, how).next()?;
        let place = names.iter().position(|name| name == found)?;
        Some(quote::name(&format!("${}", place + 1)))
    };
    rows.columns.iter().map(value).collect()
}

/// Each value as its column is read: a value that cannot be is an error.
pub(super) fn cast(rows: &StagedRows, values: &[Option<String>]) -> Vec<String> {
    let cast = |(column, value): (&Column, &Option<String>)| match value {
        Some(value) if column.type_name == JSON => value.clone(),
        Some(value) => format!("cast({value} as {})", column.type_name),
        None => format!("cast(null as {})", column.type_name),
    };
    rows.columns.iter().zip(values).map(cast).collect()
}

/// The columns of CSV with a header, each read as the column of the table that it is, and the values for the table.
pub(super) fn headed(
    rows: &StagedRows,
    file: ReadFile<'_>,
    (names, how): (&[String], NameMatching),
) -> (Vec<FileColumn>, Vec<String>) {
    let mut read = numbered(names.len());
    let mut values = Vec::with_capacity(rows.columns.len());
    for column in &rows.columns {
        if let Some(filling) = file.filling(rows, column) {
            values.push(format!("cast({filling} as {})", column.type_name));
            continue;
        }
        let found = matching(&column.name, names, how).next();
        let place = found.and_then(|found| names.iter().position(|name| name == found));
        let value = match place.and_then(|place| read.get_mut(place)) {
            Some(read) => {
                *read = FileColumn { name: column.name.clone(), type_name: column.type_name.clone() };
                quote::name(&column.name)
            }
            None => format!("cast(null as {})", column.type_name),
        };
        values.push(value);
    }
    (read, values)
}

/// The names in a file that are a column's: first as it is written, then in another case if that may be.
fn matching<'n>(column: &str, names: &'n [String], how: NameMatching) -> impl Iterator<Item = &'n String> {
    let exact = names.iter().filter(move |name| *name == column);
    let others = names.iter().filter(move |name| {
        how == NameMatching::CaseInsensitive && *name != column && name.eq_ignore_ascii_case(column)
    });
    exact.chain(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_file_is_that_of_a_column() {
        let names = ["ID".to_owned(), "id".to_owned(), "Note".to_owned()];
        let found = |column, how| matching(column, &names, how).map(String::as_str).collect::<Vec<_>>().join(" ");
        assert_eq!(found("id", NameMatching::CaseInsensitive), "id ID");
        assert_eq!(found("note", NameMatching::CaseInsensitive), "Note");
        assert_eq!(found("note", NameMatching::CaseSensitive), "");
    }
}
