//! The values of rows as text, column by column: for rows that are put together in another form than the protocol's.

use std::ops::Range;

use bytes::BytesMut;

use super::EncodedColumn;

/// The room that is kept for the next rows.
const KEPT_BYTES: usize = 1 << 20;

/// The texts of a column in some rows, behind one another.
#[derive(Debug, Default)]
pub struct ColumnTexts {
    bytes: BytesMut,
    /// The bytes of each; none of NULL.
    lengths: Vec<Option<usize>>,
}

impl ColumnTexts {
    /// Takes the column's texts in these rows, in place of those that were here.
    pub(super) fn fill(&mut self, column: &EncodedColumn<'_>, rows: Range<usize>) {
        self.lengths.clear();
        self.bytes.clear();
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = BytesMut::new();
        }
        for row in rows {
            let from = self.bytes.len();
            let is_null = column.is_null(row);
            if !is_null {
                column.text(row, &mut self.bytes);
            }
            self.lengths.push((!is_null).then(|| self.bytes.len() - from));
        }
    }

    /// All texts in one piece.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The text of each row; none of NULL.
    pub fn values(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut rest = self.bytes();
        self.lengths.iter().map(move |length| {
            let (value, behind) = rest.split_at_checked((*length)?)?;
            rest = behind;
            Some(value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ColumnTexts {
        /// Texts that no column has made.
        pub fn of(values: impl IntoIterator<Item = Option<Vec<u8>>>) -> Self {
            let mut texts = Self::default();
            for value in values {
                texts.lengths.push(value.as_ref().map(Vec::len));
                texts.bytes.extend_from_slice(&value.unwrap_or_default());
            }
            texts
        }
    }

    #[test]
    fn texts_come_back_one_by_one() {
        let values = [Some(b"ab".to_vec()), None, Some(Vec::new()), Some(b"c".to_vec())];
        let texts = ColumnTexts::of(values.clone());
        assert_eq!(texts.bytes(), b"abc");
        let read: Vec<_> = texts.values().map(|value| value.map(<[u8]>::to_vec)).collect();
        assert_eq!(read, values);
    }
}
