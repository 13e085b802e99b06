//! Rows of the table, and what they are counted from.

use std::collections::BTreeMap;

use jiff::SignedDuration;

pub fn row(what: &str, figure: impl std::fmt::Display) {
    println!("| {what} | {figure} |");
}

pub fn milliseconds(duration: SignedDuration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

#[expect(clippy::cast_precision_loss, reason = "a process's memory")]
fn mebibytes(kibibytes: u64) -> f64 {
    kibibytes as f64 / 1_024.0
}

/// Of a process: all that it has, and the part that is its own; both in KiB.
pub fn memory(when: &str, all: u64, own: u64) {
    let (all, own) = (mebibytes(all), mebibytes(own));
    row(&format!("memory {when}, and what of it is no page of the program"), format_args!("{all:.1} and {own:.1} MiB"));
}

/// Nearest rank.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank among a few thousand"
)]
pub fn quantile(samples: &mut [f64], part: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let rank = (samples.len() as f64 * part).ceil().max(1.0) as usize;
    samples.get(rank - 1).copied().unwrap_or(f64::NAN)
}

/// The operator's own histogram of its step `apply`: how many took at most so many seconds.
#[derive(Default)]
pub struct Times(BTreeMap<String, f64>);

impl Times {
    pub fn of(metrics: &str) -> Self {
        let lines = metrics.lines().filter(|line| {
            line.starts_with("sluice_operator_step_seconds_bucket")
                && line.contains(r#"kind="Environment""#)
                && line.contains(r#"step="apply""#)
        });
        let bucket = |line: &str| {
            let bound = line.split_once(r#"le=""#)?.1.split_once('"')?.0.to_owned();
            Some((bound, line.rsplit(' ').next()?.parse().ok()?))
        };
        Self(lines.filter_map(bucket).collect())
    }

    pub fn since(mut self, before: &Self) -> Self {
        for (bound, count) in &mut self.0 {
            *count -= before.0.get(bound).copied().unwrap_or_default();
        }
        self
    }

    /// The bound of the bucket that it lies in.
    pub fn quantile(&self, part: f64) -> String {
        let mut buckets: Vec<(f64, f64)> =
            self.0.iter().map(|(bound, count)| (bound.parse().unwrap_or(f64::INFINITY), *count)).collect();
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all = buckets.last().map_or(0.0, |(_, count)| *count);
        let bound = buckets.iter().find(|(_, count)| *count >= all * part).map_or(f64::NAN, |(bound, _)| *bound);
        format!("≤ {:.0} ms", bound * 1_000.0)
    }
}
