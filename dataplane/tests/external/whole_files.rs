//! Whole files of external stages over REST: sent, put there and removed, within what the integration allows.

use contract::policy::MaskFunction;
use dataplane::testing::{analyst_id, masking, owner_id};
use serde_json::json;

use super::Disk;
use super::bucket::{Bucket, Mode};
use crate::stage_files::{answered, by, owner};

#[tokio::test]
async fn a_file_of_a_folder_is_sent_put_there_and_removed() {
    let disk = Disk::new().await;
    disk.put("in/2026/a.csv", "1,x\n");
    disk.put("in/secret/s.csv", "sesame\n");
    disk.put("other/o.csv", "sesame\n");
    disk.put("in/.sluice-unfinished.1", "sesame\n");
    disk.stage("s", "in/").await;
    let (status, read) = by(&disk.world, owner_id(), "GET", "s/files/2026%2Fa.csv", "").await;
    assert_eq!((status, read.as_slice()), (200, b"1,x\n".as_slice()));
    assert_eq!(disk.world.last().0.sql_original, "GET main.@s/2026/a.csv, 4 bytes");
    for path in [
        "none.csv",
        "2026",
        "2026%2Fa",
        "2026%2Fa.csv%2Fx",
        ".sluice-unfinished.1",
        "secret%2Fs.csv",
        "..%2Fother%2Fo.csv",
        "%2E%2E%2Fother%2Fo.csv",
    ] {
        let (status, told) = by(&disk.world, owner_id(), "GET", &format!("s/files/{path}"), "").await;
        let told = String::from_utf8_lossy(&told);
        assert!((400..500).contains(&status) && !told.contains("sesame"), "{path}: {status} {told}");
    }
    let (status, put) = owner(&disk.world, "PUT", "s/files/b.csv", "2,y\n").await;
    assert_eq!((status, &put["bytes"]), (200, &json!(4)), "{put}");
    assert_eq!(std::fs::read_to_string(disk.folder.path().join("in/b.csv")).unwrap(), "2,y\n");
    let (status, told) = owner(&disk.world, "PUT", "s/files/secret%2Fb.csv", "2,y\n").await;
    assert!((400..500).contains(&status), "{told}");
    let removed = owner(&disk.world, "DELETE", "s/files/b.csv", "").await;
    assert_eq!(removed, (200, json!({"path": "b.csv", "removed": true})));
    disk.world.change(|rules| rules.policies = vec![masking("main.@s", "x", MaskFunction::Full)]);
    let (status, told) = by(&disk.world, analyst_id(), "GET", "s/files/2026%2Fa.csv", "").await;
    assert_eq!(status, 403, "{}", String::from_utf8_lossy(&told));
    disk.world.stop().await;
}

#[tokio::test]
async fn a_file_is_sent_however_many_others_have_paths_that_begin_so() {
    let bucket = Bucket::new().await;
    bucket.put("in/a.csv", "1\n");
    for number in 0..=10_000 {
        bucket.put(&format!("in/a.csv.{number}"), "");
    }
    let (status, listed) = by(&bucket.world, owner_id(), "GET", "s/files?prefix=a", "").await;
    assert_eq!(status, 400, "{}", String::from_utf8_lossy(&listed));
    let (status, read) = by(&bucket.world, owner_id(), "GET", "s/files/a.csv", "").await;
    assert_eq!((status, read.as_slice()), (200, b"1\n".as_slice()));
    bucket.world.stop().await;
}

#[tokio::test]
async fn an_object_is_sent_whole_or_breaks_off() {
    let bucket = Bucket::new().await;
    bucket.put("in/a.csv", "1\n".repeat(1_000_000));
    let got = async || answered(&bucket.world, owner_id(), "GET", "s/files/a.csv", "").await;
    let whole = axum::body::to_bytes(got().await.into_body(), usize::MAX).await.unwrap();
    assert!(whole == "1\n".repeat(1_000_000), "{} bytes", whole.len());
    bucket.is(Mode::Cuts);
    let cut = got().await;
    assert_eq!(cut.status().as_u16(), 200, "its head has gone out before it breaks off");
    assert!(axum::body::to_bytes(cut.into_body(), usize::MAX).await.is_err());
    for (mode, status) in [(Mode::Away, 503), (Mode::Denies, 403), (Mode::Changes, 409)] {
        bucket.is(mode);
        let told = got().await;
        assert_eq!(told.status().as_u16(), status);
        let told = axum::body::to_bytes(told.into_body(), usize::MAX).await.unwrap();
        let told = String::from_utf8_lossy(&told);
        assert!(!told.contains("ESAME") && !told.contains("sesame") && !told.contains("127.0.0.1"), "{told}");
    }
    bucket.world.stop().await;
}
