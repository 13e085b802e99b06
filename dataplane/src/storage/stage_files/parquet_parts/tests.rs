use std::os::unix::fs::FileExt;

use arrow::array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow::datatypes::{Field, Int64Type};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::*;

const ROWS: i64 = 6_000;

/// Columns of numbers, of texts that repeat, of texts that do not, and nested ones.
fn batch() -> RecordBatch {
    let ids = || (0..ROWS).map(Some).collect::<Int64Array>();
    let long = |id: i64| format!("{id:0100}");
    let word = |id: i64| if id % 3 == 0 { "one" } else { "another" };
    let lists = (0..ROWS).map(|id| (id % 3 > 0).then(|| vec![Some(id); usize::try_from(id % 4).unwrap()]));
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
    let field = |name: &str, values: &ArrayRef| Arc::new(Field::new(name, values.data_type().clone(), true));
    let members: [(&str, ArrayRef); 2] = [("a", Arc::new(ids())), ("l", Arc::new(lists))];
    let members = members.map(|(name, values)| (field(name, &values), values));
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(ids())),
        ("long", Arc::new((0..ROWS).map(|id| Some(long(id))).collect::<StringArray>())),
        ("word", Arc::new((0..ROWS).map(|id| Some(word(id))).collect::<StringArray>())),
        ("nested", Arc::new(StructArray::from(members.to_vec()))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn file() -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(2_500))
        .set_data_page_row_count_limit(700)
        .set_write_batch_size(100)
        .set_bloom_filter_enabled(true)
        .set_bloom_filter_ndv(100)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch().schema(), Some(properties)).unwrap();
    writer.write(&batch()).unwrap();
    writer.into_inner().unwrap()
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap()
}

fn taken(bytes: &[u8], part: &Range<u64>) -> Vec<u8> {
    bytes[usize::try_from(part.start).unwrap()..usize::try_from(part.end).unwrap()].to_vec()
}

fn all<'n>(names: &[&'n str]) -> Vec<&'n str> {
    names.to_vec()
}

/// The parts that these columns need.
fn parts(bytes: &[u8], columns: &[&str]) -> Option<ColumnParts> {
    let footer = footer_place(length(bytes), bytes)?;
    ColumnParts::of(&taken(bytes, &footer), footer.start, |names| {
        names.iter().copied().filter(|name| columns.contains(name)).collect()
    })
}

/// A file of the same length that has the parts and the footer alone.
fn sparse(bytes: &[u8], parts: &ColumnParts) -> File {
    let footer = footer_place(length(bytes), bytes).unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(length(bytes)).unwrap();
    for piece in parts.pieces(footer.start) {
        file.write_all_at(&taken(bytes, &piece), piece.start).unwrap();
    }
    file.write_all_at(&taken(bytes, &(footer.start..length(bytes))), footer.start).unwrap();
    file
}

#[test]
fn a_file_of_the_parts_of_some_columns_is_read_as_the_whole_one() {
    let (bytes, batch) = (file(), batch());
    for (columns, share) in [(vec!["id"], 5), (vec!["word"], 3), (vec!["nested"], 2), (vec!["id", "nested"], 2)] {
        let parts = parts(&bytes, &columns).unwrap();
        assert!(parts.bytes() < length(&bytes) / share, "{columns:?}: {} of {}", parts.bytes(), bytes.len());
        let file = sparse(&bytes, &parts);
        assert!(parts.are_filled(file.try_clone().unwrap()), "{columns:?}");
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let places: Vec<usize> = columns.iter().map(|name| batch.schema().index_of(name).unwrap()).collect();
        let mask = ProjectionMask::roots(reader.parquet_schema(), places.clone());
        let read = reader.with_projection(mask).with_batch_size(10_000).build().unwrap();
        let read: Vec<RecordBatch> = read.map(Result::unwrap).collect();
        let read = arrow::compute::concat_batches(&read[0].schema(), &read).unwrap();
        assert_eq!(read.columns(), batch.project(&places).unwrap().columns(), "{columns:?}");
    }
}

/// All rows of some columns, by their places.
fn read(file: File, places: Option<&[usize]>) -> RecordBatch {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true); // which tells of all columns
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).unwrap();
    let mask = places.map(|places| ProjectionMask::roots(reader.parquet_schema(), places.iter().copied()));
    let reader = reader.with_projection(mask.unwrap_or_else(ProjectionMask::all)).with_batch_size(10_000);
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap()
}

#[test]
fn a_file_whose_footer_has_some_columns_has_no_others() {
    let (bytes, batch) = (file(), batch());
    let footer = footer_place(length(&bytes), &bytes).unwrap();
    for columns in [vec!["id"], vec!["nested"], vec!["long", "nested"], vec!["id", "word"]] {
        let parts = parts(&bytes, &columns).unwrap();
        let ending = parts.ending().unwrap();
        assert!(length(&ending) < length(&bytes) - footer.start, "{columns:?}");
        let file = sparse(&bytes, &parts);
        file.set_len(footer.start).unwrap();
        file.write_all_at(&ending, footer.start).unwrap();
        assert!(parts.are_filled(file.try_clone().unwrap()), "{columns:?}");
        let whole = tempfile::tempfile().unwrap();
        whole.write_all_at(&bytes, 0).unwrap();
        let places: Vec<usize> = columns.iter().map(|name| batch.schema().index_of(name).unwrap()).collect();
        assert_eq!(read(file, None), read(whole, Some(&places)), "{columns:?}");
    }
    assert_eq!(parts(&bytes, &["id", "long", "word", "nested"]).unwrap().ending(), None, "it has all columns");
    assert_eq!(parts(&bytes, &[]).unwrap().ending(), None, "the footer alone is read");
}

/// It names columns that may not be among those that are read.
#[test]
fn a_footer_that_tells_of_places_on_earth_stays_as_it_is() {
    for (key, is_narrowed) in [(OF_PLACES, false), ("other", true)] {
        let pairs = Some(vec![KeyValue::new(key.to_owned(), "{}".to_owned())]);
        let properties = WriterProperties::builder().set_key_value_metadata(pairs).build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch().schema(), Some(properties)).unwrap();
        writer.write(&batch()).unwrap();
        let found = parts(&writer.into_inner().unwrap(), &["id"]).unwrap();
        assert_eq!(found.ending().is_some(), is_narrowed, "{key}");
    }
}

#[test]
fn a_hole_is_no_page() {
    let bytes = file();
    let ids = parts(&bytes, &["id"]).unwrap();
    assert!(!parts(&bytes, &["long"]).unwrap().are_filled(sparse(&bytes, &ids)), "its chunks are holes");
    let last = ids.chunks.last().unwrap();
    for hole in [last.byte_range().0, u64::try_from(last.data_page_offset()).unwrap()] {
        let file = sparse(&bytes, &ids);
        file.write_all_at(&[0; 30], hole).unwrap();
        assert!(!ids.are_filled(file), "a page has no head");
    }
}

#[test]
fn what_is_in_doubt_is_not_read_by_its_parts() {
    let bytes = file();
    assert_eq!(footer_place(length(&bytes), &bytes[..4]), None);
    for end in [*b"PAR1PAR1", *b"\0\0\0\0PAR1", *b"\x01\0\0\0PARE", *b"\x01\0\0\0ZZZZ"] {
        assert_eq!(footer_place(length(&bytes), &end), None, "{end:?}");
    }
    let footer = footer_place(length(&bytes), &bytes).unwrap();
    let chunks_end_behind = ColumnParts::of(&taken(&bytes, &footer), 1_000, all);
    assert!(chunks_end_behind.is_none());
    let broken = ColumnParts::of(&taken(&bytes, &(footer.start..footer.end - 100)), footer.start, all);
    assert!(broken.is_none());
    let twice: [(&str, ArrayRef); 2] = ["a", "A"].map(|name| (name, Arc::new(Int64Array::from(vec![1])) as ArrayRef));
    let twice = RecordBatch::try_from_iter(twice).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), twice.schema(), None).unwrap();
    writer.write(&twice).unwrap();
    assert!(parts(&writer.into_inner().unwrap(), &["a"]).is_none(), "the engine renames one of them");
}

#[test]
fn near_parts_are_asked_for_as_one_and_long_ones_in_pieces() {
    let near = joined(vec![500_000..500_010, 4..100, 90..200, 300..400]);
    assert_eq!(near, [4..400, 500_000..500_010]);
    let parts = ColumnParts { chunks: Vec::new(), parts: vec![0..PIECE_BYTES + 5, 9_000_000..9_000_010], footer: None };
    assert_eq!(parts.pieces(9_000_004), [0..PIECE_BYTES, PIECE_BYTES..PIECE_BYTES + 5, 9_000_000..9_000_004]);
    assert_eq!(parts.bytes(), PIECE_BYTES + 15);
}
