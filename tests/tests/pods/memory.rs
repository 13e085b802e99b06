//! Rows pass through: an answer of any size takes no more memory than a part of it.

use tests::pods::{Installation, Pod, Protocol};

use super::takeover::routed;

const ROWS: u64 = 2_000_000;
/// Such an answer is 150 MB in Arrow, and more as text.
const GROWTH_MAX: u64 = 64 << 20;

fn sql(rows: u64) -> String {
    format!("select range as id, 'name ' || range || repeat('.', 50) as name from range({rows})")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_any_size_takes_a_bounded_memory_by_every_protocol() {
    let installation = Installation::new().await;
    let pod = Pod::start(&installation, &[]).await;
    routed(&installation, &[&pod]);
    pod.until("ready").await;
    for protocol in Protocol::ALL {
        // What is made once, and what the engine keeps of any answer.
        Box::pin(installation.drained(&pod, protocol, &sql(ROWS / 10))).await;
        let before = pod.memory();
        let (rows, weight) = Box::pin(pod.weighed(installation.drained(&pod, protocol, &sql(ROWS)))).await;
        assert_eq!(rows, ROWS, "{}", protocol.name());
        assert!(weight.highest < before + GROWTH_MAX, "{}: {} MiB, then {weight:?}", protocol.name(), before >> 20);
    }
    drop(pod);
    installation.end().await;
}
