//! How the columns of a Parquet file are written, as the row group before has shown of them.
//!
//! A dictionary is made in vain of values of which few come again, and Snappy finds nothing in those that look random.
//! Either takes longer than all else that is done for such a column. So the next row groups go without, for a while.

use arrow::datatypes::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowRowGroupWriterFactory;
use parquet::basic::{Compression, Encoding, PageType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::GROUP_ROWS;

/// Values of a column that its dictionary may have in a row group: with more of them it takes longer and saves nothing.
const DISTINCT_MAX: usize = GROUP_ROWS / 5;
/// Bytes of a dictionary whose values have no width of their own.
const TEXTS_MAX: usize = 512 << 10;
/// Row groups behind which all is tried once more: rows that come later may be others.
const GROUPS_MAX: usize = 16;

/// What is known of the columns, and what follows from that.
#[derive(Debug)]
pub struct ColumnForms {
    schema: SchemaRef,
    compression: Compression,
    /// The leaves that go without something; the others have a dictionary and are compressed.
    lean: Vec<LeafForm>,
    groups: usize,
}

/// What a leaf is written with.
#[derive(Debug, PartialEq, Eq)]
struct LeafForm {
    path: ColumnPath,
    has_dictionary: bool,
    is_compressed: bool,
}

impl ColumnForms {
    pub fn new(schema: SchemaRef, compression: Compression) -> Self {
        Self { schema, compression, lean: Vec::new(), groups: 0 }
    }

    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// How the next row group is written: of each of its columns there are statistics.
    pub fn properties(&self) -> WriterProperties {
        let mut properties = WriterProperties::builder()
            .set_compression(self.compression)
            .set_statistics_enabled(EnabledStatistics::Chunk);
        for field in self.schema.fields() {
            let column = ColumnPath::new(vec![field.name().clone()]);
            properties = properties.set_column_dictionary_page_size_limit(column, dictionary_bytes(field.data_type()));
        }
        for LeafForm { path, has_dictionary, is_compressed } in &self.lean {
            let compression = if *is_compressed { self.compression } else { Compression::UNCOMPRESSED };
            properties = properties
                .set_column_dictionary_enabled(path.clone(), *has_dictionary)
                .set_column_compression(path.clone(), compression);
        }
        properties.build()
    }

    /// What makes the writers of the next row groups, where this one has shown that they are written otherwise.
    pub fn behind(&mut self, group: &RowGroupMetaData) -> Result<Option<ArrowRowGroupWriterFactory>, ParquetError> {
        self.groups += 1;
        let leaves = group.columns().iter().map(LeafForm::of);
        let lean: Vec<LeafForm> = if self.groups.is_multiple_of(GROUPS_MAX) {
            Vec::new()
        } else {
            leaves.filter(|leaf| !leaf.has_dictionary || !leaf.is_compressed).collect()
        };
        if lean == self.lean {
            return Ok(None);
        }
        self.lean = lean;
        let writer = ArrowWriter::try_new(Vec::new(), self.schema(), Some(self.properties()))?;
        writer.into_serialized_writer().map(|(_, groups)| Some(groups))
    }
}

impl LeafForm {
    fn of(chunk: &ColumnChunkMetaData) -> Self {
        let pages = chunk.page_encoding_stats().map(Vec::as_slice).unwrap_or_default();
        let is_plain = |page: PageType, encoding| page != PageType::DICTIONARY_PAGE && encoding == Encoding::PLAIN;
        Self {
            path: chunk.column_path().clone(),
            has_dictionary: !pages.iter().any(|page| is_plain(page.page_type, page.encoding)),
            // by an eighth at least
            is_compressed: chunk.compressed_size() <= chunk.uncompressed_size() / 8 * 7,
        }
    }
}

/// Bytes that a column's dictionary may have before its values are written without one.
fn dictionary_bytes(kind: &DataType) -> usize {
    // numbers are of four bytes in the file, or of eight
    kind.primitive_width().map_or(TEXTS_MAX, |width| width.clamp(4, 8) * DISTINCT_MAX)
}
