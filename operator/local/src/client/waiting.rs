//! A sign of life for what takes longer than two seconds: on standard error, and only on a terminal.

use std::pin::pin;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

const QUIET: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(120);

/// Does the work; from the third second on it says what is under way.
pub async fn waited<T>(what: &str, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    if let Ok(done) = tokio::time::timeout(QUIET, &mut work).await {
        return done;
    }
    let bar = ProgressBar::new_spinner(); // hidden where standard error is no terminal
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar.enable_steady_tick(TICK);
    let done = work.await;
    bar.finish_and_clear();
    done
}
