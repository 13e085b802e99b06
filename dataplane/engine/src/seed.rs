//! Fills a new environment with the TPC-H tables.
//!
//! Not part of the engine that serves: generating needs an extension, and the serving engine loads
//! none. So a program calls this in a process of its own, before or instead of serving the file.

use std::ops::RangeInclusive;
use std::path::Path;

use crate::error::{Error, Kind};
use crate::ffi::Database;
use crate::store::Native;

/// Scale 1 is about 1 GB; more is not a sample any more, and with less the generator makes rows of `partsupp` twice.
const SCALES: RangeInclusive<f64> = 0.01..=100.0;

/// The primary keys that TPC-H says its tables have; the generator makes tables without them.
const KEYS: [(&str, &str); 8] = [
    ("region", "r_regionkey"),
    ("nation", "n_nationkey"),
    ("supplier", "s_suppkey"),
    ("customer", "c_custkey"),
    ("part", "p_partkey"),
    ("partsupp", "ps_partkey, ps_suppkey"),
    ("orders", "o_orderkey"),
    ("lineitem", "l_orderkey, l_linenumber"),
];

/// Generates the eight tables into `raw.main`, with their primary keys, and checkpoints. `extension` is the path of
/// the signed `tpch.duckdb_extension`.
///
/// # Errors
/// When a table exists already, when the extension does not load, when the scale is out of range.
pub fn tpch(data: &Path, extension: &Path, scale: f64) -> Result<(), Error> {
    if !SCALES.contains(&scale) {
        let message = format!("the scale is from {} to {}", SCALES.start(), SCALES.end());
        return Err(Error::new(Kind::InvalidInput, message));
    }
    std::fs::create_dir_all(data).map_err(Error::internal)?;
    let options = [
        ("autoinstall_known_extensions", "false".to_owned()),
        ("autoload_known_extensions", "false".to_owned()),
        ("errors_as_json", "true".to_owned()),
    ];
    let database = Database::open(Native::new(data).file(), &options)?;
    let connection = database.connect()?;
    connection.execute(&format!("load '{}'", extension.to_string_lossy().replace('\'', "''")))?;
    connection.execute(&format!("call dbgen(sf = {scale})"))?;
    for (table, key) in KEYS {
        connection.execute(&format!("alter table {table} add primary key ({key})"))?;
    }
    connection.execute(Native::CHECKPOINT)
}
