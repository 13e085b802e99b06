//! The memory of a data plane while an answer of any size runs through it: its own process and its engine's, weighed
//! together every 50 ms. The client is this process, which drops each row that it has read.

use tests::pods::{Installation, Pod, Protocol};

use crate::amounts::Amounts;
use crate::figures;

/// What it may hold above what it held after the first second.
const GROWTH_MAX: u64 = 128 << 20;

pub async fn print(amounts: &Amounts) {
    let installation = Installation::new().await;
    let pod = Pod::start(&installation, &[]).await;
    installation.psql.route(&[pod.psql]);
    installation.rest.route(&[pod.rest]);
    pod.until("ready").await;
    // one range is ten million rows at most
    let sql = |rows: u64| {
        let tens = rows / 10;
        format!(
            "select n * 10 + k as id, 'name ' || (n * 10 + k) as name, n * 0.25::double as amount \
             from range({tens}) as tens(n), range(10) as ones(k)"
        )
    };
    let title = format!("Memory of a data plane and its engine, in MiB, during {} rows of 3 columns", amounts.huge);
    figures::table(&title, &["protocol", "M rows/s", "after the first second", "highest"]);
    let mut held = Vec::new();
    for protocol in Protocol::ALL {
        // Opens what is opened once.
        Box::pin(installation.drained(&pod, protocol, &sql(1_000))).await;
        let (rows, weight) = Box::pin(pod.weighed(installation.drained(&pod, protocol, &sql(amounts.huge)))).await;
        assert_eq!(rows, amounts.huge, "{}", protocol.name());
        figures::row(&[
            protocol.name().to_owned(),
            format!("{:.2}", figures::per_second(rows, weight.took) / 1e6),
            (weight.first >> 20).to_string(),
            (weight.highest >> 20).to_string(),
        ]);
        held.push((protocol.name(), weight));
    }
    for (protocol, weight) in held {
        assert!(
            weight.highest <= weight.first + GROWTH_MAX,
            "{protocol}: it grew by more than {GROWTH_MAX} bytes: {weight:?}"
        );
    }
    drop(pod);
    installation.end().await;
}
