//! Where spans go, and how many of them.

use std::fmt;
use std::path::PathBuf;

use clap::Args;
use contract::wire::setting;
use http::Uri;

// A collector, for whoever sends it spans; no documentation, which would be taken for that of the program.
#[derive(Debug, Clone, Args, Default, PartialEq, Eq)]
pub struct Collector {
    #[command(flatten)]
    pub destination: Destination,
    /// File of the authority, as PEM, that an `https://` collector's certificate is of. Absent: the
    /// public ones.
    #[arg(id = "otlp_ca", long = "otlp-ca", value_name = "FILE", env = setting::OTLP_CA)]
    pub ca: Option<PathBuf>,
}

// Where spans go, for whoever names it to others.
#[derive(Debug, Clone, Args, Default, PartialEq, Eq)]
pub struct Destination {
    /// Where spans are sent to, OTLP over gRPC: `http://host:4317` or `https://host:4317`. Absent: none
    /// are made. The collector's own variables `OTEL_…` are read too, such as `OTEL_EXPORTER_OTLP_HEADERS`.
    #[arg(id = "otlp_endpoint", long = "otlp-endpoint", value_name = "URL", env = setting::OTLP_ENDPOINT, value_parser = endpoint)]
    pub endpoint: Option<String>,
    /// Of the requests that come without a trace, the part that is told of, from 0 to 1. A request that
    /// comes with one brings the decision along.
    #[arg(id = "trace_ratio", long = "trace-ratio", value_name = "PART", env = setting::TRACE_RATIO, value_parser = part)]
    pub ratio: Option<Part>,
}

impl Collector {
    /// One that needs no authority of its own, and is told all that is asked.
    pub fn at(endpoint: String) -> Self {
        Self { destination: Destination { endpoint: Some(endpoint), ratio: None }, ca: None }
    }
}

impl Destination {
    /// The port of the endpoint, for whoever opens the way there.
    pub fn port(&self) -> Option<u16> {
        let uri: Uri = self.endpoint.as_deref()?.parse().ok()?;
        Some(uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 }))
    }

    /// All that is asked, unless it is set.
    pub(crate) fn part(&self) -> f64 {
        self.ratio.map_or(1.0, Part::as_f64)
    }
}

fn endpoint(text: &str) -> Result<String, String> {
    let uri: Uri = text.parse().map_err(|_| "a URL is wanted".to_owned())?;
    match (uri.scheme_str(), uri.authority()) {
        (Some("http" | "https"), Some(authority)) if !authority.as_str().contains('@') => Ok(text.to_owned()),
        _ => Err("http://host:port or https://host:port is wanted; a credential goes into OTEL_EXPORTER_OTLP_HEADERS"
            .to_owned()),
    }
}

fn part(text: &str) -> Result<Part, String> {
    match text.parse::<f64>() {
        Ok(part) if (0.0..=1.0).contains(&part) => Ok(Part::of(part)),
        _ => Err("a number from 0 to 1 is wanted".to_owned()),
    }
}

/// From 0 to 1, to the millionth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    millionths: u32,
}

impl Part {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to a million")]
    fn of(part: f64) -> Self {
        Self { millionths: (part * 1e6).round() as u32 }
    }

    fn as_f64(self) -> f64 {
        f64::from(self.millionths) / 1e6
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_f64().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        destination: Destination,
    }

    #[test]
    fn an_endpoint_is_a_url_without_a_credential_and_a_ratio_a_part() {
        let parse = |more: &[&str]| Line::try_parse_from(["x"].iter().chain(more)).map(|line| line.destination);
        assert!((parse(&[]).unwrap().part() - 1.0).abs() < f64::EPSILON);
        let ports = [("http://collector:4317", 4317), ("https://collector", 443), ("http://collector/", 80)];
        for (endpoint, port) in ports {
            assert_eq!(parse(&["--otlp-endpoint", endpoint, "--trace-ratio", "0.1"]).unwrap().port(), Some(port));
        }
        for refused in ["collector:4317", "ftp://collector", "http://user:hush@collector:4317", "http://"] {
            assert!(parse(&["--otlp-endpoint", refused]).is_err(), "{refused}");
        }
        assert_eq!(parse(&["--trace-ratio", "0.25"]).unwrap().ratio.unwrap().to_string(), "0.25");
        for refused in ["-0.1", "1.1", "NaN", "x"] {
            assert!(parse(&[&format!("--trace-ratio={refused}")]).is_err(), "{refused}");
        }
    }
}
