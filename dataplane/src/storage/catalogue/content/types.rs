//! The types of PostgreSQL, by its own ids: `types.txt` has a line each, with id, name, length, category, the id of its
//! array, the ids of the functions that read and write it, and what `format_type` calls it. Drivers know a type's
//! format by those functions: `functions.txt` has id, name and returned type of each.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A type of `types.txt`, or the array of one.
pub struct Type {
    pub oid: u32,
    pub name: String,
    pub length: i32,
    pub category: &'static str,
    pub array: u32,
    pub item: u32,
    /// From text, to text, from bytes, to bytes; 0 where there is none.
    pub functions: [u32; 4],
    pub shown: String,
}

/// Those of every array: `array_in`, `array_out`, `array_recv`, `array_send`.
const OF_ARRAYS: [u32; 4] = [750, 751, 2400, 2401];

/// Id, name and returned type of the functions that types have.
pub fn functions() -> impl Iterator<Item = (u32, &'static str, u32)> {
    include_str!("../functions.txt").lines().filter_map(|line| {
        let mut parts = line.split(' ');
        Some((parts.next()?.parse().ok()?, parts.next()?, parts.next()?.parse().ok()?))
    })
}

/// Further names of types.
const ALIASES: [(&str, &str); 6] = [
    ("int", "int4"),
    ("decimal", "numeric"),
    ("dec", "numeric"),
    ("float", "float8"),
    ("char", "bpchar"),
    ("national character varying", "varchar"),
];

/// Every name of a type, without its sizes, with its id.
pub static SPELLINGS: LazyLock<BTreeMap<String, u32>> = LazyLock::new(|| {
    let mut ids = BTreeMap::new();
    for one in types() {
        // without quotes that is `character`
        let own = (one.name != "char").then(|| one.name.clone());
        let aliases = ALIASES.iter().filter(|(_, name)| *name == one.name).map(|(alias, _)| (*alias).to_owned());
        for name in own.into_iter().chain([one.shown]).chain(aliases) {
            if one.array != 0 {
                ids.insert(format!("{name}[]"), one.array);
            }
            ids.insert(name, one.oid);
        }
    }
    ids
});

/// The id of a type by any of its names: `int`, `pg_catalog.int4[]`, `numeric(9, 2)`.
pub fn type_id(spelled: &str) -> Option<u32> {
    let lower = spelled.trim().to_lowercase();
    let name = lower.strip_prefix("pg_catalog.").unwrap_or(&lower);
    let name = match (name.split_once('('), name.rsplit_once(')')) {
        (Some((before, _)), Some((_, behind))) => format!("{}{behind}", before.trim_end()),
        _ => name.to_owned(),
    };
    SPELLINGS.get(name.trim()).copied()
}

/// All of them, an array behind its item.
pub fn types() -> impl Iterator<Item = Type> {
    include_str!("../types.txt").lines().filter_map(read_type).flatten()
}

fn read_type(line: &'static str) -> Option<Vec<Type>> {
    let mut parts = line.splitn(10, ' ');
    let (oid, name, length) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?.parse().ok()?);
    let (category, array) = (parts.next()?, parts.next()?.parse().ok()?);
    let mut function = || parts.next()?.parse().ok();
    let functions = [function()?, function()?, function()?, function()?];
    let shown = parts.next()?;
    // The two vectors are lists of their own kind.
    let item = match name {
        "int2vector" => 21,
        "oidvector" => 26,
        _ => 0,
    };
    let one = Type { oid, name: name.to_owned(), length, category, array, item, functions, shown: shown.to_owned() };
    let many = Type {
        oid: array,
        name: format!("_{name}"),
        length: -1,
        category: "A",
        array: 0,
        item: oid,
        functions: OF_ARRAYS,
        shown: format!("{shown}[]"),
    };
    Some(if array == 0 { vec![one] } else { vec![one, many] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_its_id_by_each_of_its_names() {
        let cases = [
            ("int", 23),
            ("INTEGER[]", 1007),
            ("pg_catalog.int4[]", 1007),
            ("_int4", 1007),
            ("char", 1042),
            ("\"char\"", 18),
            ("character varying(10)", 1043),
            ("timestamp(3) with time zone", 1184),
            ("numeric(9, 2)[]", 1231),
            ("double precision", 701),
        ];
        for (spelled, id) in cases {
            assert_eq!(type_id(spelled), Some(id), "{spelled}");
        }
        assert_eq!(type_id("nothing"), None);
    }

    #[test]
    fn every_line_is_a_type_whose_functions_are_listed() {
        let lines = include_str!("../types.txt").lines().count();
        assert_eq!(types().filter(|one| one.functions != OF_ARRAYS).count(), lines);
        assert_eq!(functions().count(), include_str!("../functions.txt").lines().count());
        for one in types() {
            let is_listed = |id: &u32| *id == 0 || functions().any(|(listed, ..)| listed == *id);
            assert!(one.functions.iter().all(is_listed), "{}", one.name);
        }
    }
}
