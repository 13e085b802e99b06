//! The metrics endpoint: in the format of OpenMetrics where that is asked for, as
//! Prometheus does, and in Prometheus' older one for everybody else, its own checker among them.
//!
//! They differ in what they say about the numbers: of a counter the older one names the series.

use std::collections::HashSet;
use std::fmt;

use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use contract::wire::probe::METRICS_TYPE;

const OPENMETRICS: &str = "application/openmetrics-text";
const PLAIN_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The answer to a scrape. `measured` is in the format of OpenMetrics.
pub fn answered(asked: &HeaderMap, measured: Result<String, fmt::Error>) -> Response {
    let Ok(measured) = measured else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let mut accepted = asked.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if accepted.any(|accepted| accepted.contains(OPENMETRICS)) {
        return ([(CONTENT_TYPE, METRICS_TYPE)], measured).into_response();
    }
    ([(CONTENT_TYPE, PLAIN_TYPE)], plain(&measured)).into_response()
}

fn plain(measured: &str) -> String {
    let types = measured.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"));
    let counters: HashSet<&str> = types.collect();
    let mut out = String::with_capacity(measured.len() + 1_024);
    for line in measured.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("EOF" | "UNIT"), ..) => continue,
            (Some("#"), Some(what), Some(name), Some(rest)) if counters.contains(name) => {
                out.extend(["# ", what, " ", name, "_total ", rest]);
            }
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: &str = "# HELP x_queries Queries.\n# TYPE x_queries counter\nx_queries_total{door=\"rest\"} 3\n\
        # HELP x_seconds How long.\n# TYPE x_seconds gauge\n# UNIT x_seconds seconds\nx_seconds 1.5\n# EOF\n";

    #[test]
    fn the_older_format_names_the_series_of_a_counter_and_has_no_end() {
        let expected = "# HELP x_queries_total Queries.\n# TYPE x_queries_total counter\nx_queries_total{door=\"rest\"} 3\n\
            # HELP x_seconds How long.\n# TYPE x_seconds gauge\nx_seconds 1.5\n";
        assert_eq!(plain(MEASURED), expected);
    }

    #[test]
    fn a_scraper_gets_what_it_accepts() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        for (accept, expected) in [(Some(prometheus), METRICS_TYPE), (Some("*/*"), PLAIN_TYPE), (None, PLAIN_TYPE)] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(ACCEPT, accept.parse().unwrap());
            }
            let answer = answered(&headers, Ok(MEASURED.to_owned()));
            assert_eq!(answer.headers()[CONTENT_TYPE], expected, "{accept:?}");
        }
        assert_eq!(answered(&HeaderMap::new(), Err(fmt::Error)).status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
