//! What columns give to rows: a piece of bytes for each row, one behind the other, and the rows that are put together.
//!
//! A column is written in one go, so that its type is looked at once and not at each value. A piece is what stands in the
//! row, with all that is around it, such as its length or the sign behind it. Rows are then nothing but their pieces.
//! Texts that stand in rows as they are in their array are copied there alone.

use std::ops::Range;
use std::slice;

use arrow::array::{RecordBatch, StringArray};
use arrow::buffer::Buffer;
use bytes::BytesMut;

use super::batch_bytes::batch_bytes;

/// A piece of no more bytes is copied as if it had so many, which takes one move.
const SHORT: usize = 16;
/// The room that is kept for the pieces of the next rows, by all columns together.
const KEPT_BYTES: usize = 1 << 20;
/// Bytes that are looked at together.
const LOOK_BYTES: usize = 256;
/// Rows that are written at a time, and about how many bytes they have in the batch.
const SHARE_ROWS: usize = 1_024;
const SHARE_BYTES: usize = 256 << 10;
/// A value has at least so many in its row: its length, or a sign and what stands for NULL.
const VALUE_BYTES: usize = 4;

/// The pieces of a column in some rows.
#[derive(Debug, Default)]
pub struct ColumnPieces {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    /// Texts that stay where they are, in place of those bytes.
    lent: Option<LentTexts>,
}

/// Texts in the memory of their array.
#[derive(Debug)]
struct LentTexts {
    texts: Buffer,
    /// Where the first of them begins.
    start: usize,
    frame: TextFrame,
}

/// What stands around a text in its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFrame {
    /// Its length before it, in four bytes.
    Length,
    /// A sign behind it.
    Sign(u8),
}

impl TextFrame {
    const fn length(self) -> usize {
        match self {
            Self::Length => size_of::<u32>(),
            Self::Sign(_) => 1,
        }
    }
}

impl ColumnPieces {
    /// Writes the piece of each of these rows, in place of those that are here.
    pub fn fill(&mut self, rows: Range<usize>, mut write: impl FnMut(usize, &mut Vec<u8>)) {
        self.clear();
        self.ends.reserve(rows.len());
        for row in rows {
            write(row, &mut self.bytes);
            self.ends.push(self.bytes.len());
        }
    }

    /// Takes the texts of these rows, of which none is NULL, without a copy, in place of those that are here.
    pub fn lend(&mut self, texts: &StringArray, rows: &Range<usize>, frame: TextFrame) {
        self.clear();
        let places = texts.value_offsets().get(rows.start..=rows.end).unwrap_or_default();
        let mut places = places.iter().map(|place| usize::try_from(*place).unwrap_or(0));
        let start = places.next().unwrap_or(0);
        self.ends.extend(places);
        self.lent = Some(LentTexts { texts: texts.values().clone(), start, frame });
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.lent = None;
    }

    /// Bytes that it has room for.
    fn room(&self) -> usize {
        self.bytes.capacity()
    }

    /// Bytes that all of them have in their rows.
    fn length(&self) -> usize {
        let end = self.ends.last().copied().unwrap_or(0);
        let of_lent = |lent: &LentTexts| end.saturating_sub(lent.start) + self.ends.len() * lent.frame.length();
        self.lent.as_ref().map_or(end, of_lent)
    }

    fn open(&self) -> OpenPieces<'_> {
        let (bytes, start, frame) = match &self.lent {
            Some(lent) => (lent.texts.as_slice(), lent.start, Some(lent.frame)),
            None => (self.bytes.as_slice(), 0, None),
        };
        OpenPieces { bytes, ends: self.ends.iter(), start, frame }
    }
}

/// Makes place for so many columns. Much room is given back: each of them may have been the long one once.
pub fn make_room(taken: &mut Vec<ColumnPieces>, width: usize) {
    if taken.iter().map(ColumnPieces::room).sum::<usize>() > KEPT_BYTES {
        taken.clear();
    }
    taken.resize_with(width, ColumnPieces::default);
}

/// How many rows of a batch are written at a time: fewer of long ones, as they are there with all their columns.
pub fn share(batch: &RecordBatch) -> usize {
    if batch.num_rows() == 1 {
        return 1; // most answers by a key: it need not be weighed
    }
    let values = batch_bytes(batch) / batch.num_rows().max(1);
    let each = values.saturating_add(VALUE_BYTES * batch.num_columns());
    (SHARE_BYTES / each.max(1)).clamp(1, SHARE_ROWS)
}

/// Pieces of which some are in rows already.
struct OpenPieces<'a> {
    bytes: &'a [u8],
    ends: slice::Iter<'a, usize>,
    start: usize,
    /// Of texts that are lent.
    frame: Option<TextFrame>,
}

impl OpenPieces<'_> {
    /// Copies the next one to this place, behind which there is room; where it ends.
    fn copy(&mut self, out: &mut [u8], mut at: usize) -> usize {
        let Some(end) = self.ends.next().copied() else { return at };
        let start = std::mem::replace(&mut self.start, end);
        let length = end.saturating_sub(start);
        if self.frame == Some(TextFrame::Length) {
            if let Some(place) = out.get_mut(at..).and_then(|bytes| bytes.first_chunk_mut::<4>()) {
                // Texts are far below 4 GB: an array's offsets are of 31 bits.
                *place = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
            }
            at += TextFrame::Length.length();
        }
        let behind = self.bytes.get(start..).filter(|_| length <= SHORT);
        if let Some(from) = behind.and_then(|bytes| bytes.first_chunk::<SHORT>()) {
            if let Some(to) = out.get_mut(at..).and_then(|bytes| bytes.first_chunk_mut::<SHORT>()) {
                *to = *from;
            }
        } else if let (Some(to), Some(from)) = (out.get_mut(at..at + length), self.bytes.get(start..end)) {
            to.copy_from_slice(from);
        }
        at += length;
        if let Some(TextFrame::Sign(sign)) = self.frame {
            if let Some(place) = out.get_mut(at) {
                *place = sign;
            }
            at += 1;
        }
        at
    }
}

/// What stands before the pieces of each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowHead {
    None,
    /// The letter of a message, and the row's length.
    Message(u8),
    /// The same, and how many values it has.
    Counted(u8, u16),
}

impl RowHead {
    /// Of a row with so many values.
    pub fn counted(kind: u8, values: usize) -> Self {
        Self::Counted(kind, u16::try_from(values).unwrap_or(u16::MAX))
    }

    const fn length(self) -> usize {
        match self {
            Self::None => 0,
            Self::Message(_) => 5,
            Self::Counted(..) => 7,
        }
    }

    /// Writes it to the front of a row of so many bytes, itself among them.
    fn write(self, row: &mut [u8], length: usize) {
        let (kind, count) = match self {
            Self::None => return,
            Self::Message(kind) => (kind, None),
            Self::Counted(kind, count) => (kind, Some(count)),
        };
        // Messages are far below 2 GB: rows by the engine's limit of a frame. The letter does not count.
        let told = u32::try_from(length.saturating_sub(1)).unwrap_or(u32::MAX);
        if let Some((first, [a, b, c, d, behind @ ..])) = row.split_first_mut() {
            *first = kind;
            [*a, *b, *c, *d] = told.to_be_bytes();
            if let (Some(count), [high, low, ..]) = (count, behind) {
                [*high, *low] = count.to_be_bytes();
            }
        }
    }
}

/// Appends so many rows that are made of the pieces of these columns.
pub fn rows(out: &mut BytesMut, columns: &[ColumnPieces], count: usize, head: RowHead) {
    let before = out.len();
    let bytes: usize = columns.iter().map(ColumnPieces::length).sum();
    // one more, for what is copied with the last piece
    out.resize(before + bytes + count * head.length() + SHORT, 0);
    let mut open: Vec<_> = columns.iter().map(ColumnPieces::open).collect();
    let mut at = before;
    let place: &mut [u8] = out;
    for _ in 0..count {
        let start = at;
        at += head.length();
        for column in &mut open {
            at = column.copy(place, at);
        }
        // behind its pieces: with those of the row before, bytes of its place were written
        if let Some(row) = place.get_mut(start..at) {
            head.write(row, at - start);
        }
    }
    out.truncate(at);
}

/// Lets go of pieces that are in their rows, and of lent texts: whoever waits for more keeps no batch for them.
pub fn give_back(columns: &mut [ColumnPieces]) {
    columns.iter_mut().for_each(ColumnPieces::clear);
}

/// The texts of these rows in one piece, with what lies there for NULL.
pub fn between<'a>(texts: &'a StringArray, rows: &Range<usize>) -> Option<&'a [u8]> {
    let end = |at: usize| texts.value_offsets().get(at).and_then(|end| usize::try_from(*end).ok());
    texts.value_data().get(end(rows.start)?..end(rows.end)?)
}

/// Whether any of the bytes is so. It comes to no end before the last of a chunk, so that many are compared at a time.
pub fn has_any(bytes: &[u8], is_so: impl Fn(u8) -> bool) -> bool {
    bytes.chunks(LOOK_BYTES).any(|chunk| chunk.iter().fold(false, |found, byte| found | is_so(*byte)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, NullArray};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn pieces(of: &[Vec<u8>]) -> ColumnPieces {
        let mut pieces = ColumnPieces::default();
        pieces.fill(0..of.len(), |row, out| out.extend_from_slice(&of[row]));
        pieces
    }

    proptest! {
        #[test]
        fn rows_are_their_pieces_one_behind_the_other(
            table in (0..4_usize, 0..6_usize).prop_flat_map(|(width, count)| {
                let piece = prop_oneof![3 => vec(any::<u8>(), 0..SHORT + 2), 1 => vec(any::<u8>(), 0..100)];
                (vec(vec(piece, count), width), Just(count))
            }),
        ) {
            let (columns, count) = table;
            let taken: Vec<_> = columns.iter().map(|column| pieces(column)).collect();
            for head in [RowHead::None, RowHead::Message(b'd'), RowHead::Counted(b'D', 3)] {
                let mut expected = b"before".to_vec();
                for row in 0..count {
                    let body: Vec<u8> = columns.iter().flat_map(|column| column[row].clone()).collect();
                    let length = u32::try_from(body.len() + head.length().saturating_sub(1)).unwrap();
                    if let RowHead::Message(kind) | RowHead::Counted(kind, _) = head {
                        expected.push(kind);
                        expected.extend(length.to_be_bytes());
                    }
                    if let RowHead::Counted(_, values) = head {
                        expected.extend(values.to_be_bytes());
                    }
                    expected.extend(body);
                }
                let mut out = BytesMut::from(&b"before"[..]);
                rows(&mut out, &taken, count, head);
                prop_assert_eq!(out.as_ref(), expected.as_slice());
            }
        }
    }

    proptest! {
        #[test]
        fn lent_texts_stand_in_rows_as_copied_ones_do(texts in vec("[a-zä]{0,40}", 1..20), skipped in 0..20_usize) {
            let which = skipped.min(texts.len())..texts.len();
            let array = StringArray::from_iter_values(&texts);
            let columns = [TextFrame::Length, TextFrame::Sign(b',')].map(|frame| {
                let mut column = pieces(&[b"other".to_vec()]);
                column.lend(&array, &which, frame);
                column
            });
            let mut out = BytesMut::new();
            rows(&mut out, &columns, which.len(), RowHead::None);
            let expected = texts[which].iter().flat_map(|text| {
                let length = u32::try_from(text.len()).unwrap().to_be_bytes();
                [length.as_slice(), text.as_bytes(), text.as_bytes(), b","].concat()
            });
            prop_assert_eq!(out.to_vec(), expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn columns_keep_little_room_however_many_of_them_were_long_once() {
        let mut taken = Vec::new();
        for at in 0..20 {
            make_room(&mut taken, 20);
            taken[at].fill(0..1, |_, out| out.resize(KEPT_BYTES / 2, b'x'));
        }
        make_room(&mut taken, 20);
        assert_eq!(taken.len(), 20);
        assert!(taken.iter().map(ColumnPieces::room).sum::<usize>() <= KEPT_BYTES);
    }

    #[test]
    fn few_of_long_rows_are_written_at_a_time() {
        let texts = |bytes: usize| Arc::new(StringArray::from(vec!["x".repeat(bytes); 2_000])) as ArrayRef;
        let share_of = |column: ArrayRef| share(&RecordBatch::try_from_iter([("c", column)]).unwrap());
        assert_eq!(share_of(texts(10)), SHARE_ROWS);
        assert!((20..27).contains(&share_of(texts(10_000))));
        assert_eq!(share_of(Arc::new(StringArray::from(vec!["x".repeat(2 * SHARE_BYTES)]))), 1);
        assert_eq!(share_of(Arc::new(StringArray::from(Vec::<&str>::new()))), SHARE_ROWS);
        let empty: ArrayRef = Arc::new(NullArray::new(2_000));
        let many = (0..1_000).map(|at| (format!("c{at}"), Arc::clone(&empty)));
        assert!(share(&RecordBatch::try_from_iter(many).unwrap()) < 70, "a value that is NULL has a place too");
    }

    #[test]
    fn other_pieces_come_in_place_of_those_before() {
        let mut taken = pieces(&[b"long and longer".to_vec(), b"x".to_vec()]);
        taken.fill(3..4, |row, out| out.push(u8::try_from(row).unwrap()));
        let mut out = BytesMut::new();
        rows(&mut out, &[taken], 1, RowHead::None);
        assert_eq!(out.as_ref(), [3]);
    }
}
