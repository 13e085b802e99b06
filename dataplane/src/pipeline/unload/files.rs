//! The files that an unload writes: how rows become their bytes, and where the next file begins. All of it blocks.

use std::collections::HashMap;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrow::error::ArrowError;
use sql::{Unload, UnloadFormat, partition_folder};

use super::encoder::{EncodedRows, RowEncoder};
use super::open_file::{FullFile, OpenFile, length};
use crate::encode::cell::{self, Cell};
use crate::encode::delimited::DelimitedText;
use crate::encode::parquet_file::{self, ColumnForms};
use crate::pipeline::Result;
use crate::storage::stage_files::StageFiles;
use crate::{Column, Error};

/// Files of one unload: each waits aside until all are whole.
const FILES_MAX: usize = 256;

/// Where the files of an unload will be.
#[derive(Debug)]
pub(super) struct UnloadPlace {
    pub files: StageFiles,
    pub stage_id: String,
    pub query_id: String,
}

/// The files of an unload, none of which is in its stage yet.
#[derive(Debug)]
pub(super) struct UnloadFiles {
    unload: Unload,
    columns: Vec<Column>,
    /// Of a Parquet file.
    schema: SchemaRef,
    place: UnloadPlace,
    /// Of the rows that come now, where they are parted.
    folder: Option<String>,
    /// Files that each of these has.
    folders: HashMap<String, usize>,
    open: Option<OpenFile>,
    /// How the columns of the last file were written, if it is of Parquet.
    forms: Option<ColumnForms>,
    full: Vec<FullFile>,
}

impl UnloadFiles {
    /// Refuses rows that the format has no form for.
    pub fn new(unload: Unload, (mut columns, schema): (Vec<Column>, &SchemaRef), place: UnloadPlace) -> Result<Self> {
        let mut schema = SchemaRef::clone(schema);
        if unload.is_partitioned() {
            let is_text = |field: &FieldRef| matches!(field.data_type(), DataType::Utf8 | DataType::Utf8View);
            if !schema.fields().first().is_some_and(is_text) {
                return Err(Error::Unverified { why: "a partition is no text".to_owned() });
            }
            schema = SchemaRef::new(Schema::new(schema.fields().iter().skip(1).cloned().collect::<Fields>()));
            columns = columns.split_off(1.min(columns.len()));
        }
        let refused = |message: String| Err(Error::InvalidParams { field: "FILE_FORMAT", message });
        if unload.writing.format == UnloadFormat::Json && columns.len() != 1 {
            return refused("JSON is unloaded of a query of one column, as SELECT OBJECT_CONSTRUCT(*)".to_owned());
        }
        let name = |place: usize, field: &Field| {
            if unload.header { field.name().clone() } else { format!("col{}", place + 1) }
        };
        let schema = parquet_file::named(&schema, name);
        if unload.writing.format == UnloadFormat::Parquet
            && let Some(why) = parquet_file::refusal(&columns, &schema)
        {
            return refused(why);
        }
        let (folder, folders) = (None, HashMap::new());
        Ok(Self { unload, columns, schema, place, folder, folders, open: None, forms: None, full: Vec::new() })
    }

    /// What makes the bytes of rows before they are added.
    pub fn encoder(&self) -> RowEncoder {
        RowEncoder::of(&self.unload, &self.columns)
    }

    pub fn add(&mut self, rows: &[EncodedRows]) -> Result<()> {
        let is_partitioned = self.unload.is_partitioned();
        rows.iter().try_for_each(|rows| if is_partitioned { self.add_parted(&rows.batch) } else { self.add_rows(rows) })
    }

    /// Rows whose first column is their partition: those of one come behind each other.
    fn add_parted(&mut self, batch: &RecordBatch) -> Result<()> {
        let unread = |error: ArrowError| Error::Unverified { why: error.to_string() };
        let values = batch.columns().first().ok_or_else(|| Error::Unverified { why: "no partition".to_owned() })?;
        let rest = batch.project(&(1..batch.num_columns()).collect::<Vec<_>>()).map_err(unread)?;
        let mut from = 0;
        while from < batch.num_rows() {
            let value = partition(values, from);
            let rows = (from..batch.num_rows()).take_while(|row| partition(values, *row) == value).count();
            self.turn_to(partition_folder(value))?;
            let part = self.encoder().parted().encoded(&rest.slice(from, rows))?;
            part.iter().try_for_each(|rows| self.add_rows(rows))?;
            from += rows;
        }
        Ok(())
    }

    /// Has the rows that come next go into files of this folder.
    fn turn_to(&mut self, folder: String) -> Result<()> {
        if self.folder.as_ref() != Some(&folder) {
            self.close()?;
            self.folder = Some(folder);
        }
        Ok(())
    }

    /// No more rows come. Of none there is a file, too, unless they are parted.
    pub fn end(mut self) -> Result<Vec<FullFile>> {
        if self.open.is_none() && self.full.is_empty() && !self.unload.is_partitioned() {
            self.open = Some(self.begin()?);
        }
        self.close()?;
        Ok(self.full)
    }

    /// Into the open file, or into the next where they would be too much for it.
    fn add_rows(&mut self, EncodedRows { batch, text }: &EncodedRows) -> Result<()> {
        let most = self.unload.max_file_bytes;
        let is_full = |file: &OpenFile| file.rows() > 0 && file.bytes() + length(text) > most;
        if self.open.as_ref().is_some_and(is_full) {
            self.close()?;
        }
        let mut file = match self.open.take() {
            Some(file) => file,
            None => self.begin()?,
        };
        file.add(batch, text)?;
        self.open = Some(file);
        Ok(())
    }

    fn begin(&mut self) -> Result<OpenFile> {
        let (number, most) = (self.full.len(), self.unload.max_file_bytes);
        let refused = |message: String| Err(Error::InvalidParams { field: "MAX_FILE_SIZE", message });
        if self.unload.is_single() && number > 0 {
            return refused(format!(
                "SINGLE = TRUE writes one file, and the rows need more than {most} bytes: say a larger MAX_FILE_SIZE, \
                 or leave SINGLE out"
            ));
        }
        if number == FILES_MAX && self.unload.is_partitioned() {
            let message = format!(
                "COPY INTO a stage writes at most {FILES_MAX} files, and the rows have more partitions or need more of \
                 {most} bytes each: part them by fewer values, or say a larger MAX_FILE_SIZE"
            );
            return Err(Error::InvalidParams { field: "PARTITION BY", message });
        }
        if number == FILES_MAX {
            return refused(format!(
                "COPY INTO a stage writes at most {FILES_MAX} files, and the rows need more of {most} bytes each: \
                 say a larger MAX_FILE_SIZE"
            ));
        }
        let path = self.path(number);
        let writer = self.place.files.writer(&self.place.stage_id, &path)?.unsummed();
        // one may be there by its end
        let writer = if self.unload.overwrite { writer } else { writer.keeping_others() };
        if self.unload.writing.format == UnloadFormat::Parquet {
            let (compression, schema) = (self.unload.writing.compression, SchemaRef::clone(&self.schema));
            // rows of another partition may be others
            let before = self.forms.take().filter(|_| !self.unload.is_partitioned());
            return OpenFile::parquet(writer, compression, schema, before);
        }
        let mut file = OpenFile::text(writer, self.unload.writing.compression);
        if self.unload.header && self.unload.writing.format == UnloadFormat::Csv {
            let mut text = String::new();
            DelimitedText::of(&self.unload.writing.csv).header(&mut text, &self.columns);
            file.add_text(text.as_bytes())?;
        }
        Ok(file)
    }

    /// The path of the file of this number, which counts from none in each folder.
    fn path(&mut self, number: usize) -> String {
        let Some(folder) = &self.folder else { return self.unload.file(None, number, &self.place.query_id) };
        let in_folder = self.folders.entry(folder.clone()).or_default();
        let path = self.unload.file(Some(folder), *in_folder, &self.place.query_id);
        *in_folder += 1;
        path
    }

    fn close(&mut self) -> Result<()> {
        if let Some(file) = self.open.take() {
            let full;
            (full, self.forms) = file.end()?;
            self.full.push(full);
        }
        Ok(())
    }
}

/// What a row is parted by; nothing where that is NULL.
fn partition(values: &ArrayRef, row: usize) -> Option<&str> {
    match cell::at(values.as_ref(), row) {
        Cell::Text(text) => Some(text),
        _ => None,
    }
}
