//! Comments on tables, views and columns: `pg_description`, and the functions that tell it.

use super::{CatalogueEntry, CatalogueRows, CatalogueTable, Variable, map, text};
use crate::storage::catalogue::content::cell::CatalogueCell;

/// `pg_class` as the kind of thing that is described.
const CLASS: u32 = 1_259;

/// What is said of its columns, by their places from 1.
fn of_columns(one: &CatalogueEntry) -> impl Iterator<Item = (i32, &str)> {
    let places = (1..).zip(&one.columns);
    places.filter_map(|(place, column)| Some((place, column.comment.as_deref()?)))
}

impl CatalogueRows<'_> {
    pub(super) fn comment_variables(&self) -> [Variable; 2] {
        let relations = self.relations().filter_map(|(one, id)| Some((id.to_string(), text(one.comment.as_deref()?))));
        let columns = self.relations().filter(|(one, _)| of_columns(one).next().is_some()).map(|(one, id)| {
            let said = of_columns(one).map(|(place, words)| (place.to_string(), text(words)));
            (id.to_string(), map(said, "integer", "varchar"))
        });
        [
            ("comments", map(relations, "bigint", "varchar")),
            ("column_comments", map(columns, "bigint", "map(integer, varchar)")),
        ]
    }

    pub(super) fn descriptions(&self) -> CatalogueTable {
        let mut rows = Vec::new();
        for (one, id) in self.relations() {
            // the table itself is its column 0
            let said = one.comment.as_deref().map(|words| (0, words)).into_iter().chain(of_columns(one));
            rows.extend(said.map(|(place, words)| row![*id, CLASS, place, words]));
        }
        CatalogueTable { name: "pg_description", columns: "objoid, classoid, objsubid, description", rows }
    }
}
