//! The types of PostgreSQL, by its own ids: `types.txt` has a line each, with id, name, length, category, the id of its
//! array, and what `format_type` calls it.

/// A type of `types.txt`, or the array of one.
pub struct Type {
    pub oid: u32,
    pub name: String,
    pub length: i32,
    pub category: &'static str,
    pub array: u32,
    pub item: u32,
    pub shown: String,
}

/// All of them, an array behind its item.
pub fn types() -> impl Iterator<Item = Type> {
    include_str!("../types.txt").lines().filter_map(read_type).flatten()
}

fn read_type(line: &'static str) -> Option<Vec<Type>> {
    let mut parts = line.splitn(6, ' ');
    let (oid, name, length) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?.parse().ok()?);
    let (category, array, shown) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
    // The two vectors are lists of their own kind.
    let item = match name {
        "int2vector" => 21,
        "oidvector" => 26,
        _ => 0,
    };
    let one = Type { oid, name: name.to_owned(), length, category, array, item, shown: shown.to_owned() };
    let many = Type {
        oid: array,
        name: format!("_{name}"),
        length: -1,
        category: "A",
        array: 0,
        item: oid,
        shown: format!("{shown}[]"),
    };
    Some(if array == 0 { vec![one] } else { vec![one, many] })
}
