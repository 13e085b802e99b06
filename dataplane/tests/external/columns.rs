//! Parquet files of a bucket: only the columns that a statement names are fetched, and some files side by side.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow::datatypes::{Field, Int64Type};
use dataplane::testing::filtering;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use tokio::sync::Barrier;

use super::bucket::{Bucket, Mode};
use crate::copied::{put, ran, staged};
use crate::world::world;

const ROWS: i64 = 4_000;

/// Of nine columns eight hold nearly all of its bytes. It has row groups, dictionaries, filters and a nested column.
pub(super) fn wide() -> Vec<u8> {
    let ids = || (0..ROWS).map(Some).collect::<Int64Array>();
    let field = |name: &str, values: &ArrayRef| Arc::new(Field::new(name, values.data_type().clone(), true));
    let lists = (0..ROWS).map(|id| Some([Some(id), Some(id + 1)]));
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
    let members: [(&str, ArrayRef); 2] = [("a", Arc::new(ids())), ("l", Arc::new(lists))];
    let members = members.map(|(name, values)| (field(name, &values), values));
    let note = |id: i64| if id % 2 == 0 { "even" } else { "odd" };
    let mut columns: Vec<(String, ArrayRef)> = vec![("id".to_owned(), Arc::new(ids()))];
    for number in 0..8 {
        let long = (0..ROWS).map(|id| Some(format!("{:0100}", id * 10 + number))).collect::<StringArray>();
        columns.push((format!("long_{number}"), Arc::new(long)));
    }
    columns.push(("note".to_owned(), Arc::new((0..ROWS).map(|id| Some(note(id))).collect::<StringArray>())));
    columns.push(("nested".to_owned(), Arc::new(StructArray::from(members.to_vec()))));
    written(&RecordBatch::try_from_iter(columns).unwrap())
}

fn written(batch: &RecordBatch) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(1_500))
        .set_bloom_filter_enabled(true)
        .set_bloom_filter_ndv(100)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

impl Bucket {
    async fn with_wide() -> (Self, usize) {
        let (bucket, wide) = (Self::new().await, wide());
        let bytes = wide.len();
        bucket.put("in/wide.parquet", wide);
        bucket.ran("create file format p type = parquet").await;
        (bucket, bytes)
    }

    /// The answer, and how many bytes of objects were sent for it.
    async fn measured(&self, sql: &str) -> (String, usize) {
        let before = self.kept.lock().unwrap().sent;
        let answer = self.ran(sql).await;
        (answer, self.kept.lock().unwrap().sent - before)
    }
}

#[tokio::test]
async fn columns_that_are_not_named_are_not_fetched() {
    let (bucket, bytes) = Bucket::with_wide().await;
    for (sql, answer) in [
        ("select sum($1:id::bigint)::bigint from @s/wide (file_format => 'p')", "[7998000]"),
        ("select count(*) from @s/wide (file_format => 'p')", "[4000]"),
        ("select count(*) from @s/wide (file_format => 'p') where $1:note::varchar = 'odd'", "[2000]"),
        (
            "select $1:nested.l[1]::bigint, $1:note::varchar from @s/wide (file_format => 'p') where $1:id::int = 3999",
            r#"[4000,"odd"]"#,
        ),
        ("select count($1:none) from @s/wide (file_format => 'p')", "[0]"),
    ] {
        let (told, sent) = bucket.measured(sql).await;
        assert_eq!(told, answer, "{sql}");
        assert!(sent < bytes / 3, "{sql}: {sent} of {bytes}");
    }
    let (told, sent) = bucket.measured("select max(length($1::varchar)) > 800 from @s/wide (file_format => 'p')").await;
    assert!(told == "[true]" && sent >= bytes, "{told}: {sent} of {bytes}");
    bucket.world.stop().await;
}

#[tokio::test]
async fn a_load_by_names_fetches_the_columns_of_its_table() {
    let (bucket, bytes) = Bucket::with_wide().await;
    bucket.ran("create table loaded (note varchar, id bigint, other varchar)").await;
    let load = "copy into loaded from @s/wide file_format = (type = parquet) match_by_column_name = case_insensitive";
    for on_error in ["", " on_error = continue force = true"] {
        let (told, sent) = bucket.measured(&format!("{load}{on_error}")).await;
        assert!(told.contains("LOADED") && sent < bytes / 3, "{told}: {sent} of {bytes}");
    }
    assert_eq!(bucket.ran("select count(*), sum(id)::bigint, count(other) from loaded").await, "[8000,15996000,0]");
    assert_eq!(bucket.ran("select count(*) from loaded where note = 'even'").await, "[4000]");
    bucket.world.stop().await;
}

#[tokio::test]
async fn an_object_that_changes_while_its_columns_are_fetched_is_refused() {
    let (bucket, _) = Bucket::with_wide().await;
    for mode in [Mode::ChangesOnce, Mode::Changes] {
        bucket.is(mode);
        let said = bucket.refused("select sum($1:id::bigint)::bigint from @s/wide (file_format => 'p')").await;
        assert!(said.contains("replaced"), "{said}");
    }
    bucket.is(Mode::Cuts);
    let said = bucket.refused("select sum($1:id::bigint)::bigint from @s/wide (file_format => 'p')").await;
    assert!(said.contains("try again") && !said.contains("127.0.0.1"), "{said}");
    bucket.world.stop().await;
}

#[tokio::test]
async fn a_file_whose_pages_are_not_where_its_footer_says_is_no_parquet() {
    let (bucket, _) = Bucket::with_wide().await;
    let mut broken = wide();
    broken[4..40].fill(0);
    bucket.put("in/broken.parquet", broken);
    bucket.put("in/short.parquet", wide()[300_000..].to_vec());
    bucket.ran("create table loaded (id bigint)").await;
    for path in ["broken", "short"] {
        let load = format!(
            "copy into loaded from @s/{path} file_format = (type = parquet) match_by_column_name = case_insensitive"
        );
        bucket.refused(&load).await;
        assert_eq!(bucket.world.count("select count(*) from loaded").await, 0, "{path}");
    }
    bucket.world.stop().await;
}

#[tokio::test]
async fn files_come_side_by_side_and_are_read_in_their_order() {
    let (bucket, _) = Bucket::with_wide().await;
    for number in 0..3 {
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![number, number + 10]));
        let file = written(&RecordBatch::try_from_iter([("id", ids)]).unwrap());
        bucket.put(&format!("in/many/{number}.parquet"), file);
    }
    bucket.kept.lock().unwrap().together = Some(Arc::new(Barrier::new(3)));
    let sql = "select $1:id::bigint, METADATA$FILE_ROW_NUMBER from @s/many (file_format => 'p') order by METADATA$FILENAME, 2";
    assert_eq!(bucket.ran(sql).await, "[0,1],[10,2],[1,1],[11,2],[2,1],[12,2]");
    bucket.world.stop().await;
}

#[tokio::test]
async fn under_a_rule_of_its_stage_whole_records_are_read() {
    let (bucket, bytes) = Bucket::with_wide().await;
    bucket.world.change(|rules| rules.policies = vec![filtering("main.@s", "\"METADATA$FILENAME\" <> 'other'")]);
    let before = bucket.kept.lock().unwrap().sent;
    let got = bucket.world.analyst("select count($1:id) from @s/wide (file_format => 'p')").await.unwrap();
    assert_eq!(got.json, "[4000]");
    let sent = bucket.kept.lock().unwrap().sent - before;
    assert!(sent >= bytes, "what the rule reads is not in the statement: {sent} of {bytes}");
    bucket.world.stop().await;
}

#[tokio::test]
async fn columns_of_a_file_of_the_environment_are_read_as_those_of_a_bucket() {
    let world = world().await;
    let id = staged(&world, "create stage w file_format = (type = parquet)").await;
    put(&world, &id, "wide.parquet", wide());
    assert_eq!(ran(&world, "select sum($1:id::bigint)::bigint from @w").await, "[7998000]");
    assert_eq!(ran(&world, "select max(length($1::varchar)) > 800 from @w").await, "[true]");
    // nearly all of its bytes are copied, with a footer of these columns
    let counts: Vec<String> = (0..8).map(|number| format!("count($1:long_{number}::varchar)")).collect();
    let told = ran(&world, &format!("select {} from @w", counts.join(", "))).await;
    assert_eq!(told, format!("[{}]", ["4000"; 8].join(",")));
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "nothing of it is left");
    world.stop().await;
}
