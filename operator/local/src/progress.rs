//! Progress for a person who waits: a spinner on a terminal, a line elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// One step of a start.
pub struct Step {
    bar: ProgressBar,
    name: &'static str,
    began: Instant,
}

impl Step {
    pub fn begin(name: &'static str, what: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("  {prefix:9} {spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.set_prefix(name);
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar, name, began: Instant::now() }
    }

    /// Leaves one line behind, with the time it took.
    pub fn done(self, what: &str) {
        self.bar.finish_and_clear();
        let seconds = self.began.elapsed().as_secs_f64();
        say(&format!("  {:9} {what} ({seconds:.1} s)", self.name));
    }
}

/// A line for the person who started the command.
#[expect(clippy::print_stdout, reason = "the one place where the command speaks to a person")]
pub fn say(line: &str) {
    println!("{line}");
}
