//! One large answer, rows a second and gigabytes a second. What makes a gigabyte is the same for all:
//! the answer in Arrow's own layout.

use std::path::Path;
use std::time::Instant;

use crate::amounts::Amounts;
use crate::counting::CountingClient;
use crate::figures::{self, Figures};
use crate::goals::{Bound, Goals};
use crate::sides::{Caller, Sides};
use crate::{arrow_client, ways};

#[derive(Debug, Clone, Copy)]
enum Way {
    Direct,
    /// The library's own writer of CSV, into a file.
    Csv,
    Text,
    /// The same to a client that makes no rows of it.
    Counted,
    /// `COPY … TO STDOUT`.
    Copy,
    CountedCopy,
    Binary,
    /// `POST /v1/query/arrow`, decoded as it comes.
    RawArrow,
    Flight,
}

const WAYS: [(Way, &str); 9] = [
    (Way::Direct, "direct, `stream_arrow`"),
    (Way::Csv, "direct, CSV into a file"),
    (Way::Text, "pgwire, text"),
    (Way::Counted, "pgwire, text, rows counted alone"),
    (Way::Copy, "pgwire, `COPY … TO STDOUT`"),
    (Way::CountedCopy, "pgwire, `COPY … TO STDOUT`, rows counted alone"),
    (Way::Binary, "pgwire, binary"),
    (Way::RawArrow, "raw Arrow"),
    (Way::Flight, "Flight SQL"),
];

pub async fn print(sides: &Sides, amounts: &Amounts, goals: &mut Goals) {
    let sql = format!("select id, name, amount from wide, range({})", amounts.times);
    let (rows, bytes) = (amounts.wide * amounts.times, ways::arrow_bytes(&sides.direct, &sql));
    let title = format!("An answer of {rows} rows of 3 columns, {bytes} bytes in Arrow");
    figures::table(&title, &["way", "median", "M rows/s", "GB/s", "of direct"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answer.csv");
    let mut counting = CountingClient::open(sides.world.pgwire, &sides.world.key).await;
    let mut measured: [Figures; WAYS.len()] = Default::default();
    for round in 0..=amounts.rounds {
        for turn in 0..WAYS.len() {
            let at = (round + turn) % WAYS.len();
            let (Some((way, _)), Some(figures)) = (WAYS.get(at), measured.get_mut(at)) else { continue };
            let began = Instant::now();
            let count = run(sides, *way, &sql, (file.as_path(), rows), &mut counting).await;
            let took = began.elapsed();
            assert_eq!(count, rows, "{way:?}");
            if round > 0 {
                figures.add(took);
            }
        }
    }
    let [direct, csv, ..] = &measured;
    for ((way, name), figures) in WAYS.iter().zip(&measured) {
        let time = figures.median();
        let goal = match way {
            Way::RawArrow | Way::Flight => Some((direct, "direct", Bound::AtLeast(0.7, Some(0.85)))),
            Way::Copy => Some((csv, "the library's CSV writer", Bound::AtLeast(0.9, Some(1.0)))),
            Way::Text => Some((csv, "the library's CSV writer", Bound::AtLeast(0.7, Some(0.8)))),
            Way::Direct | Way::Csv | Way::Counted | Way::CountedCopy | Way::Binary => None,
        };
        if let Some((of, known_as, bound)) = goal {
            let share = figures::ratio(of.median(), time);
            goals.add(&format!("{name} ÷ {known_as}, rows a second"), share, bound);
        }
        figures::row(&[
            (*name).to_owned(),
            figures::ms(time),
            format!("{:.2}", figures::per_second(rows, time) / 1e6),
            format!("{:.2}", figures::per_second(bytes, time) / 1e9),
            format!("{:.0} %", 100.0 / figures::ratio(time, direct.median())),
        ]);
    }
}

async fn run(sides: &Sides, way: Way, sql: &str, (file, rows): (&Path, u64), counting: &mut CountingClient) -> u64 {
    match way {
        Way::Direct => ways::direct(&sides.direct, sql),
        Way::Csv => written(sides, sql, file, rows),
        Way::Text => ways::text(sides.pgwire(Caller::Owner), sql).await,
        Way::Counted => counting.text(sql).await,
        Way::Copy => ways::copied(sides.pgwire(Caller::Owner), sql).await,
        Way::CountedCopy => counting.text(&format!("copy ({sql}) to stdout")).await,
        Way::Binary => ways::binary(sides.pgwire(Caller::Owner), sql).await,
        Way::RawArrow => raw(sides, sql).await,
        Way::Flight => ways::flight(&sides.flight, sql).await,
    }
}

/// The library tells no count of what it writes.
fn written(sides: &Sides, sql: &str, file: &Path, rows: u64) -> u64 {
    sides.direct.execute_batch(&format!("copy ({sql}) to '{}' (format csv)", file.display())).unwrap();
    rows
}

async fn raw(sides: &Sides, sql: &str) -> u64 {
    let env_id = sides.world.env_id.as_str().into();
    let address = sides.world.platform().environments.tools(&env_id).await.unwrap();
    arrow_client::rows(&address.to_string(), &sides.world.key, sql).await
}
