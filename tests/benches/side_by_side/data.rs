//! Files of a stage, loaded, scanned and unloaded, beside the engine's library that reads and writes the same files.
//!
//! Both sides make their table anew before each load, outside of the measured time.

use std::path::Path;
use std::time::Instant;

use contract::wire::TIMEOUT_MS_MAX;
use reqwest::Method;
use tests::World;

use crate::amounts::Amounts;
use crate::figures::{self, Figures};
use crate::goals::{Bound, Goals};
use crate::sides::{alone, uncached};

/// A file of which one column is scanned: large enough that not the statement itself is measured.
const SCANNED: &str = "scanned.parquet";
const COLUMNS: &str =
    "id bigint, customer varchar, day date, quantity integer, price double, note varchar, place varchar, more varchar";

/// The same work on both sides, and how many times the library's time it may take.
struct Case {
    name: &'static str,
    direct: String,
    governed: String,
    /// The table is made anew before it.
    loads: bool,
    bound: f64,
}

/// The engine's library, and a platform with the same files in a stage.
struct FileSides {
    direct: duckdb::Connection,
    governed: tokio_postgres::Client,
    world: World,
    folder: tempfile::TempDir,
}

pub async fn print(amounts: &Amounts, goals: &mut Goals) {
    let sides = FileSides::open(amounts).await;
    let title = format!("Files of {} rows of 8 columns, medians of {} rounds", amounts.lines, amounts.rounds);
    figures::table(&title, &["case", "direct", "governed, pgwire"]);
    for case in cases(sides.folder.path()) {
        let (direct, governed) = sides.measured(&case, amounts.rounds).await;
        let told = figures::against(governed.median(), direct.median());
        figures::row(&[case.name.to_owned(), figures::ms(direct.median()), told]);
        let ratio = figures::ratio(governed.median(), direct.median());
        goals.add(&format!("{} ÷ direct", case.name), ratio, Bound::AtMost(case.bound, None));
    }
    drop(sides.governed);
    sides.world.end().await;
}

fn cases(folder: &Path) -> [Case; 6] {
    let at = |name: &str| folder.join(name).display().to_string();
    let (parquet, csv) = (at("lines.parquet"), at("lines.csv"));
    let load = |name, direct: String, governed: &str, bound| Case {
        name,
        direct: format!("insert into loaded select * from {direct}"),
        governed: format!("copy into loaded from @files/{governed}"),
        loads: true,
        bound,
    };
    let other = |name, direct: String, governed: &str, bound| Case {
        name,
        direct,
        governed: governed.to_owned(),
        loads: false,
        bound,
    };
    [
        other(
            "Parquet scan of one column of eight",
            format!("select sum(quantity) from read_parquet('{}')", at(SCANNED)),
            "select sum($1:quantity::bigint) from @files/scanned.parquet (file_format => 'parquet')",
            1.2,
        ),
        load(
            "Parquet load",
            format!("read_parquet('{parquet}')"),
            "lines.parquet file_format = (type = parquet) match_by_column_name = case_insensitive",
            1.2,
        ),
        load(
            "CSV load",
            format!("read_csv('{csv}', header = true)"),
            "lines.csv file_format = (type = csv skip_header = 1 field_optionally_enclosed_by = '\"')",
            1.3,
        ),
        other(
            "CSV load with errors left out",
            format!("insert into loaded select * from read_csv('{csv}', header = true, ignore_errors = true)"),
            "copy into loaded from @files/lines.csv force = true on_error = continue \
             file_format = (type = csv skip_header = 1 field_optionally_enclosed_by = '\"')",
            1.3,
        )
        .anew(),
        other(
            "Parquet unload",
            format!("copy loaded to '{}' (format parquet)", at("out.parquet")),
            "copy into @files/out.parquet from loaded single = true overwrite = true max_file_size = 4000000000 \
             file_format = (type = parquet)",
            1.3,
        ),
        other(
            "CSV unload",
            format!("copy loaded to '{}' (format csv, header false)", at("out.csv")),
            "copy into @files/out.csv from loaded single = true overwrite = true max_file_size = 4000000000 \
             file_format = (type = csv compression = none)",
            1.3,
        ),
    ]
}

impl Case {
    fn anew(self) -> Self {
        Self { loads: true, ..self }
    }
}

impl FileSides {
    async fn open(amounts: &Amounts) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let direct = alone(&folder.path().join("direct.duckdb"));
        direct
            .execute_batch(&format!(
                "create table lines as select i as id, 'customer ' || (i % 10000) as customer, \
                 date '2020-01-01' + (i % 1000)::integer as day, (i % 50)::integer as quantity, i * 0.25::double as price, \
                 md5(i::varchar) as note, 'place ' || (i % 100) as place, md5((i + 1)::varchar) as more \
                 from range({}) t(i)",
                amounts.lines
            ))
            .unwrap();
        let world = World::bare().await;
        uncached(&world).await;
        let governed = world.psql(&world.key).await.unwrap();
        governed.batch_execute(&format!("set statement_timeout = {TIMEOUT_MS_MAX}")).await.unwrap();
        for sql in ["create file format parquet type = parquet", "create stage files"] {
            governed.simple_query(sql).await.unwrap();
        }
        for (name, format) in [("lines.parquet", "format parquet"), ("lines.csv", "format csv, header true")] {
            let place = folder.path().join(name);
            direct.execute_batch(&format!("copy lines to '{}' ({format})", place.display())).unwrap();
            put(&world, name, std::fs::read(place).unwrap()).await;
        }
        let scanned = folder.path().join(SCANNED);
        let columns: Vec<_> = (1..8).map(|place| format!("(i % {})::integer as other_{place}", place * 7)).collect();
        direct
            .execute_batch(&format!(
                "copy (select (i % 50)::integer as quantity, {} from range({}) t(i)) to '{}' (format parquet)",
                columns.join(", "),
                amounts.scanned,
                scanned.display()
            ))
            .unwrap();
        put(&world, SCANNED, std::fs::read(scanned).unwrap()).await;
        Self { direct, governed, world, folder }
    }

    /// The times of the library and of the platform, in turns; the first round opens what is opened once.
    async fn measured(&self, case: &Case, rounds: usize) -> (Figures, Figures) {
        let (mut direct, mut governed) = (Figures::default(), Figures::default());
        for round in 0..=rounds {
            if case.loads {
                let table = format!("create or replace table loaded ({COLUMNS})");
                self.direct.execute_batch(&table).unwrap();
                self.governed.simple_query(&table).await.unwrap();
            }
            let began = Instant::now();
            self.direct.execute_batch(&case.direct).unwrap();
            let by_library = began.elapsed();
            let began = Instant::now();
            let answer = self.governed.simple_query(&case.governed).await;
            let by_platform = began.elapsed();
            assert!(answer.is_ok(), "{}: {:?}", case.name, answer.err());
            if round > 0 {
                direct.add(by_library);
                governed.add(by_platform);
            }
        }
        (direct, governed)
    }
}

async fn put(world: &World, name: &str, bytes: Vec<u8>) {
    let url = format!("{}/v1/environments/{}/stages/files/files/{name}", world.url, world.env_id);
    let request = reqwest::Client::new().request(Method::PUT, url).body(bytes);
    let request = request.header("authorization", format!("ApiKey {}", world.key));
    let answer = request.header("content-type", "application/octet-stream").send().await.unwrap();
    assert!(answer.status().is_success(), "{name}: {}", answer.text().await.unwrap());
}
