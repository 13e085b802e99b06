//! A footer of some columns alone, made of another without decoding it.
//!
//! The engine reads the whole footer each time that it plans a statement over a file, and once more as it runs it. Of a
//! file with many columns and row groups that takes longer than all else, while few of the columns are asked for.

use super::{CHILDREN, END, LONG, Part, STRUCT, Walk};

/// Fields of the file: its schema, its row groups, and how each of its columns is ordered, which the engine does not ask.
const SCHEMA: u8 = 2;
const ROW_GROUPS: u8 = 4;
const ORDERS: u8 = 7;
/// Fields of a row group: its chunks, the places of the columns that it is sorted by, and the bytes of all its chunks.
const CHUNKS: u8 = 1;
const SORTED_BY: u8 = 4;
const ALL_BYTES: u8 = 6;
/// As far as one field's number may be from the one before.
const STEP_MAX: u8 = 15;

/// A field's value as it is kept.
enum Kept<'f> {
    Same(&'f [u8]),
    Other(Vec<u8>),
    Nothing,
}

/// The footer with the columns that are kept, by their places; none of one that is not fit.
pub(in super::super) fn narrowed(footer: &[u8], keeps: &[bool]) -> Option<Vec<u8>> {
    let mut walk = Walk::of(footer);
    let mut leaves = Vec::new();
    copied(&mut walk, |walk, id, kind| match id {
        SCHEMA => {
            let (elements, found) = schema(walk, keeps)?;
            leaves = found;
            Some(Kept::Other(elements))
        }
        ROW_GROUPS => row_groups(walk, &leaves).map(Kept::Other),
        ORDERS => walk.value(Part::File, id, kind).map(|()| Kept::Nothing),
        _ => same(walk, Part::File, (id, kind)),
    })
}

/// A structure whose fields are kept so.
fn copied<'f>(walk: &mut Walk<'f>, mut keep: impl FnMut(&mut Walk<'f>, u8, u8) -> Option<Kept<'f>>) -> Option<Vec<u8>> {
    let (mut bytes, mut id, mut written) = (Vec::new(), 0, 0);
    loop {
        let (next, kind) = walk.header(id)?;
        if next == END {
            bytes.push(0);
            return Some(bytes);
        }
        id = next;
        let value = match keep(walk, id, kind)? {
            Kept::Nothing => continue,
            Kept::Same(value) => value.to_vec(),
            Kept::Other(value) => value,
        };
        let step = id.checked_sub(written).filter(|step| *step <= STEP_MAX)?;
        bytes.push((step << 4) | kind);
        bytes.extend(value);
        written = id;
    }
}

fn same<'f>(walk: &mut Walk<'f>, part: Part, (id, kind): (u8, u8)) -> Option<Kept<'f>> {
    taken(walk, |walk| walk.value(part, id, kind)).map(Kept::Same)
}

/// The bytes that are gone through so.
fn taken<'f>(walk: &mut Walk<'f>, go: impl FnOnce(&mut Walk<'f>) -> Option<()>) -> Option<&'f [u8]> {
    let before = walk.left;
    go(walk)?;
    before.get(..before.len().checked_sub(walk.left.len())?)
}

/// The elements of the columns that are kept, and for each leaf of all columns whether it is one of these.
fn schema(walk: &mut Walk<'_>, keeps: &[bool]) -> Option<(Vec<u8>, Vec<bool>)> {
    let size = walk.size(STRUCT)?;
    let columns = keeps.iter().filter(|is_kept| **is_kept).count();
    let mut elements = copied(walk, |walk, id, kind| match id {
        CHILDREN => {
            walk.value(Part::SchemaElement, id, kind)?;
            Some(Kept::Other(number(u64::try_from(columns).ok()?.checked_mul(2)?)))
        }
        _ => same(walk, Part::SchemaElement, (id, kind)),
    })?;
    let (mut read, mut kept, mut leaves) = (1_u64, 1_u64, Vec::new());
    for is_kept in keeps {
        let mut open = 1_u64;
        while open > 0 {
            let element = taken(walk, |walk| walk.item(Part::SchemaElement))?;
            read += 1;
            open = (open - 1).checked_add(walk.children)?;
            if walk.children == 0 {
                leaves.push(*is_kept);
            }
            if *is_kept {
                elements.extend_from_slice(element);
                kept += 1;
            }
        }
    }
    (read == size).then(|| (list(kept, &elements), leaves))
}

fn row_groups(walk: &mut Walk<'_>, leaves: &[bool]) -> Option<Vec<u8>> {
    let size = walk.size(STRUCT)?;
    let mut groups = Vec::new();
    for _ in 0..size {
        groups.extend(copied(walk, |walk, id, kind| match id {
            CHUNKS => chunks(walk, leaves).map(Kept::Other),
            SORTED_BY | ALL_BYTES => walk.value(Part::RowGroup, id, kind).map(|()| Kept::Nothing),
            _ => same(walk, Part::RowGroup, (id, kind)),
        })?);
    }
    Some(list(size, &groups))
}

/// The chunks of the leaves that are kept.
fn chunks(walk: &mut Walk<'_>, leaves: &[bool]) -> Option<Vec<u8>> {
    let size = walk.size(STRUCT)?;
    if usize::try_from(size).ok()? != leaves.len() {
        return None;
    }
    let (mut chunks, mut kept) = (Vec::new(), 0_u64);
    for is_kept in leaves {
        let chunk = taken(walk, |walk| walk.item(Part::ColumnChunk))?;
        if *is_kept {
            chunks.extend_from_slice(chunk);
            kept += 1;
        }
    }
    Some(list(kept, &chunks))
}

/// A list of so many structures.
fn list(size: u64, items: &[u8]) -> Vec<u8> {
    let mut bytes = match u8::try_from(size) {
        Ok(short) if short < LONG => vec![(short << 4) | STRUCT],
        _ => [vec![(LONG << 4) | STRUCT], number(size)].concat(),
    };
    bytes.extend_from_slice(items);
    bytes
}

/// A number, seven bits in each byte.
fn number(number: u64) -> Vec<u8> {
    let (mut bytes, mut left) = (Vec::new(), number);
    loop {
        let [low, ..] = left.to_le_bytes();
        left >>= 7;
        if left == 0 {
            bytes.push(low & 0x7f);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure of the schema with its name and how many children it has, if it says that.
    fn element(name: u8, children: Option<u8>) -> Vec<u8> {
        let count = children.map(|count| vec![0x15, count * 2]).unwrap_or_default();
        [vec![0x48, 1, name], count, vec![0]].concat()
    }

    /// A chunk that says where it begins.
    fn chunk(place: u8) -> Vec<u8> {
        vec![0x26, place * 2, 0]
    }

    fn structures(items: &[Vec<u8>]) -> Vec<u8> {
        list(u64::try_from(items.len()).unwrap(), &items.concat())
    }

    /// A footer of these elements, and one row group of these chunks with fields behind.
    fn footer(elements: &[Vec<u8>], chunks: &[Vec<u8>], behind: &[u8]) -> Vec<u8> {
        let group = [vec![0x19], structures(chunks), behind.to_vec(), vec![0]].concat();
        let schema = [vec![0x15, 2, 0x19], structures(elements)].concat();
        [schema, vec![0x16, 8, 0x19], structures(&[group]), vec![0]].concat()
    }

    #[test]
    fn the_columns_that_are_kept_are_all_that_a_footer_has() {
        let (a, b, c) = (element(b'a', None), element(b'b', Some(2)), element(b'c', None));
        let leaves = [element(b'x', None), element(b'y', Some(0))];
        let elements = [vec![element(b'r', Some(3)), a.clone(), b.clone()], leaves.to_vec(), vec![c.clone()]].concat();
        let chunks = [1, 2, 3, 4].map(chunk);
        // bytes, rows, no column that it is sorted by, bytes of all chunks
        let whole = footer(&elements, &chunks, &[0x16, 20, 0x16, 8, 0x19, STRUCT, 0x26, 40]);
        let told = [0x16, 20, 0x16, 8];
        let outer = footer(&[element(b'r', Some(2)), a, c], &[chunk(1), chunk(4)], &told);
        assert_eq!(narrowed(&whole, &[true, false, true]).unwrap(), outer);
        let nested = [vec![element(b'r', Some(1)), b], leaves.to_vec()].concat();
        let nested = footer(&nested, &[chunk(2), chunk(3)], &told);
        assert_eq!(narrowed(&whole, &[false, true, false]).unwrap(), nested);
        assert_eq!(narrowed(&whole, &[true, true]), None, "it has another column");
        assert_eq!(narrowed(&whole, &[true; 4]), None, "it has not so many columns");
        assert_eq!(narrowed(&whole[..whole.len() - 1], &[true; 3]), None, "it ends too early");
    }

    #[test]
    fn a_chunk_is_of_each_leaf() {
        let elements = [element(b'r', Some(2)), element(b'a', None), element(b'b', None)];
        assert_eq!(narrowed(&footer(&elements, &[chunk(1)], &[]), &[true, false]), None);
    }

    #[test]
    fn long_lists_have_their_size_in_more_bytes() {
        let columns: Vec<Vec<u8>> = (0..200).map(|_| element(b'c', None)).collect();
        let elements = |count: usize| {
            // its children are so many, twice, in two bytes
            let twice = number(u64::try_from(count * 2).unwrap());
            let root = [vec![0x48, 1, b'r', 0x15], twice, vec![0]].concat();
            [vec![root], columns[..count].to_vec()].concat()
        };
        let chunks: Vec<Vec<u8>> = (0..200).map(|_| chunk(1)).collect();
        let keeps: Vec<bool> = (0..200).map(|place| place < 150).collect();
        let found = narrowed(&footer(&elements(200), &chunks, &[]), &keeps);
        assert_eq!(found.unwrap(), footer(&elements(150), &chunks[..150], &[]));
        assert_eq!([number(0), number(127), number(300)], [vec![0], vec![0x7f], vec![0xac, 0x02]]);
    }
}
