//! One client and one side at a time: a statement where nothing else has the caches between two of them.

use std::time::{Duration, Instant};

use tests::World;
use tokio::runtime::Builder;
use tokio_postgres::Client;

use crate::amounts::Amounts;
use crate::figures::{self, Figures};
use crate::goals::{Bound, Goals};
use crate::sides::{Caller, Sides, key, point};
use crate::ways;

/// By a key that is sent beside the text.
const PREPARED: &str = "select id, name, amount from points where id = $1";
/// Run before those that count.
const WARM: u64 = 50;

/// A figure that is compared with the library's unprepared statement of the same row.
struct Row {
    name: &'static str,
    figures: Figures,
}

pub async fn print(sides: &Sides, amounts: &Amounts, goals: &mut Goals) {
    let title = format!("One client, one side at a time, medians of {} statements", amounts.statements);
    figures::table(&title, &["statement", "median", "p99"]);
    let whole = |_| "select 42".to_owned();
    let lookup = |round| point(amounts.points, round);
    let same = point(amounts.points, 1);
    let [owner, analyst] = [Caller::Owner, Caller::Analyst].map(|caller| WireClient::of(sides, caller));
    let answer = direct(sides, amounts, whole);
    let by_key = direct(sides, amounts, lookup);
    let rows = [
        Row { name: "`select 42`: wire", figures: owner.run(amounts, whole) },
        Row { name: "a row by its key: wire", figures: owner.run(amounts, lookup) },
        Row { name: "the same, filtered and masked: wire", figures: analyst.run(amounts, lookup) },
        Row { name: "the same text again and again: wire", figures: cached(sides, amounts, &same).await },
        Row { name: "prepared: direct", figures: direct_prepared(sides, amounts) },
        Row { name: "prepared: wire", figures: owner.run_prepared(amounts) },
    ];
    told("`select 42`: direct", &answer, &answer);
    told("a row by its key: direct", &by_key, &by_key);
    let of = |place: usize| if place == 0 { &answer } else { &by_key };
    for (place, row) in rows.iter().enumerate() {
        told(row.name, &row.figures, of(place));
    }
    let bounds = [
        Bound::AtMost(2.0, Some(1.3)),
        Bound::AtMost(2.0, Some(1.3)),
        Bound::AtMost(2.3, Some(1.5)),
        Bound::AtMost(1.0, None),
    ];
    for ((place, row), bound) in rows.iter().enumerate().zip(bounds) {
        let ratio = figures::ratio(row.figures.median(), of(place).median());
        goals.add(&format!("{} ÷ direct, alone", row.name), ratio, bound);
    }
}

fn told(name: &str, figures: &Figures, direct: &Figures) {
    let cells = [50, 99].map(|percent| figures::against(figures.percentile(percent), direct.percentile(percent)));
    let [median, p99] = cells;
    figures::row(&[name.to_owned(), median, p99]);
}

fn direct(sides: &Sides, amounts: &Amounts, text: impl Fn(u64) -> String) -> Figures {
    let mut figures = Figures::default();
    for round in 0..WARM + amounts.statements {
        let sql = text(round);
        let began = Instant::now();
        assert_eq!(ways::direct(&sides.direct, &sql), 1, "{sql}");
        count(&mut figures, round, began.elapsed());
    }
    figures
}

/// Answered from the cache, which is off for all others.
async fn cached(sides: &Sides, amounts: &Amounts, sql: &str) -> Figures {
    sides.cached(sql, true).await;
    let figures = WireClient::of(sides, Caller::Owner).run(amounts, |_| sql.to_owned());
    sides.cached(sql, false).await;
    figures
}

fn direct_prepared(sides: &Sides, amounts: &Amounts) -> Figures {
    let mut figures = Figures::default();
    let mut statement = sides.direct.prepare(PREPARED).unwrap();
    for round in 0..WARM + amounts.statements {
        let began = Instant::now();
        let batches = statement.stream_arrow([key(amounts.points, round)]).unwrap();
        assert_eq!(batches.map(|batch| batch.num_rows()).sum::<usize>(), 1);
        count(&mut figures, round, began.elapsed());
    }
    figures
}

/// A program with one connection, which it drives on the thread that waits for the answer.
struct WireClient<'a> {
    world: &'a World,
    key: &'a str,
}

impl<'a> WireClient<'a> {
    fn of(sides: &'a Sides, caller: Caller) -> Self {
        Self { world: &sides.world, key: sides.key(caller) }
    }

    fn run(&self, amounts: &Amounts, text: impl Fn(u64) -> String + Sync) -> Figures {
        self.connected(async |client| {
            let mut figures = Figures::default();
            for round in 0..WARM + amounts.statements {
                let sql = text(round);
                let began = Instant::now();
                assert_eq!(ways::binary(client, &sql).await, 1, "{sql}");
                count(&mut figures, round, began.elapsed());
            }
            figures
        })
    }

    fn run_prepared(&self, amounts: &Amounts) -> Figures {
        self.connected(async |client| {
            let mut figures = Figures::default();
            let statement = client.prepare(PREPARED).await.unwrap();
            for round in 0..WARM + amounts.statements {
                let key = i64::try_from(key(amounts.points, round)).unwrap();
                let began = Instant::now();
                assert_eq!(client.query(&statement, &[&key]).await.unwrap().len(), 1);
                count(&mut figures, round, began.elapsed());
            }
            figures
        })
    }

    fn connected(&self, work: impl AsyncFnOnce(&Client) -> Figures + Send) -> Figures {
        let program = || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async { work(&self.world.psql(self.key).await.unwrap()).await })
        };
        std::thread::scope(|scope| scope.spawn(program).join().unwrap())
    }
}

fn count(figures: &mut Figures, round: u64, took: Duration) {
    if round >= WARM {
        figures.add(took);
    }
}
