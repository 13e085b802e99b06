//! A bucket on loopback that answers as it is told: what is kept of its objects, and how it fails.

mod faults;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Response, Uri, header};
use contract::storage_integration::{AccessKey, StorageCredentials, StorageKind};
use contract::{Redacted, StorageIntegration};
use dataplane::storage::stage_files::ReachableHosts;
use futures::{StreamExt, stream};
use tokio::net::TcpListener;
use tokio::sync::{Barrier, Notify};
use tokio::task::JoinSet;

use crate::copied::packed;
use crate::world::{World, world};

/// How requests for an object are answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Well,
    /// Another server is named.
    Redirects,
    /// 503.
    Away,
    /// 403, with the key in the answer.
    Denies,
    /// The connection ends in the middle.
    Cuts,
    /// The object is another each time.
    Changes,
    /// The object is another from the second request on.
    ChangesOnce,
    /// The connection ends in the middle, and the object is another from then on.
    Replaces,
    /// The second half of an object waits until it is let go.
    Waits,
    /// Each object is of [`LONG_PIECES`] pieces, which are one line.
    Long,
}

/// Pieces of a long object, of 1 MiB each.
const LONG_PIECES: usize = 1024;
static PIECE: [u8; 1 << 20] = [b'x'; 1 << 20];

/// Events at the bucket while it answers.
#[derive(Default)]
struct Course {
    /// The first half of an object has gone out.
    halfway: Notify,
    /// The second half may go.
    goes_on: Notify,
    /// Pieces of long objects that have gone out.
    pieces: AtomicUsize,
}

pub(super) struct Kept {
    objects: BTreeMap<String, Vec<u8>>,
    parts: BTreeMap<u32, Vec<u8>>,
    mode: Mode,
    changes: u32,
    /// Requests for objects since the mode has come.
    asked: u32,
    /// Bytes of objects that were sent.
    pub sent: usize,
    /// Parquet files are sent once so many of them are asked for.
    pub together: Option<Arc<Barrier>>,
    /// So many of the next requests are answered that they come too fast.
    too_fast: u32,
    course: Arc<Course>,
}

type Shared = Arc<Mutex<Kept>>;

pub(super) struct Bucket {
    pub world: World,
    pub kept: Shared,
    _serving: JoinSet<()>,
}

impl Bucket {
    pub async fn new() -> Self {
        Self::of(world().await).await
    }

    async fn of(mut world: World) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kept: Shared = Arc::new(Mutex::new(Kept {
            objects: BTreeMap::new(),
            parts: BTreeMap::new(),
            mode: Mode::Well,
            changes: 0,
            asked: 0,
            sent: 0,
            together: None,
            too_fast: 0,
            course: Arc::default(),
        }));
        let asked = Arc::clone(&kept);
        let app = Router::new().fallback(move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let asked = Arc::clone(&asked);
            async move {
                let is_file = method == Method::GET && uri.path().ends_with(".parquet");
                let together = asked.lock().unwrap().together.clone().filter(|_| is_file);
                if let Some(together) = together {
                    together.wait().await;
                }
                answered(&mut asked.lock().unwrap(), (&method, &uri), &headers, &body)
            }
        });
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Arc::get_mut(&mut world.pipeline).unwrap().storage_hosts = ReachableHosts::new([address.to_string()]);
        let integration = StorageIntegration {
            name: "lake".to_owned(),
            kind: StorageKind::S3 {
                endpoint: Some(format!("http://{address}")),
                region: "eu-west-1".to_owned(),
                path_style: true,
            },
            allowed_prefixes: vec!["s3://lake/in/".to_owned()],
            blocked_prefixes: vec!["s3://lake/in/secret/".to_owned()],
            enabled: true,
            credentials: StorageCredentials::AccessKey(AccessKey {
                access_key_id: Redacted::new("AKIDSESAME".to_owned()),
                secret_access_key: Redacted::new("open-sesame".to_owned()),
                session_token: Redacted::new(None),
            }),
        };
        world.change(|rules| rules.storage_integrations = vec![integration]);
        let bucket = Self { world, kept, _serving: serving };
        bucket.ran("create stage s url = 's3://lake/in/' storage_integration = lake").await;
        bucket.ran("create table t (id integer)").await;
        bucket
    }

    pub fn put(&self, key: &str, bytes: impl Into<Vec<u8>>) {
        self.kept.lock().unwrap().objects.insert(key.to_owned(), bytes.into());
    }

    fn object(&self, key: &str) -> Option<Vec<u8>> {
        self.kept.lock().unwrap().objects.get(key).cloned()
    }

    pub fn is(&self, mode: Mode) {
        let mut kept = self.kept.lock().unwrap();
        (kept.mode, kept.asked) = (mode, 0);
    }

    pub async fn ran(&self, sql: &str) -> String {
        self.world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).json
    }

    pub async fn refused(&self, sql: &str) -> String {
        self.world.run(sql).await.unwrap_err().to_string()
    }
}

fn tag(kept: &Kept, bytes: &[u8]) -> String {
    format!("\"{}-{}-{}\"", bytes.len(), bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>(), kept.changes)
}

fn said(status: u16, body: impl Into<Body>) -> Response<Body> {
    Response::builder().status(status).body(body.into()).unwrap()
}

fn answered(kept: &mut Kept, (method, uri): (&Method, &Uri), headers: &HeaderMap, body: &Bytes) -> Response<Body> {
    let query = uri.query().unwrap_or_default();
    let number = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.parse::<u32>().ok());
    assert!(headers.contains_key(header::AUTHORIZATION), "each request is signed");
    if let Some(fewer) = kept.too_fast.checked_sub(1) {
        kept.too_fast = fewer;
        return said(503, "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>");
    }
    if kept.mode == Mode::Denies {
        return said(403, "<Error><AWSAccessKeyId>AKIDSESAME</AWSAccessKeyId></Error>");
    }
    let Some(key) = uri.path().strip_prefix("/lake/").filter(|key| !key.is_empty()) else { return listed(kept, query) };
    kept.asked += 1;
    match kept.mode {
        Mode::Redirects => {
            let moved = Response::builder().status(307).header(header::LOCATION, "http://169.254.169.254/latest/");
            return moved.body(Body::empty()).unwrap();
        }
        Mode::Away => return said(503, "<Error><Code>SlowDown</Code></Error>"),
        Mode::Changes => kept.changes += 1,
        Mode::ChangesOnce => kept.changes = u32::from(kept.asked > 1),
        Mode::Well | Mode::Denies | Mode::Cuts | Mode::Replaces | Mode::Waits | Mode::Long => {}
    }
    match (method.as_str(), number("partNumber="), query.contains("uploadId=")) {
        ("PUT", Some(part), _) => {
            kept.parts.insert(part, body.to_vec());
            Response::builder().header(header::ETAG, format!("\"{part}\"")).body(Body::empty()).unwrap()
        }
        ("POST", _, false) => {
            said(200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
        }
        ("POST", _, true) => {
            let whole: Vec<u8> = std::mem::take(&mut kept.parts).into_values().flatten().collect();
            kept.objects.insert(key.to_owned(), whole);
            said(200, "<CompleteMultipartUploadResult><ETag>\"whole\"</ETag></CompleteMultipartUploadResult>")
        }
        ("DELETE", _, true) => {
            kept.parts.clear();
            said(204, Body::empty())
        }
        ("DELETE", _, false) => {
            kept.objects.remove(key);
            said(204, Body::empty())
        }
        ("PUT", None, _) if headers.contains_key(header::IF_NONE_MATCH) && kept.objects.contains_key(key) => {
            said(412, "")
        }
        ("PUT", None, _) => {
            kept.objects.insert(key.to_owned(), body.to_vec());
            let tag = tag(kept, body);
            Response::builder().header(header::ETAG, tag).body(Body::empty()).unwrap()
        }
        _ => got(kept, key, headers),
    }
}

fn got(kept: &mut Kept, key: &str, headers: &HeaderMap) -> Response<Body> {
    let Some(bytes) = kept.objects.get(key) else { return said(404, "") };
    let (tag, size) = (tag(kept, bytes), bytes.len());
    if headers.get(header::IF_MATCH).is_some_and(|wanted| wanted.as_bytes() != tag.as_bytes()) {
        return said(412, "");
    }
    let part = headers.get(header::RANGE).map(|range| asked_for(range.to_str().unwrap(), size));
    let bytes = Bytes::copy_from_slice(part.clone().map_or(bytes.as_slice(), |part| &bytes[part]));
    kept.sent += bytes.len();
    let mut answer = Response::builder()
        .header(header::ETAG, tag)
        .header(header::LAST_MODIFIED, "Thu, 01 Jan 2026 00:00:00 GMT")
        .header(header::CONTENT_LENGTH, listed_bytes(kept.mode, &bytes));
    if let Some(part) = part {
        let said = format!("bytes {}-{}/{size}", part.start, part.end - 1);
        answer = answer.status(206).header(header::CONTENT_RANGE, said);
    }
    let (half, rest) = (bytes.slice(..bytes.len() / 2), bytes.slice(bytes.len() / 2..));
    let course = Arc::clone(&kept.course);
    let body = match kept.mode {
        Mode::Cuts | Mode::Replaces => Body::from_stream(stream::iter([Ok(half), Err(std::io::Error::other("cut"))])),
        Mode::Waits => {
            course.halfway.notify_one();
            let waiting = async move {
                course.goes_on.notified().await;
                Ok::<_, std::io::Error>(rest)
            };
            Body::from_stream(stream::iter([Ok(half)]).chain(stream::once(waiting)))
        }
        Mode::Long => Body::from_stream(stream::iter(0..LONG_PIECES).map(move |_| {
            course.pieces.fetch_add(1, Ordering::Relaxed);
            Ok::<_, std::io::Error>(Bytes::from_static(&PIECE))
        })),
        _ => Body::from(bytes),
    };
    if kept.mode == Mode::Replaces {
        kept.changes += 1;
    }
    answer.body(body).unwrap()
}

/// As many bytes as an object is said to have.
fn listed_bytes(mode: Mode, bytes: &[u8]) -> usize {
    if mode == Mode::Long { LONG_PIECES * PIECE.len() } else { bytes.len() }
}

/// The bytes of `bytes=4-9` or `bytes=4-`.
fn asked_for(range: &str, size: usize) -> Range<usize> {
    let (start, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    start.parse().unwrap()..last.parse::<usize>().map_or(size, |last| size.min(last + 1))
}

fn listed(kept: &Kept, query: &str) -> Response<Body> {
    let prefix = query.split('&').find_map(|pair| pair.strip_prefix("prefix=")).unwrap_or_default().replace("%2F", "/");
    let mut xml = String::from("<ListBucketResult><IsTruncated>false</IsTruncated>");
    for (key, bytes) in kept.objects.iter().filter(|(key, _)| key.starts_with(&prefix)) {
        let (size, tag) = (listed_bytes(kept.mode, bytes), tag(kept, bytes));
        let _ = write!(
            xml,
            "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>{tag}</ETag>\
             <Size>{size}</Size></Contents>"
        );
    }
    xml.push_str("</ListBucketResult>");
    said(200, xml)
}

#[tokio::test]
async fn objects_of_a_bucket_are_listed_selected_loaded_unloaded_and_removed() {
    let bucket = Bucket::new().await;
    bucket.put("in/a.csv", "1\n2\n");
    bucket.put("in/secret/s.csv", "3\n");
    bucket.put("other/o.csv", "4\n");
    let listed = bucket.ran("list @s").await;
    assert!(listed.contains("s/a.csv") && !listed.contains("secret") && !listed.contains("o.csv"), "{listed}");
    assert_eq!(bucket.ran("select $1 from @s order by 1").await, r#"["1"],["2"]"#);
    bucket.ran("copy into t from @s").await;
    assert_eq!(bucket.world.count("select count(*) from t").await, 2);
    let unload =
        "copy into @s/out/r from (select id from customer order by id) file_format = (type = csv compression = none)";
    bucket.ran(unload).await;
    assert_eq!(bucket.object("in/out/r_0_0_0.csv").unwrap(), b"1\n2\n3\n");
    assert!(bucket.refused(unload).await.contains("already"));
    let large = "copy into @s/large from (select repeat('x', 1000) from range(9000)) file_format = (type = csv compression = none)";
    if bucket.world.run(large).await.is_ok() {
        assert!(bucket.object("in/large_0_0_0.csv").unwrap().len() > 9_000_000, "it went in parts");
    }
    let several = "copy into @s/many/ from (select repeat('x', 100) from range(1000)) max_file_size = 2000 \
                   file_format = (type = csv compression = none)";
    if bucket.world.run(several).await.is_ok() {
        let many = bucket.kept.lock().unwrap().objects.keys().filter(|key| key.starts_with("in/many/")).count();
        assert!(many > 1, "{many}");
    }
    bucket.put("in/p.csv", "9\n");
    bucket.ran("copy into t from @s/p.csv purge = true").await;
    assert!(bucket.object("in/p.csv").is_none(), "it is loaded, and gone");
    bucket.put("in/z.csv.gz", packed("7\n8\n"));
    bucket.ran("copy into t from @s/z").await;
    assert_eq!(bucket.world.count("select count(*) from t").await, 5, "packed by gzip");
    bucket.ran("remove @s/a").await;
    assert!(bucket.object("in/a.csv").is_none() && bucket.object("in/secret/s.csv").is_some());
    for path in ["secret/s", "../other/o", "%2e%2e/other/o"] {
        assert_eq!(bucket.ran(&format!("list '@s/{path}'")).await, "", "{path}");
    }
    bucket.world.stop().await;
}

#[tokio::test]
async fn of_an_object_that_breaks_off_nothing_is_kept() {
    let bucket = Bucket::new().await;
    bucket.put("in/a.csv", "1\n".repeat(500_000)); // so much that half of it is on its way before it is cut
    for (mode, words) in [
        (Mode::Cuts, "try again"),
        (Mode::Changes, "replaced"),
        (Mode::Away, "try again"),
        (Mode::Redirects, "try again"),
        (Mode::Denies, "refuses the credentials"),
    ] {
        bucket.is(mode);
        let said = bucket.refused("copy into t from @s").await;
        assert!(said.contains(words), "{said}");
        assert!(!said.contains("ESAME") && !said.contains("sesame") && !said.contains("127.0.0.1"), "{said}");
        assert_eq!(bucket.world.count("select count(*) from t").await, 0, "{said}");
    }
    let unload = "copy into @s/r from customer file_format = (type = csv compression = none)";
    bucket.is(Mode::Away);
    let said = bucket.refused(unload).await;
    assert!(said.contains("try again") && bucket.object("in/r_0_0_0.csv").is_none(), "{said}");
    bucket.is(Mode::Well);
    bucket.ran("copy into t from @s").await;
    assert_eq!(bucket.world.count("select count(*) from t").await, 500_000, "a retry works");
    bucket.world.stop().await;
}

#[tokio::test]
async fn an_outage_of_the_store_fails_a_load_that_leaves_out_files_that_fail() {
    let bucket = Bucket::new().await;
    bucket.put("in/a.csv", "1\n".repeat(500_000));
    bucket.put("in/b.csv", "7\n");
    bucket.put("in/c.csv.gz", "no gzip");
    for mode in [Mode::Cuts, Mode::Changes] {
        bucket.is(mode);
        for how in ["on_error = continue", "on_error = skip_file", "validation_mode = return_errors"] {
            let refused = bucket.world.run(&format!("copy into t from @s/a {how}")).await.unwrap_err();
            let told = refused.to_string();
            assert!(told.starts_with("a.csv: ") && told.ends_with("try again"), "{how}: {told}");
            assert!([409, 503].contains(&refused.code().http()), "{how}: {told}");
        }
    }
    assert_eq!(bucket.world.count("select count(*) from t").await, 0);
    bucket.is(Mode::Well);
    let of_its_own = bucket.ran("copy into t from @s files = ('b.csv', 'c.csv.gz') on_error = continue").await;
    assert!(of_its_own.contains(r#"["b.csv","LOADED",1,1"#) && of_its_own.contains("LOAD_FAILED"), "{of_its_own}");
    bucket.world.stop().await;
}

#[tokio::test]
async fn an_object_that_comes_in_the_place_of_one_that_is_removed_stays() {
    let bucket = Bucket::new().await;
    bucket.put("in/a.csv", "1\n");
    bucket.is(Mode::Changes);
    let refused = bucket.world.run("remove @s/a").await.unwrap_err();
    assert_eq!(refused.code(), contract::Code::WriteConflict, "{refused}");
    assert!(bucket.object("in/a.csv").is_some());
    bucket.is(Mode::Well);
    bucket.ran("remove @s/a").await;
    assert!(bucket.object("in/a.csv").is_none());
    bucket.world.stop().await;
}
