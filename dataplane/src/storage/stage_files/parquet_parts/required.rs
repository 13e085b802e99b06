//! The columns of a Parquet file that have a value in each row, by its footer.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;

use parquet::basic::Repetition;
use parquet::schema::types::TypePtr;

use super::{ENDING_BYTES, decoded, distinct_names, footer_place};

/// Their names; none of a file whose footer the engine may read in another way. It blocks.
pub fn required_columns(file: &File) -> Option<HashSet<String>> {
    let bytes = file.metadata().ok()?.len();
    let mut end = vec![0; usize::try_from(ENDING_BYTES).ok()?];
    file.read_exact_at(&mut end, bytes.checked_sub(ENDING_BYTES)?).ok()?;
    let place = footer_place(bytes, &end)?;
    let mut footer = vec![0; usize::try_from(place.end - place.start).ok()?];
    file.read_exact_at(&mut footer, place.start).ok()?;
    let metadata = decoded(&footer)?;
    distinct_names(&metadata)?;
    let is_required = |column: &&TypePtr| {
        let told = column.get_basic_info();
        told.has_repetition() && told.repetition() == Repetition::REQUIRED
    };
    let columns = metadata.file_metadata().schema().get_fields();
    Some(columns.iter().filter(is_required).map(|column| column.name().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use arrow::datatypes::{DataType, Field, Schema};
    use parquet::arrow::ArrowWriter;

    use super::*;

    fn written(fields: &[(&str, bool)]) -> File {
        let field = |(name, nullable): &(&str, bool)| Field::new(*name, DataType::Int64, *nullable);
        let schema = Arc::new(Schema::new(fields.iter().map(field).collect::<Vec<_>>()));
        let columns = fields.iter().map(|_| Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef);
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns.collect()).unwrap();
        let file = tempfile::tempfile().unwrap();
        let mut writer = ArrowWriter::try_new(file.try_clone().unwrap(), schema, None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        file
    }

    #[test]
    fn columns_are_required_as_the_footer_says() {
        let found = required_columns(&written(&[("id", false), ("note", true), ("at", false)])).unwrap();
        assert_eq!(found, ["id", "at"].map(str::to_owned).into_iter().collect::<HashSet<_>>());
        assert_eq!(required_columns(&written(&[("id", false), ("ID", true)])), None, "the engine renames one of them");
        let none = tempfile::tempfile().unwrap();
        assert_eq!(required_columns(&none), None);
        none.write_all_at(b"no Parquet file", 0).unwrap();
        assert_eq!(required_columns(&none), None);
    }
}
