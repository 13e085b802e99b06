//! The stage of the demo: a CSV and a Parquet file about the customers of TPC-H, with their file formats.

use reqwest::Method;
use serde_json::{Value, json};

use super::Error;
use crate::client::Api;
use crate::env_file::Access;

/// Visits of customers, to be loaded. Its first line names the columns.
const VISITS: &[u8] = include_bytes!("visits.csv");
/// Ratings of customers, to be read in place.
const RATINGS: &[u8] = include_bytes!("ratings.parquet");
/// The files by their names.
const FILES: [(&str, &[u8]); 2] = [("visits.csv", VISITS), ("ratings.parquet", RATINGS)];
/// The stage is made last: where it is, the formats are.
const MADE: [&str; 3] = [
    "create file format if not exists csv type = csv skip_header = 1",
    "create file format if not exists parquet type = parquet",
    "create stage if not exists files comment = 'Visits and ratings of customers'",
];

/// Puts the files into the demo's stage, as any client does. A stage that has files is left as it is.
pub async fn stage(demo: &Access) -> Result<(), Error> {
    let api = Api::new(&demo.url(), &demo.key, None)?;
    let environment = format!("/v1/environments/{}", demo.env_id);
    let files = format!("{environment}/stages/files/files");
    // Absent, or not to be listed: then it is made, and the reason is told if it cannot be.
    if let Ok(listed) = api.get(&files).await
        && listed.get("files").and_then(Value::as_array).is_some_and(|files| !files.is_empty())
    {
        return Ok(());
    }
    for sql in MADE {
        api.post(&format!("{environment}/query"), &json!({"sql": sql})).await?;
    }
    for (name, bytes) in FILES {
        let request = api.request(Method::PUT, &format!("{files}/{name}"));
        api.record(request.header(http::header::CONTENT_TYPE, "application/octet-stream").body(bytes)).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_what_its_name_says_and_small() {
        for (name, bytes) in FILES {
            assert!(!bytes.is_empty() && bytes.len() < 4_096, "{name}");
        }
        assert!(VISITS.starts_with(b"custkey,visited,pages\n"));
        assert!(RATINGS.starts_with(b"PAR1") && RATINGS.ends_with(b"PAR1"));
    }
}
