//! Streams and files of Arrow that are loaded, and messages that are none.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date64Array, DictionaryArray, DurationSecondArray, Int32Array, Int64Array, ListArray,
    NullArray, RecordBatch, StringArray, StringViewArray, TimestampNanosecondArray, UInt8Array,
};
use arrow::datatypes::{Int32Type, Int64Type};
use arrow::ipc::writer::{FileWriter, StreamWriter};
use serde_json::json;

use super::{load, message};
use crate::world::world;

fn people() -> RecordBatch {
    let days = Date64Array::from(vec![Some(86_400_000), None]);
    let moments = TimestampNanosecondArray::from(vec![1_000_000_000, 2_000_001_000]);
    let tags = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None]), None]);
    let keyed: DictionaryArray<Int32Type> = [Some("red"), None].into_iter().collect();
    batch([
        ("id", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef),
        ("name", Arc::new(StringArray::from(vec![Some("Ada"), None]))),
        ("is_in", Arc::new(BooleanArray::from(vec![true, false]))),
        ("born", Arc::new(days)),
        ("seen", Arc::new(moments)),
        ("tags", Arc::new(tags)),
        ("color", Arc::new(keyed)),
        ("view", Arc::new(StringViewArray::from(vec!["short", "longer than twelve bytes"]))),
    ])
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

fn file(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

#[tokio::test]
async fn a_stream_and_a_file_say_their_own_types() {
    let world = world().await;
    let sent = stream(&[people(), people()]);
    let (status, shown) = load(&world, "people?mode=create&format=arrow&dry_run=true", sent.clone()).await;
    let columns = json!([
        {"name": "id", "type": "INTEGER"},
        {"name": "name", "type": "VARCHAR"},
        {"name": "is_in", "type": "BOOLEAN"},
        {"name": "born", "type": "DATE"},
        {"name": "seen", "type": "TIMESTAMP"},
        {"name": "tags", "type": "BIGINT[]"},
        {"name": "color", "type": "VARCHAR"},
        {"name": "view", "type": "VARCHAR"},
    ]);
    assert_eq!((status, &shown["columns"], &shown["bytes"]), (200, &columns, &json!(sent.len())), "{shown}");
    assert_eq!(shown["rows"].as_array().map(Vec::len), Some(4), "{shown}");
    assert!(world.run("select * from people").await.is_err(), "a dry run makes nothing");
    let (status, loaded) = load(&world, "people?mode=create&format=arrow", sent.clone()).await;
    assert_eq!((status, &loaded["rows_loaded"], &loaded["bytes"]), (200, &json!(4), &json!(sent.len())), "{loaded}");
    let (status, loaded) = load(&world, "people?mode=append&format=arrow", file(&people())).await;
    assert_eq!((status, &loaded["rows_loaded"]), (200, &json!(2)), "{loaded}");
    let read = "select name, born, tags, color, view, count(*) from people where id = 1 group by all";
    assert_eq!(world.run(read).await.unwrap().json, r#"["Ada","1970-01-02",[1,null],"red","short",3]"#);
    assert_eq!(world.count("select count(*) from raw.main.people where name is null and tags is null").await, 3);
    let (status, loaded) = load(&world, "people?mode=replace&format=arrow", stream(&[people().slice(0, 0)])).await;
    assert_eq!((status, &loaded["rows_loaded"]), (200, &json!(0)), "{loaded}");
    assert_eq!(world.count("select count(*) from raw.main.people").await, 0);
    world.stop().await;
}

#[tokio::test]
async fn many_rows_come_as_they_were_sent() {
    let world = world().await;
    let part = |from: i64| batch([("n", Arc::new(Int64Array::from_iter_values(from..from + 50_000)) as ArrayRef)]);
    let sent = stream(&[part(0), part(50_000), part(100_000)]);
    let (status, loaded) = load(&world, "numbers?mode=create&format=arrow", sent).await;
    assert_eq!((status, &loaded["rows_loaded"]), (200, &json!(150_000)), "{loaded}");
    assert_eq!(world.count("select count(distinct n) from raw.main.numbers where n < 150000").await, 150_000);
    world.stop().await;
}

#[tokio::test]
async fn what_is_no_arrow_is_refused_and_leaves_nothing() {
    let world = world().await;
    let (whole, in_file) = (stream(&[people()]), file(&people()));
    let cut = whole[..whole.len() - 60].to_vec();
    let mut longer = whole.clone();
    longer.extend_from_slice(b"more");
    let mut lengths = whole.clone();
    lengths[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let footless = in_file[..8].to_vec();
    let words = b"a,b\n1,2\n".repeat(400);
    for (what, body) in [
        ("cut off", cut),
        ("followed", longer),
        ("of a length that is not there", lengths),
        ("nothing but its magic", footless),
        ("CSV", words),
        ("empty", Vec::new()),
        ("a byte", vec![255]),
    ] {
        let refused = load(&world, "made?mode=create&format=arrow", body).await;
        assert_eq!((refused.0, &refused.1["error"]["details"]["field"]), (400, &json!("body")), "{what}: {refused:?}");
    }
    // Each byte of the first messages is another once: nothing of it may end the process, or hang.
    for place in (0..whole.len().min(1_200)).step_by(23) {
        let mut other = whole.clone();
        other[place] ^= 0xff;
        let (status, told) = load(&world, "made?mode=replace&format=arrow", other).await;
        assert!((200..500).contains(&status), "{place}: {told}");
    }
    world.stop().await;
}

#[tokio::test]
async fn types_that_are_not_taken_are_refused_by_their_column() {
    let world = world().await;
    let numbers = Arc::new(Int32Array::from(vec![1])) as ArrayRef;
    let structs = arrow::array::StructArray::from(batch([("x", Arc::clone(&numbers))]));
    let views = StringViewArray::from(vec!["a view in a dictionary"]);
    let keyed = DictionaryArray::<Int32Type>::try_new(Int32Array::from(vec![0]), Arc::new(views)).unwrap();
    for column in [
        Arc::new(structs) as ArrayRef,
        Arc::new(NullArray::new(1)),
        Arc::new(DurationSecondArray::from(vec![1])),
        Arc::new(keyed),
    ] {
        let kind = column.data_type().clone();
        let sent = stream(&[batch([("id", Arc::clone(&numbers)), ("odd", column)])]);
        let refused = load(&world, "made?mode=create&format=arrow", sent).await;
        let (status, told) = message(&refused);
        assert!(status == 400 && told.contains("column odd"), "{kind}: {told}");
    }
    world.stop().await;
}

#[tokio::test]
async fn what_is_large_only_once_spread_out_is_written_in_pieces() {
    let world = world().await;
    let long = "x".repeat(1 << 20);
    let keys = UInt8Array::from(vec![0; 20]);
    let keyed = DictionaryArray::try_new(keys, Arc::new(StringArray::from(vec![long.as_str()]))).unwrap();
    let sent = stream(&[batch([("long", Arc::new(keyed) as ArrayRef)])]);
    assert!(sent.len() < 2 << 20, "{}", sent.len());
    let (status, loaded) = load(&world, "long?mode=create&format=arrow", sent).await;
    assert_eq!((status, &loaded["rows_loaded"]), (200, &json!(20)), "{loaded}");
    assert_eq!(world.count("select sum(length(long))::bigint from raw.main.long").await, 20 << 20);
    let longer = "x".repeat(5 << 20);
    let keyed = DictionaryArray::try_new(UInt8Array::from(vec![0]), Arc::new(StringArray::from(vec![longer.as_str()])));
    let sent = stream(&[batch([("long", Arc::new(keyed.unwrap()) as ArrayRef)])]);
    let refused = load(&world, "long?mode=append&format=arrow", sent).await;
    assert_eq!(message(&refused), (400, "row 1 is larger than 4 MiB"));
    let wide = stream(&[batch([("n", Arc::new(Int64Array::from(vec![0; 5 << 20])) as ArrayRef)])]);
    let refused = load(&world, "wide?mode=create&format=arrow", wide).await;
    assert_eq!(message(&refused), (400, "a batch of Arrow has at most 32 MiB: write smaller batches"));
    world.stop().await;
}
