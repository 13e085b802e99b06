//! The 22 queries of TPC-H: alone, governed, and governed under a row filter that lets everything pass.
//!
//! The tables are made once, by the engine's extension, in the environment's own file; the library reads a copy of it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use tests::World;
use tests::world::program;
use tokio::process::Command;
use tokio_postgres::Client;

use crate::amounts::Amounts;
use crate::figures::{self, Figures};
use crate::goals::{Bound, Goals};
use crate::sides::{alone, uncached};
use crate::ways;

/// In most of the queries.
const FILTERED: &str = "lineitem";
const FILTER: &str = "l_orderkey > 0";
/// The other tables, and a filter of each that lets everything pass.
const OTHERS: [(&str, &str); 7] = [
    ("orders", "o_orderkey > 0"),
    ("customer", "c_custkey > 0"),
    ("part", "p_partkey > 0"),
    ("partsupp", "ps_partkey > 0"),
    ("supplier", "s_suppkey > 0"),
    ("nation", "n_nationkey >= 0"),
    ("region", "r_regionkey >= 0"),
];

struct Sides {
    direct: duckdb::Connection,
    world: World,
    governed: Client,
    filtered: Client,
    everywhere: Client,
    _folder: tempfile::TempDir,
}

pub async fn print(amounts: &Amounts, goals: &mut Goals) {
    let sides = Box::pin(Sides::open(amounts.scale)).await;
    let title = format!("TPC-H at scale {}, medians of {} rounds over pgwire", amounts.scale, amounts.rounds);
    let columns =
        ["query", "direct", "governed", &format!("under `{FILTER}` on {FILTERED}"), "under a filter on each table"];
    figures::table(&title, &columns);
    let (mut governed, mut filtered, mut everywhere) = (Vec::new(), Vec::new(), Vec::new());
    for (name, sql) in queries() {
        let measured = sides.measured(&sql, amounts.rounds).await;
        let [direct, ways @ ..] = measured.map(|figures| figures.median());
        let [plain, under, each] = ways.map(|time| figures::against(time, direct));
        figures::row(&[name, figures::ms(direct), plain, under, each]);
        for (times, time) in [&mut governed, &mut filtered, &mut everywhere].into_iter().zip(ways) {
            times.push((time, direct));
        }
    }
    for (name, of) in
        [("geometric mean", mean as fn(&[(Duration, Duration)]) -> f64), ("the worst", worst), ("all of them", sum)]
    {
        figures::row(&[
            name.to_owned(),
            String::new(),
            format!("×{:.2}", of(&governed)),
            format!("×{:.2}", of(&filtered)),
            format!("×{:.2}", of(&everywhere)),
        ]);
    }
    let what = "TPC-H under a filter on each table ÷ direct";
    goals.add(&format!("{what}, geometric mean"), mean(&everywhere), Bound::AtMost(1.37, None));
    goals.add(&format!("{what}, the worst"), worst(&everywhere), Bound::AtMost(3.91, None));
    sides.world.end().await;
}

fn ratios(times: &[(Duration, Duration)]) -> impl Iterator<Item = f64> {
    times.iter().map(|(time, direct)| figures::ratio(*time, *direct))
}

fn mean(times: &[(Duration, Duration)]) -> f64 {
    (ratios(times).map(f64::ln).sum::<f64>() / figures::real(times.len() as u64)).exp()
}

fn worst(times: &[(Duration, Duration)]) -> f64 {
    ratios(times).fold(0.0, f64::max)
}

fn sum(times: &[(Duration, Duration)]) -> f64 {
    figures::ratio(times.iter().map(|(time, _)| time).sum(), times.iter().map(|(_, direct)| direct).sum())
}

/// The texts of the dialect's corpus, in their order.
fn queries() -> Vec<(String, String)> {
    let folder = Path::new("../dataplane/sql/corpus/tpch");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "sql"));
    files.sort();
    assert_eq!(files.len(), 22);
    let read = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        (file.file_stem().unwrap().to_string_lossy().into_owned(), text.trim_end().trim_end_matches(';').to_owned())
    };
    files.iter().map(read).collect()
}

impl Sides {
    async fn open(scale: f64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut world = World::bare().await;
        let copy = folder.path().join("direct.duckdb");
        world.restart_after(async |data| filled(data, scale, &copy).await).await;
        let direct = alone(&copy);
        // As the platform opens the engine.
        direct.execute_batch("set default_null_order = 'nulls_last_on_asc_first_on_desc'").unwrap();
        uncached(&world).await;
        let rules = json!([{"table": FILTERED, "filter": FILTER, "exempt_roles": ["owner"]}]);
        world.policy("row_level_security", rules).await;
        let exempt = ["owner", "analyst"];
        let rule = |(table, filter): &(&str, &str)| json!({"table": table, "filter": filter, "exempt_roles": exempt});
        world.policy("row_level_security", OTHERS.iter().map(rule).collect()).await;
        let analyst = world.user("analyst", json!({})).await;
        let developer = world.user("developer", json!({})).await;
        let governed = world.psql(&world.key).await.unwrap();
        let filtered = world.psql(&analyst.key).await.unwrap();
        let everywhere = world.psql(&developer.key).await.unwrap();
        Self { direct, world, governed, filtered, everywhere, _folder: folder }
    }

    /// Alone, governed, filtered, filtered everywhere; the first round is not counted.
    async fn measured(&self, sql: &str, rounds: usize) -> [Figures; 4] {
        let mut measured: [Figures; 4] = Default::default();
        for round in 0..=rounds {
            let mut counts = [0; 4];
            for turn in 0..4 {
                let at = (round + turn) % 4;
                let began = Instant::now();
                let count = match at {
                    0 => ways::direct(&self.direct, sql),
                    1 => ways::binary(&self.governed, sql).await,
                    2 => ways::binary(&self.filtered, sql).await,
                    _ => ways::binary(&self.everywhere, sql).await,
                };
                let took = began.elapsed();
                let (Some(figures), Some(counted)) = (measured.get_mut(at), counts.get_mut(at)) else { continue };
                *counted = count;
                if round > 0 {
                    figures.add(took);
                }
            }
            let [direct, ways @ ..] = counts;
            assert!(ways.iter().all(|count| *count == direct), "{counts:?}: {sql}");
        }
        measured
    }
}

/// Fills an environment that does not run, and copies its file.
async fn filled(data: PathBuf, scale: f64, copy: &Path) {
    let extensions = std::env::var("SLUICE_EXTENSIONS").expect("SLUICE_EXTENSIONS, as ./dev sets it");
    let extension = Path::new(&extensions).join("tpch.duckdb_extension");
    let mut seeding = Command::new(program());
    seeding.arg("seed-tpch").args([&data, &extension]).arg(scale.to_string());
    assert!(seeding.status().await.unwrap().success(), "TPC-H could not be generated");
    std::fs::copy(data.join("raw.duckdb"), copy).unwrap();
}
