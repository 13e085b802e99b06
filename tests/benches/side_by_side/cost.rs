//! The cost of a statement to the machine: the data plane and its engine together, which run as a pod runs them, beside
//! the library in this process. The client costs nothing here.
//!
//! Allocations cannot be counted from outside of a process; pages of memory that it had to be given can.

use tests::pods::{Installation, Pod, Spent};

use crate::amounts::Amounts;
use crate::figures;
use crate::goals::{Bound, Goals};
use crate::sides::{alone, point, points};
use crate::ways;

/// Run before those that count.
const WARM: u64 = 50;

pub async fn print(amounts: &Amounts, goals: &mut Goals) {
    let installation = Installation::new().await;
    let pod = Pod::start(&installation, &[]).await;
    installation.psql.route(&[pod.psql]);
    pod.until("ready").await;
    let client = installation.psql().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let direct = alone(&folder.path().join("direct.duckdb"));
    for sql in points(amounts) {
        direct.execute_batch(&sql).unwrap();
        client.batch_execute(&sql).await.unwrap();
    }
    let title = format!("Processor time and new pages of memory a statement, of {}", amounts.statements);
    figures::table(&title, &["statement", "direct", "pages", "both processes, pgwire", "pages"]);
    let lookup = |round: u64| point(amounts.points, round);
    let answer = |round: u64| format!("select {round}");
    for (name, text) in [("`select n`", &answer as &dyn Fn(u64) -> String), ("a row by its key", &lookup)] {
        // Texts that do not come again: nothing is answered from the cache.
        for round in amounts.statements..amounts.statements + WARM {
            assert_eq!(ways::direct(&direct, &text(round)), 1);
            assert_eq!(ways::binary(&client, &text(round)).await, 1);
        }
        let before = Spent::here();
        for round in 0..amounts.statements {
            assert_eq!(ways::direct(&direct, &text(round)), 1);
        }
        let straight = Spent::here().since(before);
        let before = pod.spent();
        for round in 0..amounts.statements {
            assert_eq!(ways::binary(&client, &text(round)).await, 1);
        }
        let governed = pod.spent().since(before);
        let [straight, governed] = [straight, governed].map(|spent| each(spent, amounts.statements));
        let cells = [straight, governed].map(|(ms, pages)| [format!("{ms:.3} ms"), format!("{pages:.1}")]);
        figures::row(&[&[name.to_owned()], cells.concat().as_slice()].concat());
        let bound = Bound::AtMost(0.45, Some(0.36));
        goals.add(&format!("{name}: processor time of both processes, ms"), governed.0, bound);
    }
    drop(pod);
    installation.end().await;
}

/// Milliseconds and pages of one of so many.
fn each(spent: Spent, statements: u64) -> (f64, f64) {
    let statements = figures::real(statements);
    (spent.time.as_secs_f64() * 1_000.0 / statements, figures::real(spent.pages) / statements)
}
