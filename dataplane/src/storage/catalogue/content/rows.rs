//! The rows of PostgreSQL's tables for what a caller sees.

use sql::ast::quote;
use sql::compile::postgres::{RelationKind, relations};

use super::cell::CatalogueCell;
use super::ids::Ids;
use super::types::{self, Type, types};
use super::{CatalogueContent, CatalogueEntry, Sort};
use crate::encode::pg_rows::PgType;
use keys::{key_columns, key_name};

/// `pg_namespace.oid`.
const CATALOG: u32 = 11;
const INFORMATION: u32 = 13_000;
/// `pg_roles.oid` of the caller, who owns all they see.
const OWNER: u32 = 10;
const HEAP: u32 = 2;
const BTREE: u32 = 403;
const COLLATION: u32 = 100;
const OPCLASS: u32 = 10_000;
/// `pg_language.oid`.
const INTERNAL: u32 = 12;
const SQL: u32 = 14;

/// Rows of one table, by the columns they have.
#[derive(Debug)]
pub struct CatalogueTable {
    pub name: &'static str,
    /// Separated by commas.
    pub columns: &'static str,
    pub rows: Vec<Vec<CatalogueCell>>,
}

/// The name of a variable and its value, as SQL.
pub type Variable = (&'static str, String);

macro_rules! row {
    ($($cell:expr),* $(,)?) => { vec![$(CatalogueCell::from($cell)),*] };
}

mod comments;
mod defaults;
mod keys;
mod named;

/// Everything that is seen, with its ids.
pub struct CatalogueRows<'a> {
    seen: &'a CatalogueContent,
    schemas: Vec<(String, u32)>,
    listed: Vec<(&'a CatalogueEntry, u32)>,
    /// The index of a table's primary key and the key itself, beside the table.
    keys: Vec<(&'a CatalogueEntry, u32, u32, u32)>,
}

impl<'a> CatalogueRows<'a> {
    pub fn of(seen: &'a CatalogueContent) -> Self {
        let mut ids = Ids::default();
        let mut schemas = vec![("pg_catalog".to_owned(), CATALOG), ("information_schema".to_owned(), INFORMATION)];
        schemas.extend(seen.schemas.iter().map(|name| (name.clone(), ids.of(&["schema", name]))));
        let listed: Vec<_> = seen
            .listed
            .iter()
            .map(|one| {
                (
                    one,
                    ids.of(&[if one.sort == Sort::Function { "function" } else { "relation" }, &one.schema, &one.name]),
                )
            })
            .collect();
        let keyed = listed.iter().filter(|(one, _)| !one.primary_key.is_empty());
        let keys = keyed
            .map(|(one, id)| {
                (*one, *id, ids.of(&["index", &one.schema, &one.name]), ids.of(&["key", &one.schema, &one.name]))
            })
            .collect();
        Self { seen, schemas, listed, keys }
    }

    fn schema(&self, name: &str) -> u32 {
        self.schemas.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map_or(0, |(_, id)| *id)
    }

    fn relations(&self) -> impl Iterator<Item = &(&'a CatalogueEntry, u32)> {
        self.listed.iter().filter(|(one, _)| one.sort != Sort::Function)
    }

    /// What functions look up by id or by name (`functions.sql`).
    pub fn variables(&self) -> Vec<Variable> {
        let seen = self.seen;
        let settings = seen.settings.iter().map(|(name, value)| (text(&name.to_lowercase()), text(value)));
        let schema_names = self.schemas.iter().map(|(name, id)| (id.to_string(), text(name)));
        let schema_ids = self.schemas.iter().map(|(name, id)| (text(&name.to_lowercase()), id.to_string()));
        let type_names = types().map(|t| (t.oid.to_string(), text(&t.shown)));
        let type_ids = types::SPELLINGS.iter().map(|(name, id)| (text(name), id.to_string()));
        let function_names = types::functions().map(|(id, name, _)| (id.to_string(), text(name)));
        let function_ids = types::functions().map(|(id, name, _)| (text(name), id.to_string()));
        let mut all = vec![
            ("version", text(&format!("PostgreSQL 15.0 (Sluice {})", env!("CARGO_PKG_VERSION")))),
            ("session_user", text(&seen.user)),
            ("database", text(&seen.database)),
            ("schema", seen.search_path.first().map_or_else(|| text("main"), |schema| text(schema))),
            ("search_path", format!("[{}]::varchar[]", quoted(&seen.search_path))),
            ("settings", map(settings, "varchar", "varchar")),
            ("schema_names", map(schema_names, "bigint", "varchar")),
            ("schema_ids", map(schema_ids, "varchar", "bigint")),
            ("type_names", map(type_names, "bigint", "varchar")),
            ("type_ids", map(type_ids, "varchar", "bigint")),
            ("function_names", map(function_names, "bigint", "varchar")),
            ("function_ids", map(function_ids, "varchar", "bigint")),
        ];
        all.extend(self.relation_variables());
        all.extend(self.key_variables());
        all.extend(self.comment_variables());
        all
    }

    pub fn tables(&self) -> Vec<CatalogueTable> {
        let mut all = vec![self.namespaces(), self.classes(), self.attributes(), self.defaults(), self.functions()];
        all.extend([self.indexes(), self.constraints(), self.databases(), self.settings(), self.descriptions()]);
        all.extend([
            types_table(),
            fixed("pg_am", "oid, amname, amtype", vec![row![HEAP, "heap", "t"], row![BTREE, "btree", "i"]]),
        ]);
        all.push(fixed("pg_tablespace", "oid, spcname, spcowner", vec![row![1663, "pg_default", OWNER]]));
        all.push(fixed(
            "pg_collation",
            "oid, collname, collnamespace, collowner, collprovider, collisdeterministic, collencoding",
            vec![
                row![COLLATION, "default", CATALOG, OWNER, "d", true, -1],
                row![950, "C", CATALOG, OWNER, "c", true, -1],
            ],
        ));
        let languages = vec![row![INTERNAL, "internal", OWNER], row![SQL, "sql", OWNER]];
        all.push(fixed("pg_language", "oid, lanname, lanowner", languages));
        all.push(fixed(
            "pg_opclass",
            "oid, opcmethod, opcname, opcnamespace, opcowner, opcdefault",
            vec![row![OPCLASS, BTREE, "default_ops", CATALOG, OWNER, true]],
        ));
        all
    }

    fn namespaces(&self) -> CatalogueTable {
        let rows = self.schemas.iter().map(|(name, id)| row![*id, name.as_str(), OWNER]).collect();
        CatalogueTable { name: "pg_namespace", columns: "oid, nspname, nspowner", rows }
    }

    fn classes(&self) -> CatalogueTable {
        let row = |id: u32, name: &str, schema: u32, kind: &str, columns: usize, indexed: bool, am: u32| {
            let columns = i32::try_from(columns).unwrap_or(i32::MAX);
            let pages = CatalogueCell::Number(0);
            let mut row = row![id, name, schema, OWNER, am, kind, columns, indexed, "p", "d", true];
            row.extend([pages, CatalogueCell::Number(-1)]);
            row
        };
        let catalogs = catalogs().filter(|(id, ..)| *id != 0).map(|(id, name, schema, kind)| {
            let kind = if kind == RelationKind::Table { "r" } else { "v" };
            let columns =
                relations().find(|relation| relation.name == name).map_or(0, |relation| relation.columns().count());
            row(id, &name, self.schema(&schema), kind, columns, false, if kind == "r" { HEAP } else { 0 })
        });
        let listed = self.relations().map(|(one, id)| {
            let (kind, am) = match one.sort {
                Sort::Table => ("r", HEAP),
                Sort::View => ("v", 0),
                Sort::Sequence | Sort::Function => ("S", 0),
            };
            row(*id, &one.name, self.schema(&one.schema), kind, one.columns.len(), !one.primary_key.is_empty(), am)
        });
        let indexes = self.keys.iter().map(|(one, _, index, _)| {
            row(*index, &key_name(one), self.schema(&one.schema), "i", one.primary_key.len(), false, BTREE)
        });
        let rows = catalogs.chain(listed).chain(indexes).collect();
        let columns = "oid, relname, relnamespace, relowner, relam, relkind, relnatts, relhasindex, relpersistence, \
            relreplident, relispopulated, relpages, reltuples";
        CatalogueTable { name: "pg_class", columns, rows }
    }

    fn attributes(&self) -> CatalogueTable {
        let mut rows = Vec::new();
        let tables = self.relations().map(|(one, id)| (one, *id, one.columns.iter().collect()));
        let indexes = self.keys.iter().map(|(one, _, index, _)| (one, *index, key_columns(one)));
        for (one, id, columns) in tables.chain(indexes) {
            let columns: Vec<&sql::Column> = columns;
            for (column, place) in columns.into_iter().zip(1_i32..) {
                let kind = PgType::from_engine(&column.type_name);
                let (oid, modifier) = of_spelled(column).unwrap_or((kind.oid(), kind.modifier()));
                let dimensions = i32::from(matches!(kind, PgType::Array(_)));
                let is_key = one.primary_key.iter().any(|name| name.eq_ignore_ascii_case(&column.name));
                rows.push(row![
                    id,
                    column.name.as_str(),
                    oid,
                    i32::from(kind.size()),
                    place,
                    modifier,
                    dimensions,
                    !column.nullable || is_key,
                    true,
                    if kind == PgType::Text { COLLATION } else { 0 },
                    if column.default == Some(sql::DefaultValue::Counted) { "d" } else { "" },
                    "",
                    "x",
                    -1,
                    matches!(column.default, Some(sql::DefaultValue::Expression(_))),
                ]);
            }
        }
        let columns = "attrelid, attname, atttypid, attlen, attnum, atttypmod, attndims, attnotnull, attislocal, \
            attcollation, attidentity, attgenerated, attstorage, attstattarget, atthasdef";
        CatalogueTable { name: "pg_attribute", columns, rows }
    }

    fn functions(&self) -> CatalogueTable {
        let of_types = types::functions()
            .map(|(id, name, returned)| row![id, name, CATALOG, OWNER, INTERNAL, "f", "i", "s", returned]);
        let functions = self.listed.iter().filter(|(one, _)| one.sort == Sort::Function);
        let functions = functions
            .map(|(one, id)| row![*id, one.name.as_str(), self.schema(&one.schema), OWNER, SQL, "f", "v", "u", 705]);
        let rows = of_types.chain(functions).collect();
        let columns = "oid, proname, pronamespace, proowner, prolang, prokind, provolatile, proparallel, prorettype";
        CatalogueTable { name: "pg_proc", columns, rows }
    }

    fn databases(&self) -> CatalogueTable {
        let mut row = row![5, self.seen.database.as_str(), OWNER, 6, "c", true, -1, 1663, "C.UTF-8", "C.UTF-8"];
        row.push(CatalogueCell::Null);
        let columns = "oid, datname, datdba, encoding, datlocprovider, datallowconn, datconnlimit, dattablespace, \
            datcollate, datctype, datacl";
        CatalogueTable { name: "pg_database", columns, rows: vec![row] }
    }

    fn settings(&self) -> CatalogueTable {
        let rows = self.seen.settings.iter().map(|(name, value)| {
            row![name.as_str(), value.as_str(), "string", "user", "default", value.as_str(), value.as_str()]
        });
        let columns = "name, setting, vartype, context, source, boot_val, reset_val";
        CatalogueTable { name: "pg_settings", columns, rows: rows.collect() }
    }
}

/// What the column is declared as, where the engine has another type: `jsonb`, or `character varying` with the modifier that
/// says how long its texts are.
fn of_spelled(column: &sql::Column) -> Option<(u32, i32)> {
    use sql::catalog::column_comment::SpelledType;
    const VARCHAR: u32 = 1043;
    match column.spelled {
        Some(SpelledType::Varchar) => return Some((VARCHAR, -1)),
        Some(SpelledType::Jsonb) => return Some((PgType::Jsonb.oid(), -1)),
        None => {}
    }
    let length = sql::catalog::column_comment::length_named(&column.type_name)?;
    // PostgreSQL has no longer ones
    Some((VARCHAR, i32::try_from(length).ok()?.checked_add(4)?))
}

fn text(text: &str) -> String {
    quote::text(text)
}

/// Texts beside one another.
fn quoted(texts: &[String]) -> String {
    texts.iter().map(|one| text(one)).collect::<Vec<_>>().join(", ")
}

fn fixed(name: &'static str, columns: &'static str, rows: Vec<Vec<CatalogueCell>>) -> CatalogueTable {
    CatalogueTable { name, columns, rows }
}

/// `map([…], […])` with its types, which an empty one would not have.
fn map(entries: impl Iterator<Item = (String, String)>, key: &str, value: &str) -> String {
    let (keys, values): (Vec<_>, Vec<_>) = entries.unzip();
    format!("map([{}]::{key}[], [{}]::{value}[])", keys.join(", "), values.join(", "))
}

/// PostgreSQL's own tables: id, name, schema.
fn catalogs() -> impl Iterator<Item = (u32, String, String, RelationKind)> {
    let all = relations();
    all.filter(|relation| relation.oid != 0)
        .map(|relation| (relation.oid, relation.name.to_owned(), relation.schema.to_owned(), relation.kind))
}

fn types_table() -> CatalogueTable {
    let row = |t: Type| {
        let kind = if t.category == "P" || t.category == "X" { "p" } else { "b" };
        let is_preferred = matches!(t.oid, 25 | 26 | 16 | 701 | 1184 | 1186 | 869 | 1562);
        let [input, output, receive, send] = t.functions;
        let by_value = (1..=8).contains(&t.length) && t.oid != 27;
        row![
            t.oid,
            t.name.as_str(),
            CATALOG,
            OWNER,
            t.length,
            kind,
            t.category,
            is_preferred,
            true,
            ",",
            t.item,
            t.array,
            -1,
            by_value,
            if matches!(t.oid, 25 | 1042 | 1043) { COLLATION } else { 0 },
            input,
            output,
            receive,
            send,
        ]
    };
    let columns = "oid, typname, typnamespace, typowner, typlen, typtype, typcategory, typispreferred, typisdefined, \
        typdelim, typelem, typarray, typtypmod, typbyval, typcollation, typinput, typoutput, typreceive, typsend";
    CatalogueTable { name: "pg_type", columns, rows: types().map(row).collect() }
}
