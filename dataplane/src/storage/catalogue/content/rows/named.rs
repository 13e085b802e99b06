//! Names of relations: by their ids, and which of them are found without a schema.

use std::collections::HashMap;

use super::{CatalogueEntry, CatalogueRows, Variable, catalogs, map, text};

impl CatalogueRows<'_> {
    /// Tables by id and by name; which of them need no schema.
    pub(super) fn relation_variables(&self) -> [Variable; 3] {
        let place = |one: &CatalogueEntry| {
            self.seen.search_path.iter().position(|schema| one.schema.eq_ignore_ascii_case(schema))
        };
        // the first of the path that has the name
        let mut homes: HashMap<String, usize> = HashMap::new();
        for (one, _) in &self.listed {
            if let Some(place) = place(one) {
                let first = homes.entry(one.name.to_lowercase()).or_insert(place);
                *first = place.min(*first);
            }
        }
        let is_home =
            |one: &CatalogueEntry| place(one).is_some_and(|place| homes.get(&one.name.to_lowercase()) == Some(&place));
        let path = |one: &CatalogueEntry| format!("{}.{}", one.schema, one.name);
        let mut names: Vec<(u32, String)> = catalogs().map(|(id, name, _, _)| (id, name)).collect();
        names.extend(self.relations().map(|(one, id)| (*id, if is_home(one) { one.name.clone() } else { path(one) })));
        let mut ids: Vec<(String, u32)> =
            catalogs().flat_map(|(id, name, schema, _)| [(format!("{schema}.{name}"), id), (name, id)]).collect();
        for (one, id) in self.relations() {
            ids.push((path(one).to_lowercase(), *id));
            if is_home(one) {
                ids.push((one.name.to_lowercase(), *id));
            }
        }
        ids.sort();
        ids.dedup_by(|one, other| one.0 == other.0);
        let visible = self.listed.iter().filter(|(one, _)| is_home(one)).map(|(_, id)| *id);
        let visible: Vec<_> = visible.chain(catalogs().map(|(id, ..)| id)).map(|id| id.to_string()).collect();
        let names = names.iter().map(|(id, name)| (id.to_string(), text(name)));
        let ids = ids.iter().map(|(name, id)| (text(name), id.to_string()));
        [
            ("relation_names", map(names, "bigint", "varchar")),
            ("relation_ids", map(ids, "varchar", "bigint")),
            ("visible", format!("[{}]::bigint[]", visible.join(", "))),
        ]
    }
}
