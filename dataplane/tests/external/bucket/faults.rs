//! Faults while objects are read: nothing of a load is kept, its error says why, and a retry works.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use contract::Code;
use dataplane::testing::owner_id;

use super::{Bucket, LONG_PIECES, Mode};
use crate::copied::{loaded, packed};
use crate::world::{World, world_with_disk};

/// So many bytes of files may be read at one time where a test says so.
const READ_BYTES_MAX: u64 = 8 << 20;

/// How `sql` is refused: its code and its words. Nothing of it is left.
async fn refused(bucket: &Bucket, sql: &str) -> (Code, String) {
    let error = bucket.world.run(sql).await.unwrap_err();
    assert_eq!(bucket.world.count("select count(*) from t").await, 0, "{error}");
    assert_eq!(std::fs::read_dir(bucket.world.spool()).unwrap().count(), 0, "a file is left: {error}");
    (error.code(), error.to_string())
}

/// The numbers from 1 to `count` as a Parquet file.
async fn parquet(world: &World, count: u32) -> Vec<u8> {
    let made = world.spool().join("made.parquet");
    let rows = format!("select i::integer as id from range(1, {count} + 1) numbers(i)");
    world.behind_our_back(&format!("copy ({rows}) to '{}' (format parquet)", made.display())).await;
    let bytes = std::fs::read(&made).unwrap();
    std::fs::remove_file(&made).unwrap();
    bytes
}

/// Where its footer begins, which is before its own length and the mark at the end.
fn footer(file: &[u8]) -> usize {
    let end = file.len() - 8;
    let length = u32::from_le_bytes(file[end..end + 4].try_into().unwrap());
    end - usize::try_from(length).unwrap()
}

#[tokio::test]
async fn a_store_that_asks_for_fewer_requests_is_asked_again_later() {
    let bucket = Bucket::new().await;
    bucket.put("in/a.csv", "1\n2\n");
    bucket.kept.lock().unwrap().too_fast = 2;
    assert_eq!(bucket.ran("copy into t from @s").await, loaded("a.csv", 2));
    assert_eq!(bucket.kept.lock().unwrap().too_fast, 0, "it was asked again");
    bucket.kept.lock().unwrap().too_fast = 1;
    assert_eq!(bucket.ran("select $1 from @s order by 1").await, r#"["1"],["2"]"#);
    bucket.world.stop().await;
}

#[tokio::test]
async fn a_parquet_file_that_is_cut_off_is_told_and_nothing_of_it_is_loaded() {
    let bucket = Bucket::new().await;
    bucket.ran("create file format pq type = parquet").await;
    let whole = parquet(&bucket.world, 50_000).await;
    let rows = footer(&whole);
    let without_rows = [&whole[..rows / 2], &whole[rows..]].concat();
    let copy = "copy into t from @s file_format = (type = parquet) match_by_column_name = case_insensitive";
    for cut in [&whole[..whole.len() - 20], &whole[..rows / 2], &whole[..3], without_rows.as_slice()] {
        bucket.put("in/a.parquet", cut);
        for sql in [copy, "select $1:id from @s (file_format => 'pq')"] {
            let (code, said) = refused(&bucket, sql).await;
            assert!(said.starts_with("a.parquet: it is no whole Parquet file"), "{} bytes: {said}", cut.len());
            assert_eq!(code, Code::InvalidParams, "{said}");
        }
    }
    bucket.put("in/a.parquet", whole);
    assert_eq!(bucket.ran(copy).await, loaded("a.parquet", 50_000));
    bucket.world.stop().await;
}

#[tokio::test]
async fn a_small_file_that_unpacks_to_very_much_is_read_no_further_than_the_limit() {
    let bucket = Bucket::of(world_with_disk(2 * READ_BYTES_MAX).await).await;
    bucket.put("in/lines.csv.gz", packed(&"1\n".repeat(1 << 19)).repeat(1024)); // 1 GiB of lines
    bucket.put("in/line.csv.gz", packed(&"1".repeat(1 << 20)).repeat(1024)); // and one line of as much
    bucket.put("in/good.csv", "7\n");
    for (file, told) in [
        ("lines", "lines.csv.gz: unpacked it has more than 8 MiB, which is all that may be read at one time"),
        ("line", "line 1 of line.csv.gz: it is longer than 4 MiB"),
    ] {
        for sql in [format!("copy into t from @s/{file}.csv.gz"), format!("select $1 from @s/{file}.csv.gz")] {
            let (code, said) = refused(&bucket, &sql).await;
            assert!(said.starts_with(told), "{sql}: {said}");
            assert_eq!(code, Code::InvalidParams, "{sql}");
        }
    }
    let skipped = bucket.ran("copy into t from @s files = ('lines.csv.gz', 'good.csv') on_error = skip_file").await;
    assert!(skipped.contains("LOAD_FAILED") && skipped.contains(r#"["good.csv","LOADED",1,1"#), "{skipped}");
    assert_eq!(bucket.world.count("select count(*) from t").await, 1);
    bucket.world.stop().await;
}

#[tokio::test]
async fn a_line_of_a_gigabyte_is_read_no_further_than_a_line_may_be() {
    let bucket = Bucket::new().await;
    bucket.put("in/a.csv", "1\n");
    bucket.is(Mode::Long);
    for sql in ["copy into t from @s", "select $1 from @s"] {
        let (code, said) = refused(&bucket, sql).await;
        assert_eq!((code, said.as_str()), (Code::InvalidParams, "line 1 of a.csv: it is longer than 4 MiB"));
    }
    let course = Arc::clone(&bucket.kept.lock().unwrap().course);
    let sent = course.pieces.load(Ordering::Relaxed);
    assert!(sent < LONG_PIECES / 4, "{sent} of {LONG_PIECES} pieces were read");
    bucket.is(Mode::Well);
    assert_eq!(bucket.ran("copy into t from @s").await, loaded("a.csv", 1));
    bucket.world.stop().await;
}

#[tokio::test]
async fn an_object_that_is_replaced_while_it_is_read_is_read_of_no_two_states() {
    let bucket = Bucket::new().await;
    bucket.put("in/a.csv", "1\n".repeat(500_000));
    bucket.is(Mode::Replaces);
    for sql in ["copy into t from @s", "select count(*) from @s"] {
        let (_, said) = refused(&bucket, sql).await;
        assert!(said.starts_with("a.csv: ") && said.ends_with("try again"), "{said}");
    }
    bucket.is(Mode::Well);
    assert_eq!(bucket.ran("copy into t from @s").await, loaded("a.csv", 500_000));
    bucket.world.stop().await;
}

#[tokio::test]
async fn a_load_whose_engine_is_killed_is_whole_or_not_there() {
    let bucket = Bucket::new().await;
    bucket.put("in/a.csv", "1\n".repeat(500_000));
    bucket.is(Mode::Waits);
    let course = Arc::clone(&bucket.kept.lock().unwrap().course);
    let killed_halfway = async {
        course.halfway.notified().await;
        let process = bucket.world.engine_id().to_string();
        assert!(Command::new("kill").args(["-KILL", &process]).status().unwrap().success());
        bucket.is(Mode::Well);
        course.goes_on.notify_one();
    };
    let copy = "copy into t from @s";
    let (ran, ()) = tokio::join!(bucket.world.run(copy), killed_halfway);
    let count = async || bucket.world.count("select count(*) from t").await;
    let left = if ran.is_ok() { 500_000 } else { 0 };
    assert_eq!(count().await, left, "{:?}", ran.err());
    bucket.ran(copy).await;
    assert_eq!(count().await, 500_000, "a retry loads it once");
    bucket.world.stop().await;
}

#[tokio::test]
async fn a_load_that_is_cancelled_halfway_is_not_there_and_may_be_sent_again() {
    let bucket = Bucket::new().await;
    bucket.put("in/a.csv", "1\n".repeat(500_000));
    bucket.is(Mode::Waits);
    let course = Arc::clone(&bucket.kept.lock().unwrap().course);
    let copy = "copy into t from @s";
    let ask = bucket.world.ask(owner_id(), copy);
    let cancel = ask.cancel.clone();
    let cancelled_halfway = async {
        course.halfway.notified().await;
        cancel.cancel(); // as a shutdown does
    };
    let (ran, ()) = tokio::join!(bucket.world.whole(ask), cancelled_halfway);
    let error = ran.unwrap_err();
    assert_eq!(error.code(), Code::QueryCancelled, "{error}");
    assert_eq!(bucket.world.count("select count(*) from t").await, 0);
    assert_eq!(std::fs::read_dir(bucket.world.spool()).unwrap().count(), 0, "a file is left");
    bucket.is(Mode::Well);
    assert_eq!(bucket.ran(copy).await, loaded("a.csv", 500_000));
    bucket.world.stop().await;
}
