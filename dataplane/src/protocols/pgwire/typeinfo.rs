//! One question of one driver: what are these types? asyncpg asks it (`WITH RECURSIVE typeinfo_tree`)
//! before it reads its first array, over catalog tables that are not served here yet. The types that
//! this protocol ever announces are few and fixed, so it is answered from them.

use super::session::CommandReply;
use crate::encode::pg_rows::scalar::PgScalar;
use crate::encode::pg_rows::{Field, Format, PgType};

/// Name of the question's recursive query, by which it is known.
pub const NAME: &str = "typeinfo_tree";
/// Its one parameter: `oid[]`.
pub const PARAMETER: u32 = PgScalar::Oid.array();

/// The columns of the answer. Ids go out as integers and single characters as bytes, which the
/// driver reads as it would the types of the catalog.
pub fn fields() -> Vec<Field> {
    let columns = [
        ("oid", PgType::Int4),
        ("ns", PgType::Text),
        ("name", PgType::Text),
        ("kind", PgType::Bytea),
        ("basetype", PgType::Int4),
        ("elemtype", PgType::Int4),
        ("elemdelim", PgType::Bytea),
        ("range_subtype", PgType::Int4),
        ("attrtypoids", PgType::Text),
        ("attrnames", PgType::Text),
        ("depth", PgType::Int4),
        ("basetype_name", PgType::Text),
        ("elemtype_name", PgType::Text),
        ("range_subtype_name", PgType::Text),
    ];
    columns.map(|(name, kind)| Field { name: name.to_owned(), kind, format: Format::Text }).to_vec()
}

/// The types with these ids and the items of those that are arrays, items first.
pub fn answer(oids: &[u32]) -> CommandReply {
    let arrays = PgScalar::ALL.iter().filter(|item| oids.contains(&item.array()));
    let items = PgScalar::ALL.iter().filter(|item| oids.contains(&item.oid()));
    let array = |item: &PgScalar| row(&format!("_{}", item.name()), item.array(), Some((item.oid(), item.name())), 0);
    let rows: Vec<_> = arrays
        .clone()
        .map(|item| row(item.name(), item.oid(), None, 1))
        .chain(items.map(|item| row(item.name(), item.oid(), None, 0)))
        .chain(arrays.map(array))
        .collect();
    let tag = format!("SELECT {}", rows.len());
    CommandReply { fields: fields(), rows, tag }
}

fn row(name: &str, oid: u32, item: Option<(u32, &str)>, depth: u8) -> Vec<Option<String>> {
    let some = |text: &str| Some(text.to_owned());
    vec![
        Some(oid.to_string()),
        some("pg_catalog"),
        some(name),
        some("b"),
        None,
        item.map(|(oid, _)| oid.to_string()),
        item.map(|_| ",".to_owned()),
        None,
        None,
        None,
        Some(depth.to_string()),
        None,
        item.map(|(_, name)| name.to_owned()),
        None,
    ]
}

/// The ids in an `oid[]` of one dimension, in binary: dimensions, flags, item type, length, bound,
/// then each id behind its length.
pub fn ids(bytes: &[u8]) -> Option<Vec<u32>> {
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|word| word.iter().fold(0, |all, byte| (all << 8) | u32::from(*byte))).collect();
    match words.as_slice() {
        [0, _, 26] => Some(Vec::new()),
        [1, 0, 26, count, _, items @ ..] if items.len() == usize::try_from(*count).ok()?.checked_mul(2)? => {
            items.chunks_exact(2).map(|item| if let [4, oid] = item { Some(*oid) } else { None }).collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_told_with_its_items_first() {
        let reply = answer(&[1007]);
        let told: Vec<_> = reply.rows.iter().map(|row| (row[2].as_deref().unwrap(), row[5].as_deref())).collect();
        assert_eq!(told, [("int4", None), ("_int4", Some("23"))]);
        assert!(reply.rows.iter().all(|row| row.len() == reply.fields.len()));
    }

    #[test]
    fn ids_are_read_from_a_binary_array() {
        let array = [1_u32, 0, 26, 2, 1, 4, 1007, 4, 1016].map(u32::to_be_bytes).concat();
        assert_eq!(ids(&array), Some(vec![1007, 1016]));
        for words in [&[1_u32, 0, 26, 2, 1, 4, 1007][..], &[2, 0, 26], &[1, 0, 25, 0, 1], &[1, 0, 26, u32::MAX, 1]] {
            assert_eq!(ids(&words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>()), None, "{words:?}");
        }
    }
}
