//! `sluice sql`: rows in every format, refusals by class, credentials where they lie, an interrupt.

use arrow::array::{Array, StringArray};
use arrow::ipc::reader::StreamReader;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use sluice::env_file::Access;
use tests::World;

use super::{bare, command, logged, run, sluice};

const NAMES: &str = "select id, name from customers order by id";
/// Hours of work.
const LONG: &str = "select count(*) from range(10000000) a(x), range(10000000) b(y) where x * y % 7 = 3";

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_a_table_json_csv_or_arrow() {
    let world = World::new().await;
    let asked = async |output: &str| sluice(&world, &["sql", "-c", NAMES, "-o", output]).await;
    assert_eq!(asked("table").await.ok(), "id   name\n1    Alice\n2    Bob\n3    Carol\n");
    let answer = asked("json").await.json();
    assert_eq!(answer["rows"], json!([[1, "Alice"], [2, "Bob"], [3, "Carol"]]));
    assert_eq!(asked("csv").await.ok(), "id,name\r\n1,Alice\r\n2,Bob\r\n3,Carol\r\n");
    let stream = asked("arrow").await.out;
    let batches: Vec<_> = StreamReader::try_new(stream.as_slice(), None).unwrap().map(Result::unwrap).collect();
    let names = batches[0].column(1).as_any().downcast_ref::<StringArray>().unwrap();
    assert_eq!((names.len(), names.value(2)), (3, "Carol"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_on_standard_input_run_in_order_up_to_the_first_that_fails() {
    let world = World::new().await;
    let piped = async |text: &str| run(command(&world, &world.key, &["sql", "-o", "csv"]), text).await;
    let said = piped("-- two\nselect 1 as a;\nselect ';' as b;\n").await;
    assert_eq!(said.ok(), "a\r\n1\r\nb\r\n;\r\n");
    let said = piped("insert into orders values (13, 1, 1.00); slct 2; insert into orders values (14, 1, 1.00)").await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("slct 2") && said.err.contains("SVC_ERR_400_BAD_SQL"), "{}", said.err);
    assert_eq!(world.rows(&world.key, "select count(*) from orders where id > 12").await, json!([[1]]));
    assert_eq!(piped(" ;; ").await.code, 2);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_says_what_to_do_and_its_class_is_the_exit_status() {
    let world = World::new().await;
    let wrong = format!("{}x", world.key);
    let cases: &[(&str, &[&str], i32, &str)] = &[
        (&world.key, &["-c", "slct 1"], 1, "\nLINE 1: slct 1\n"),
        (&world.key, &["-c", "select * from elsewhere"], 1, "SVC_ERR_404_TABLE_NOT_FOUND"),
        (&world.key, &["-c", "select 1", "--timeout-ms", "0"], 2, "--timeout-ms"),
        (&world.key, &["-c", "select 1; select 2", "-o", "arrow"], 2, "one statement"),
        (&world.key, &["-c", "select 1", "--environment", "../x"], 2, "is not an id"),
        (&wrong, &["-c", "select 1"], 3, "SVC_ERR_401_INVALID_KEY"),
        (&world.key, &["-c", "select read_text('/etc/passwd')"], 4, "POLICY_DENIED"),
        (&world.key, &["-c", LONG, "--timeout-ms", "50"], 6, "hint: ask for less, or give it more time"),
        (&world.key, &["-c", LONG, "--timeout-ms", "50", "-o", "csv"], 6, "QUERY_TIMEOUT"),
        (&world.key, &["-c", "select 1", "--url", "http://127.0.0.1:1"], 1, "http://127.0.0.1:1 cannot be reached"),
    ];
    for (key, arguments, code, says) in cases {
        let said = run(command(&world, key, &[&["sql"], *arguments].concat()), "").await;
        assert_eq!((said.code, said.text()), (*code, ""), "{arguments:?}: {said:?}");
        assert!(said.err.contains(says), "{arguments:?}: {}", said.err);
        assert!(!said.err.contains(*key), "{}", said.err);
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_is_used_up_has_a_class_of_its_own() {
    let world = World::new().await;
    let client = world.database().client().await;
    client.execute("update organizations set quotas = '{\"monthly_credit_limit\": 1}'", &[]).await.unwrap();
    let refused = async || Some(sluice(&world, &["sql", "-c", "select 1"]).await).filter(|said| said.code != 0);
    let said = world.until(refused).await;
    assert_eq!((said.code, said.text()), (5, ""), "{said:?}");
    assert!(said.err.contains("SVC_ERR_429_QUOTA_EXCEEDED"), "{}", said.err);
    world.end().await;
}

/// Five megabytes of it have left when the sixth thousand of rows is more than the tier allows.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_called_incomplete_and_is_no_success() {
    let world = World::new().await;
    let client = world.database().client().await;
    client.execute("update organizations set quotas = '{\"max_rows_per_query\": 5000}'", &[]).await.unwrap();
    let limited =
        async || Some(sluice(&world, &["sql", "-c", "select * from range(9000)"]).await.code).filter(|code| *code == 5);
    world.until(limited).await;
    for output in ["table", "json", "csv", "arrow"] {
        let said = sluice(&world, &["sql", "-c", "select repeat('x', 1000) from range(10000000)", "-o", output]).await;
        assert_eq!((said.code, said.out.is_empty()), (1, matches!(output, "table" | "json")), "{output}: {}", said.err);
        assert!(said.err.contains("the answer is incomplete"), "{output}: {}", said.err);
        let (_, named) = said.err.split_once("entry of query ").unwrap();
        let entry = crate::walks::query::entry(&world, named.split(' ').next().unwrap()).await;
        assert_eq!(entry["error_code"], "SVC_ERR_429_QUOTA_EXCEEDED", "{output}: {entry}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_found_beside_the_platform_and_goes_nowhere_else() {
    let world = World::new().await;
    let asked = async |more: &[&str]| {
        run(bare(&world, &[&["sql", "-c", "select 1 as a", "-o", "csv"], more].concat()), "").await
    };
    let said = asked(&[]).await;
    assert!(said.code == 2 && said.err.contains("SLUICE_URL and SLUICE_KEY"), "{said:?}");
    let access = Access {
        http: world.url.trim_start_matches("http://").parse().unwrap(),
        pgwire: world.pgwire,
        tools: world.pgwire,
        database: "main".into(),
        org_id: world.org_id.as_str().into(),
        env_id: world.env_id.as_str().into(),
        owner_email: "owner@world.example".into(),
        owner_password: contract::Redacted::new("it's".into()),
        key: contract::Redacted::new(world.key.clone()),
    };
    let state = tempfile::tempdir().unwrap();
    std::fs::write(state.path().join("env"), access.env_file()).unwrap();
    let state = state.path().to_str().unwrap();
    assert_eq!(asked(&["--state", state]).await.ok(), "a\r\n1\r\n");
    let said = asked(&["--state", state, "--url", "http://127.0.0.1:1"]).await;
    assert!(said.code == 2 && said.err.contains("there is no key for http://127.0.0.1:1"), "{said:?}");
    let file = format!("{state}/key");
    std::fs::write(&file, format!("{}\n", world.key)).unwrap();
    assert_eq!(asked(&["--url", &world.url, "--key-file", &file]).await.ok(), "a\r\n1\r\n");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn masked_columns_are_told_beside_the_rows() {
    let world = World::new().await;
    let rules = json!([{"table": "customers", "column": "ssn", "function": "full", "exempt_roles": []}]);
    world.policy("column_masking", rules).await;
    for (output, shown) in [("table", "ssn\n***\n"), ("csv", "ssn\r\n***\r\n")] {
        let said = sluice(&world, &["sql", "-c", "select ssn from customers where id = 1", "-o", output]).await;
        assert_eq!((said.text(), said.err.as_str()), (shown, "masked: ssn\n"), "{output}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_cancels_the_query_in_the_engine() {
    let world = World::new().await;
    let endless = ["sql", "-c", "select * from range(10000000) a(x), range(10000000) b(y)", "-o", "csv"];
    let child = command(&world, &world.key, &endless).spawn().unwrap(); // nobody reads what it writes
    let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
    logged(&world, "range", "running").await;
    kill(pid, Signal::SIGINT).unwrap();
    let said = super::Said::from(child.wait_with_output().await.unwrap());
    assert_eq!((said.code, said.err.as_str()), (6, "sluice: interrupted\n"), "{said:?}");
    logged(&world, "range", "cancelled").await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_stops_reading_is_not_complained_to() {
    let world = World::new().await;
    let mut child =
        command(&world, &world.key, &["sql", "-c", "select * from range(1000000)", "-o", "csv"]).spawn().unwrap();
    drop(child.stdout.take());
    let said = super::Said::from(child.wait_with_output().await.unwrap());
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    for printed in [&["routes"][..], &["crds"], &["completions", "bash"], &["explain", "FORBIDDEN"]] {
        let mut child = command(&world, &world.key, printed).spawn().unwrap();
        drop(child.stdout.take());
        let said = super::Said::from(child.wait_with_output().await.unwrap());
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{printed:?}: {said:?}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_full_is_told_and_is_no_success() {
    let world = World::new().await;
    for printed in [&["sql", "-c", "select * from range(100)"][..], &["routes"], &["completions", "bash"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let child = command(&world, &world.key, printed).stdout(full).spawn().unwrap();
        let said = super::Said::from(child.wait_with_output().await.unwrap());
        assert_eq!(said.code, 1, "{printed:?}: {said:?}");
        assert!(said.err.contains("the output cannot be written: No space left on device"), "{printed:?}: {said:?}");
    }
    world.end().await;
}
