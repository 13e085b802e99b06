//! The parts of a Parquet file that a read of some of its columns needs: its footer, and the chunks of these columns.
//!
//! A file that has them at their places, and holes elsewhere, is read as the file itself. The engine reads the footer, and
//! of each chunk the pages that follow one another in it. Whatever makes that doubtful has the file read whole: a chunk
//! whose pages do not end where the footer says, or do not have the values that it says. The footer may have these columns
//! alone, since the engine reads all of it, several times for each statement.

mod footer;
mod required;

use std::collections::HashSet;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::page::PageReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, FooterTail, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::serialized_reader::SerializedPageReader;

pub use required::required_columns;

/// The magic word with which a file begins, and ends.
const MAGIC: [u8; 4] = *b"PAR1";
const MAGIC_BYTES: u64 = 4;
/// The length of the footer and the magic word, with which a file ends.
const ENDING_BYTES: u64 = 8;
/// A footer that is held in memory to be read.
const FOOTER_BYTES_MAX: u64 = 8 << 20;
/// So many bytes between two parts are read with them: another request would cost more.
const GAP_BYTES_MAX: u64 = 64 << 10;
/// What is asked for, and held in memory, at once.
const PIECE_BYTES: u64 = 2 << 20;
/// Pages of a chunk that are looked at one by one.
const PAGES_MAX: usize = 100_000;
/// The key under which a file tells of columns that are places on earth, whichever others it has.
const OF_PLACES: &str = "geo";
/// As many requests as one file is worth.
const PIECES_MAX: usize = 10_000;

/// Where the footer is in a file of so many bytes that ends so; none of a file that is not read by its parts.
pub fn footer_place(bytes: u64, end: &[u8]) -> Option<Range<u64>> {
    let tail = FooterTail::try_new(end.last_chunk()?).ok().filter(|tail| !tail.is_encrypted_footer())?;
    let length = u64::try_from(tail.metadata_length()).ok().filter(|length| (1..=FOOTER_BYTES_MAX).contains(length))?;
    let stop = bytes.checked_sub(ENDING_BYTES)?;
    let start = stop.checked_sub(length).filter(|start| *start >= MAGIC_BYTES)?;
    Some(start..stop)
}

/// The chunks of some columns of a file.
#[derive(Debug)]
pub struct ColumnParts {
    chunks: Vec<ColumnChunkMetaData>,
    /// In their order, apart from each other.
    parts: Vec<Range<u64>>,
    /// The footer with these columns alone; none where it is to stay as it is.
    footer: Option<Vec<u8>>,
}

impl ColumnParts {
    /// Those of the columns that are chosen of all, by a footer that begins at this place.
    ///
    /// None where it says anything that the engine may read in another way.
    pub fn of(footer: &[u8], place: u64, choose: impl for<'n> Fn(&[&'n str]) -> Vec<&'n str>) -> Option<Self> {
        let metadata = decoded(footer)?;
        let names = distinct_names(&metadata)?;
        let chosen: HashSet<&str> = choose(&names).into_iter().collect();
        let (mut chunks, mut parts) = (Vec::new(), Vec::new());
        for group in metadata.row_groups() {
            for chunk in group.columns() {
                let name = chunk.column_path().parts().first()?;
                if chosen.contains(name.as_str()) {
                    parts.extend(places(chunk, group.num_rows(), place)?);
                    chunks.push(chunk.clone());
                }
            }
        }
        let footer = narrowed(footer, &metadata, &chosen, &chunks);
        let found = Self { chunks, parts: joined(parts), footer };
        (found.pieces(place).len() <= PIECES_MAX).then_some(found)
    }

    /// The bytes in the place of the footer, to the end, of a file that has these columns alone.
    ///
    /// None where the file is to end as it does.
    pub fn ending(&self) -> Option<Vec<u8>> {
        let footer = self.footer.as_deref()?;
        let length = u32::try_from(footer.len()).ok()?.to_le_bytes();
        Some([footer, length.as_slice(), MAGIC.as_slice()].concat())
    }

    /// Bytes of all of them together.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.end - part.start).sum()
    }

    /// What is to be asked for of them before this place, one after the other.
    pub fn pieces(&self, end: u64) -> Vec<Range<u64>> {
        let mut pieces = Vec::new();
        for part in &self.parts {
            let stop = part.end.min(end);
            let mut start = part.start;
            while start < stop {
                let next = start.saturating_add(PIECE_BYTES).min(stop);
                pieces.push(start..next);
                start = next;
            }
        }
        pieces
    }

    /// Whether the pages of each chunk fill it, in a file that has the parts at their places. It blocks.
    pub fn are_filled(&self, file: File) -> bool {
        let file = Arc::new(file);
        self.chunks.iter().all(|chunk| is_filled(&file, chunk).unwrap_or(false))
    }
}

/// What a footer says; none of one that the library should not read.
fn decoded(footer: &[u8]) -> Option<ParquetMetaData> {
    if footer::is_fit(footer) { ParquetMetaDataReader::decode_metadata(footer).ok() } else { None }
}

/// The footer with the chosen columns alone, of which the chunks are; none where it would not say the same of these.
fn narrowed(
    footer: &[u8],
    metadata: &ParquetMetaData,
    chosen: &HashSet<&str>,
    chunks: &[ColumnChunkMetaData],
) -> Option<Vec<u8>> {
    let names = distinct_names(metadata)?;
    let keeps: Vec<bool> = names.iter().map(|name| chosen.contains(name)).collect();
    let pairs = metadata.file_metadata().key_value_metadata();
    let names_places = pairs.is_some_and(|pairs| pairs.iter().any(|pair| pair.key == OF_PLACES));
    if names_places || !keeps.contains(&true) || !keeps.contains(&false) {
        return None;
    }
    let narrow = footer::narrowed(footer, &keeps)?;
    let told = decoded(&narrow)?;
    let rows = |of: &ParquetMetaData| of.row_groups().iter().map(RowGroupMetaData::num_rows).collect::<Vec<_>>();
    let has_rows =
        told.file_metadata().num_rows() == metadata.file_metadata().num_rows() && rows(&told) == rows(metadata);
    let has_names = distinct_names(&told)?.into_iter().eq(names.into_iter().filter(|name| chosen.contains(name)));
    let has_chunks = told.row_groups().iter().flat_map(RowGroupMetaData::columns).eq(chunks);
    (has_rows && has_names && has_chunks).then_some(narrow)
}

/// The names of the columns; none where two are alike, since the engine gives another to one of them.
fn distinct_names(metadata: &ParquetMetaData) -> Option<Vec<&str>> {
    let columns = metadata.file_metadata().schema().get_fields();
    let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
    let mut met = HashSet::new();
    let are_distinct = names.iter().all(|name| !name.is_empty() && met.insert(name.to_lowercase()));
    are_distinct.then_some(names)
}

/// Where a chunk is that ends before this place, and the filter that tells which values it has not.
fn places(chunk: &ColumnChunkMetaData, rows: i64, end: u64) -> Option<Vec<Range<u64>>> {
    let data = u64::try_from(chunk.data_page_offset()).ok()?;
    let start = match chunk.dictionary_page_offset() {
        Some(dictionary) => u64::try_from(dictionary).ok()?,
        None => data,
    };
    let length = u64::try_from(chunk.compressed_size()).ok()?;
    let stop = start.checked_add(length)?;
    let is_here = chunk.file_path().is_none() && chunk.index_page_offset().is_none();
    let is_within = start >= MAGIC_BYTES && start <= data && data < stop && stop <= end;
    let is_flat = chunk.column_descr().max_rep_level() == 0;
    if !is_here || !is_within || (is_flat && chunk.num_values() != rows) {
        return None;
    }
    let mut found = vec![Range { start, end: stop }];
    if let Some(filter) = chunk.bloom_filter_offset() {
        let start = u64::try_from(filter).ok()?;
        let stop = start.checked_add(u64::try_from(chunk.bloom_filter_length()?).ok()?)?;
        if start < MAGIC_BYTES || stop > end {
            return None;
        }
        found.push(start..stop);
    }
    Some(found)
}

/// The same parts in their order, those that are near each other as one.
fn joined(mut parts: Vec<Range<u64>>) -> Vec<Range<u64>> {
    parts.sort_by_key(|part| part.start);
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(parts.len());
    for part in parts {
        match joined.last_mut() {
            Some(last) if part.start <= last.end.saturating_add(GAP_BYTES_MAX) => last.end = last.end.max(part.end),
            _ => joined.push(part),
        }
    }
    joined
}

/// Whether the pages of a chunk end with it and have its values: whoever reads these reads nothing behind it.
fn is_filled(file: &Arc<File>, chunk: &ColumnChunkMetaData) -> Result<bool, ParquetError> {
    // pages are passed over, however they are packed
    let chunk = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
    let mut pages = SerializedPageReader::new(Arc::clone(file), &chunk, 0, None)?;
    let (mut values, mut count) = (0_u64, 0_usize);
    while let Some(page) = pages.peek_next_page()? {
        count += 1;
        if count > PAGES_MAX {
            return Ok(false);
        }
        let more = page.num_levels.and_then(|levels| u64::try_from(levels).ok());
        values = values.saturating_add(more.unwrap_or_default());
        pages.skip_next_page()?;
    }
    Ok(u64::try_from(chunk.num_values()).is_ok_and(|told| told == values))
}

#[cfg(test)]
mod tests;
