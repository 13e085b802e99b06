//! Printing of figures as Markdown.

use std::time::Duration;

/// Times of one thing, measured again and again.
#[derive(Debug, Default, Clone)]
pub struct Figures(Vec<Duration>);

impl Figures {
    pub fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    pub fn all(&mut self, of: Self) {
        self.0.extend(of.0);
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// By the nearest rank: with fewer than a hundred times the 99th is the worst.
    pub fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).copied().unwrap_or_default()
    }

    pub fn median(&self) -> Duration {
        self.percentile(50)
    }
}

pub fn head() {
    let build = if cfg!(debug_assertions) { "with debug assertions: not what is shipped" } else { "optimised" };
    println!("\nBuild: {build}. Times in ms; in brackets: how many times the direct one.");
}

/// The title of a table, its columns, and the line below them: the first is words, the others numbers.
pub fn table(title: &str, columns: &[&str]) {
    println!("\n### {title}\n\n| {} |", columns.join(" | "));
    println!("|---|{}", "--:|".repeat(columns.len() - 1));
}

pub fn row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

pub fn ms(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1_000.0)
}

pub fn against(time: Duration, direct: Duration) -> String {
    format!("{} (×{:.2})", ms(time), ratio(time, direct))
}

pub fn ratio(time: Duration, direct: Duration) -> f64 {
    time.as_secs_f64() / direct.as_secs_f64()
}

/// Of so many things in this time: how many a second.
pub fn per_second(things: u64, time: Duration) -> f64 {
    real(things) / time.as_secs_f64()
}

/// A count as a number to divide.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
pub fn real(count: u64) -> f64 {
    count as f64
}
