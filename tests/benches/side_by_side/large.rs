//! A file of about a gigabyte, unloaded and loaded again by a data plane whose engine may hold 512 MiB of memory.

use contract::wire::{TIMEOUT_MS_MAX, setting};
use tests::pods::{Installation, Pod, Weight};

use crate::amounts::Amounts;
use crate::figures;

const ENGINE_BYTES: u64 = 512 << 20;
/// What the data plane may hold beside its engine.
const BESIDE_BYTES: u64 = 512 << 20;

pub async fn print(amounts: &Amounts) {
    let installation = Installation::new().await;
    let pod = Pod::start(&installation, &[(setting::ENGINE_MEMORY_BYTES, &ENGINE_BYTES.to_string())]).await;
    installation.psql.route(&[pod.psql]);
    installation.rest.route(&[pod.rest]);
    pod.until("ready").await;
    let client = installation.psql().await.unwrap();
    client.batch_execute(&format!("set statement_timeout = {TIMEOUT_MS_MAX}")).await.unwrap();
    client.simple_query("create stage files").await.unwrap();
    client.simple_query("create table loaded (id bigint, one varchar, two varchar, three varchar)").await.unwrap();
    let title = format!("{} rows of about 110 bytes through {} MiB of engine", amounts.large, ENGINE_BYTES >> 20);
    figures::table(&title, &["statement", "s", "highest MiB of the data plane and its engine"]);
    let formats = [
        ("Parquet", "type = parquet", "type = parquet) match_by_column_name = case_insensitive"),
        ("CSV", "type = csv compression = none", "type = csv compression = none skip_header = 1)"),
    ];
    for (name, written, read) in formats {
        let unload = format!(
            "copy into @files/large.{name} from (select n * 10 + k as id, md5(n::varchar) as one, \
             md5((n + k)::varchar) as two, md5((n * k)::varchar) as three from range({}) as tens(n), \
             range(10) as ones(k)) header = true single = true overwrite = true max_file_size = 4000000000 \
             file_format = ({written})",
            amounts.large / 10
        );
        let load = format!("copy into loaded from @files/large.{name} file_format = ({read}");
        for (what, sql) in [("unload", unload), ("load", load)] {
            let (done, weight) = pod.weighed(client.simple_query(&sql)).await;
            assert!(done.is_ok(), "{name} {what}: {:?}", done.err());
            told(&format!("{name} {what}"), weight);
        }
    }
    drop((client, pod));
    installation.end().await;
}

fn told(what: &str, weight: Weight) {
    let highest = weight.highest >> 20;
    figures::row(&[what.to_owned(), format!("{:.1}", weight.took.as_secs_f64()), highest.to_string()]);
    assert!(weight.highest <= ENGINE_BYTES + BESIDE_BYTES, "{what}: {weight:?}");
}
