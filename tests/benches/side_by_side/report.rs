//! The table that is printed: Markdown, one case after another.

use std::time::Duration;

use crate::Case;
use crate::ways::WAYS;

/// The times of one way in one case.
#[derive(Debug, Default)]
pub struct Figures(Vec<Duration>);

impl Figures {
    pub fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// By the nearest rank: with fewer than a hundred times the 99th is the worst.
    fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).copied().unwrap_or_default()
    }
}

pub fn head() {
    let build = if cfg!(debug_assertions) { "with debug assertions: not what is shipped" } else { "optimised" };
    println!("\nBuild: {build}. Times in ms; in brackets: how many times the direct one.\n");
    let ways: Vec<_> = WAYS.iter().map(|way| way.name()).collect();
    println!("| case | rounds | | {} |", ways.join(" | "));
    println!("|---|--:|---|{}", "--:|".repeat(WAYS.len()));
}

pub fn case(case: &Case, figures: &[Figures; WAYS.len()]) {
    let rounds = figures.first().map_or(0, |figures| figures.0.len());
    for (name, percent) in [("median", 50), ("p99", 99)] {
        let times: Vec<_> = figures.iter().map(|figures| figures.percentile(percent)).collect();
        let cells: Vec<_> = times.iter().map(|time| against(*time, times.first().copied())).collect();
        println!("| {} | {rounds} | {name} | {} |", case.name, cells.join(" | "));
    }
    if case.rows > 1 {
        let cells: Vec<_> = figures.iter().map(|figures| per_second(case.rows, figures.percentile(50))).collect();
        println!("| {} | {rounds} | M rows/s | {} |", case.name, cells.join(" | "));
    }
}

fn against(time: Duration, direct: Option<Duration>) -> String {
    let ratio = direct.map_or(f64::NAN, |direct| time.as_secs_f64() / direct.as_secs_f64());
    format!("{:.3} (×{ratio:.1})", time.as_secs_f64() * 1_000.0)
}

fn per_second(rows: u64, time: Duration) -> String {
    let rows = u32::try_from(rows).map_or(f64::NAN, f64::from);
    format!("{:.2}", rows / time.as_secs_f64() / 1e6)
}
