//! The form of a Parquet footer, looked at before the library decodes it.
//!
//! The library takes room for as many items as a list says that it has, and goes as deep as the schema says. Where there
//! is no such room, the whole process ends. It reads a field by its number, whatever type stands there. So a footer is
//! fit if each field has the type of its number, no list says more than there is, and the schema is a tree of a few
//! levels. What has other fields is not decoded.

mod narrowed;

pub(super) use narrowed::narrowed;

/// Items of all lists together.
const ITEMS_MAX: u64 = 500_000;
/// Levels of the schema.
const LEVELS_MAX: usize = 64;

/// Structures of a footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    File,
    SchemaElement,
    LogicalType,
    Decimal,
    Time,
    Integer,
    RowGroup,
    ColumnChunk,
    ColumnMetaData,
    KeyValue,
    SortingColumn,
    Statistics,
    PageEncodingStats,
    SizeStatistics,
    /// One of several that are empty.
    Choice,
    Empty,
}

/// The kind of a field.
#[derive(Debug, Clone, Copy)]
enum FooterField {
    Flag,
    Byte,
    /// With its type in Thrift.
    Number(u8),
    Binary,
    Struct(Part),
    Numbers(u8),
    Binaries,
    Structs(Part),
}

/// Types in Thrift's compact protocol.
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;
/// What stands for a size that follows.
const LONG: u8 = 15;

/// The number of a schema element's field that says how many children it has.
const CHILDREN: u8 = 5;
/// Stands for the end of a structure, in place of a field's number.
const END: u8 = 0;

/// What the field of a number is; none of one that is not known.
const fn field(part: Part, id: u8) -> Option<FooterField> {
    use FooterField::{Binaries, Binary, Byte, Flag, Number, Numbers, Struct, Structs};
    Some(match (part, id) {
        (Part::File, 2) => Structs(Part::SchemaElement),
        (Part::File, 4) => Structs(Part::RowGroup),
        (Part::File, 5) | (Part::ColumnMetaData, 8) => Structs(Part::KeyValue),
        (Part::File, 7) => Structs(Part::Choice),
        (Part::RowGroup, 1) => Structs(Part::ColumnChunk),
        (Part::RowGroup, 4) => Structs(Part::SortingColumn),
        (Part::ColumnMetaData, 13) => Structs(Part::PageEncodingStats),
        (Part::ColumnMetaData, 2) => Numbers(I32),
        (Part::SizeStatistics, 2 | 3) => Numbers(I64),
        (Part::ColumnMetaData, 3) => Binaries,
        (Part::ColumnChunk, 3) => Struct(Part::ColumnMetaData),
        (Part::ColumnMetaData, 12) => Struct(Part::Statistics),
        (Part::ColumnMetaData, 16) => Struct(Part::SizeStatistics),
        (Part::SchemaElement, 10) => Struct(Part::LogicalType),
        (Part::LogicalType, 5) => Struct(Part::Decimal),
        (Part::LogicalType, 7 | 8) => Struct(Part::Time),
        (Part::LogicalType, 10) => Struct(Part::Integer),
        (Part::LogicalType, 1..=4 | 6 | 11..=15) | (Part::Choice, 1..=3) => Struct(Part::Empty),
        (Part::Time, 2) => Struct(Part::Choice),
        (Part::Integer, 1) => Byte,
        (Part::Time, 1) | (Part::Integer, 2) | (Part::SortingColumn, 2 | 3) | (Part::Statistics, 7 | 8) => Flag,
        (Part::RowGroup, 7) => Number(I16),
        (Part::File | Part::SchemaElement | Part::ColumnMetaData | Part::SortingColumn, 1)
        | (Part::SchemaElement, 2 | 3 | 5..=9)
        | (Part::Decimal, 1 | 2)
        | (Part::PageEncodingStats, 1..=3)
        | (Part::ColumnChunk, 5 | 7)
        | (Part::ColumnMetaData, 4 | 15) => Number(I32),
        (Part::File, 3)
        | (Part::RowGroup, 2 | 3 | 5 | 6)
        | (Part::ColumnChunk, 2 | 4 | 6)
        | (Part::ColumnMetaData, 5..=7 | 9..=11 | 14)
        | (Part::Statistics, 3 | 4)
        | (Part::SizeStatistics, 1) => Number(I64),
        (Part::File, 6)
        | (Part::ColumnChunk, 1)
        | (Part::SchemaElement, 4)
        | (Part::KeyValue, 1 | 2)
        | (Part::Statistics, 1 | 2 | 5 | 6) => Binary,
        _ => return None,
    })
}

/// Whether the library may decode it.
pub(super) fn is_fit(footer: &[u8]) -> bool {
    let mut walk = Walk::of(footer);
    walk.fields(Part::File).is_some() && is_tree(&walk.tree)
}

/// A way through a footer; none where it is not what it should be.
struct Walk<'f> {
    left: &'f [u8],
    items: u64,
    /// Of the schema element that is read.
    children: u64,
    /// How many children each schema element has.
    tree: Vec<u64>,
}

impl<'f> Walk<'f> {
    fn of(footer: &'f [u8]) -> Self {
        Self { left: footer, items: 0, children: 0, tree: Vec::new() }
    }
}

impl Walk<'_> {
    fn fields(&mut self, part: Part) -> Option<()> {
        let mut id = 0_u8;
        loop {
            let (next, kind) = self.header(id)?;
            if next == END {
                return Some(());
            }
            id = next;
            self.value(part, id, kind)?;
        }
    }

    /// The number and the type of the field behind the one of this number, or [`END`].
    fn header(&mut self, before: u8) -> Option<(u8, u8)> {
        let header = self.byte()?;
        if header == 0 {
            return Some((END, 0));
        }
        // nobody writes a number in its long form that has a short one
        let step = Some(header >> 4).filter(|step| *step > 0)?;
        Some((before.checked_add(step)?, header & 0x0f))
    }

    /// Goes past the value of a field.
    fn value(&mut self, part: Part, id: u8, found: u8) -> Option<()> {
        match (field(part, id)?, found) {
            (FooterField::Flag, 1 | 2) => {}
            (FooterField::Byte, BYTE) => self.pass(1)?,
            (FooterField::Number(kind), found) if found == kind => {
                let number = self.number()?;
                if part == Part::SchemaElement && id == CHILDREN {
                    // an odd one is less than zero
                    self.children = Some(number >> 1).filter(|_| number & 1 == 0)?;
                }
            }
            (FooterField::Binary, BINARY) => self.binary()?,
            (FooterField::Struct(inner), STRUCT) => self.fields(inner)?,
            (FooterField::Numbers(kind), LIST) => self.list(kind, |walk| walk.number().map(drop))?,
            (FooterField::Binaries, LIST) => self.list(BINARY, Self::binary)?,
            (FooterField::Structs(inner), LIST) => self.list(STRUCT, |walk| walk.item(inner))?,
            _ => return None,
        }
        Some(())
    }

    fn item(&mut self, part: Part) -> Option<()> {
        self.children = 0;
        self.fields(part)?;
        if part == Part::SchemaElement {
            self.tree.push(self.children);
        }
        Some(())
    }

    fn list(&mut self, kind: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        for _ in 0..self.size(kind)? {
            item(self)?;
        }
        Some(())
    }

    /// How many items of this type the list has that begins here.
    fn size(&mut self, kind: u8) -> Option<u64> {
        let header = self.byte()?;
        let size = match header >> 4 {
            LONG => self.number()?,
            short => u64::from(short),
        };
        if size == 0 {
            return Some(0);
        }
        self.items = self.items.checked_add(size)?;
        (header & 0x0f == kind && self.items <= ITEMS_MAX).then_some(size)
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.left.split_first()?;
        self.left = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0_u32..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn binary(&mut self) -> Option<()> {
        let length = self.number()?;
        self.pass(length)
    }

    fn pass(&mut self, bytes: u64) -> Option<()> {
        self.left = self.left.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }
}

/// Whether elements that say how many children they have are one tree of a few levels.
fn is_tree(elements: &[u64]) -> bool {
    let Some((root, others)) = elements.split_first() else { return false };
    let mut open = vec![*root];
    for children in others {
        while open.last() == Some(&0) {
            open.pop();
        }
        let Some(left) = open.last_mut() else { return false };
        *left -= 1;
        if *children > 0 {
            open.push(*children);
        }
        if open.len() > LEVELS_MAX {
            return false;
        }
    }
    open.iter().all(|left| *left == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer whose schema has elements of so many children, and that says of so many row groups.
    fn footer(children: &[u8], row_groups: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x15, 2, 0x19, 0xf0 | STRUCT, u8::try_from(children.len()).unwrap()];
        for count in children {
            // its name, and how many children it has
            bytes.extend([0x48, 1, b'a', 0x15, count * 2, 0]);
        }
        bytes.extend([0x16, 0, 0x19]);
        bytes.extend(row_groups);
        bytes.push(0);
        bytes
    }

    #[test]
    fn a_footer_that_says_more_than_it_has_is_not_fit() {
        assert!(is_fit(&footer(&[2, 0, 0], &[0])));
        assert!(is_fit(&footer(&[1, 2, 0, 0], &[STRUCT])), "an empty list of structures");
        for (what, bytes) in [
            ("row groups that are not there", footer(&[1, 0], &[0xf0 | STRUCT, 0xff, 0xff, 0xff, 0xff, 0x07])),
            ("row groups that are numbers", footer(&[1, 0], &[0x10 | I32, 0])),
            ("children that are not there", footer(&[3, 0], &[0])),
            ("a second root", footer(&[0, 0], &[0])),
            ("no schema", footer(&[], &[0])),
            ("nothing", Vec::new()),
            ("a number in place of the schema", vec![0x15, 2, 0x15, 2, 0]),
            ("a field that is not known", vec![0x15, 2, 0xa5, 2, 0]),
        ] {
            assert!(!is_fit(&bytes), "{what}");
        }
    }

    #[test]
    fn a_schema_of_many_levels_is_not_fit() {
        let nested = |levels: usize| [vec![1; levels], vec![0]].concat();
        assert!(is_fit(&footer(&nested(LEVELS_MAX), &[0])));
        assert!(!is_fit(&footer(&nested(LEVELS_MAX + 1), &[0])));
    }
}
