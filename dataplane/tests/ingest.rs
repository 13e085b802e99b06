//! Bulk ingest over Flight: a table written from Arrow, governed as an INSERT is.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, FixedSizeListArray,
    Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, ListArray, NullArray, RecordBatch, StringArray,
    StructArray, Time64MicrosecondArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow::datatypes::{DataType, Float32Type, Int32Type};
use arrow_flight::error::FlightError;
use arrow_flight::sql::{
    CommandStatementIngest, EndTransaction, TableDefinitionOptions, TableExistsOption, TableNotExistOption,
};
use contract::policy::MaskFunction;
use contract::report::Body;
use contract::{Role, Tier};
use dataplane::testing::{analyst_key, demo_key, denying, filtering, masking};
use futures::stream;
use tonic::{Code, Status};

use crate::agents_router::router;
use crate::flight::{Client, asked, client, status};
use crate::world::{World, world};

const CREATE: Mode = (TableNotExistOption::Create, TableExistsOption::Fail);
const APPEND: Mode = (TableNotExistOption::Fail, TableExistsOption::Append);
const CREATE_APPEND: Mode = (TableNotExistOption::Create, TableExistsOption::Append);
const REPLACE: Mode = (TableNotExistOption::Create, TableExistsOption::Replace);

type Mode = (TableNotExistOption, TableExistsOption);

fn command(table: &str, (if_not_exist, if_exists): Mode) -> CommandStatementIngest {
    let options = TableDefinitionOptions { if_not_exist: if_not_exist.into(), if_exists: if_exists.into() };
    CommandStatementIngest {
        table_definition_options: Some(options),
        table: table.to_owned(),
        schema: None,
        catalog: None,
        temporary: false,
        transaction_id: None,
        options: std::collections::HashMap::default(),
    }
}

async fn put(client: &mut Client, command: CommandStatementIngest, batches: Vec<RecordBatch>) -> Result<i64, Status> {
    let batches = stream::iter(batches.into_iter().map(Ok::<_, FlightError>));
    client.execute_ingest(command, batches).await.map_err(status)
}

fn numbers(numbers: impl IntoIterator<Item = i64>) -> Vec<RecordBatch> {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
    vec![RecordBatch::try_from_iter([("n", column)]).unwrap()]
}

fn people(rows: &[(i32, &str)]) -> Vec<RecordBatch> {
    let ids: ArrayRef = Arc::new(rows.iter().map(|(id, _)| Some(*id)).collect::<Int32Array>());
    let regions: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|(_, region)| region)));
    vec![RecordBatch::try_from_iter([("id", ids), ("region", regions)]).unwrap()]
}

#[tokio::test]
async fn a_table_is_made_added_to_or_replaced_as_the_mode_says() {
    let world = world().await;
    let mut client = client(&router(&world), demo_key());
    for (mode, outcome, left) in [
        (APPEND, Err(Code::NotFound), None),
        (CREATE_APPEND, Ok(3), Some(3)),
        (CREATE, Err(Code::AlreadyExists), Some(3)),
        (CREATE_APPEND, Ok(3), Some(6)),
        (APPEND, Ok(3), Some(9)),
        (REPLACE, Ok(3), Some(3)),
        ((TableNotExistOption::Fail, TableExistsOption::Replace), Ok(3), Some(3)),
    ] {
        let written = put(&mut client, command("made", mode), numbers(1..=3)).await;
        assert_eq!(written.map_err(|error| error.code()), outcome, "{mode:?}");
        if let Some(left) = left {
            assert_eq!(asked(&mut client, "select count(*) from made").await.unwrap(), [left.to_string()], "{mode:?}");
        }
    }
    let absent = command("absent", (TableNotExistOption::Fail, TableExistsOption::Replace));
    assert_eq!(put(&mut client, absent, numbers(1..=3)).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(put(&mut client, command("empty", CREATE), numbers(0..0)).await.unwrap(), 0);
    assert!(asked(&mut client, "select n from empty").await.unwrap().is_empty());
    world.stop().await;
}

#[tokio::test]
async fn a_text_longer_than_its_column_is_refused() {
    let world = world().await;
    let mut client = client(&router(&world), demo_key());
    world.run("create table coded (id integer, region varchar(3))").await.unwrap();
    assert_eq!(put(&mut client, command("coded", APPEND), people(&[(1, "abc")])).await.unwrap(), 1);
    let refused = put(&mut client, command("coded", APPEND), people(&[(2, "ab"), (3, "abcd")])).await.unwrap_err();
    assert!(refused.message().contains("value too long for type character varying(3)"), "{refused:?}");
    assert_eq!(asked(&mut client, "select count(*) from coded").await.unwrap(), ["1"]);
    world.stop().await;
}

#[tokio::test]
async fn every_type_makes_a_column_that_holds_it() {
    let world = world().await;
    let mut client = client(&router(&world), demo_key());
    let words: DictionaryArray<Int32Type> = [Some("it's"), None].into_iter().collect();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None]);
    let embedded =
        FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>([Some(vec![Some(0.5), Some(-1.25)]), None], 2);
    let exact = Decimal128Array::from(vec![Some(-1250), None]).with_precision_and_scale(10, 2).unwrap();
    let moments = || TimestampMicrosecondArray::from(vec![Some(1_000_001), None]);
    let cases: Vec<(ArrayRef, &str, &str)> = vec![
        (Arc::new(BooleanArray::from(vec![Some(true), None])), "BOOLEAN", "true"),
        (Arc::new(Int8Array::from(vec![Some(-7), None])), "TINYINT", "-7"),
        (Arc::new(Int32Array::from(vec![Some(7), None])), "INTEGER", "7"),
        (Arc::new(UInt64Array::from(vec![Some(u64::MAX), None])), "UBIGINT", "18446744073709551615"),
        (Arc::new(Float64Array::from(vec![Some(0.1), None])), "DOUBLE", "0.1"),
        (Arc::new(Float32Array::from(vec![Some(0.5), None])), "DOUBLE", "0.5"),
        (Arc::new(exact), "DECIMAL(10,2)", "-12.50"),
        (Arc::new(StringArray::from(vec![Some("a"), None])), "VARCHAR", "a"),
        (Arc::new(words), "VARCHAR", "it's"),
        (Arc::new(BinaryArray::from(vec![Some(&b"\x00\xff"[..]), None])), "BLOB", "00FF"),
        (Arc::new(Date32Array::from(vec![Some(1), None])), "DATE", "1970-01-02"),
        (Arc::new(Time64MicrosecondArray::from(vec![Some(1), None])), "TIME", "00:00:00.000001"),
        (Arc::new(moments()), "TIMESTAMP", "1970-01-01 00:00:01.000001"),
        (Arc::new(moments().with_timezone("UTC")), "TIMESTAMP WITH TIME ZONE", "1970-01-01 00:00:01.000001"),
        (Arc::new(lists), "INTEGER[]", "[1, NULL]"),
        (Arc::new(embedded), "FLOAT[2]", "[0.5, -1.25]"),
    ];
    for (column, declared, shown) in cases {
        let kind = column.data_type().clone();
        let batch = RecordBatch::try_from_iter_with_nullable([("v", column, true)]).unwrap();
        assert_eq!(put(&mut client, command("typed", REPLACE), vec![batch]).await.unwrap(), 2, "{kind}");
        // A timestamp's text has three digits of a second unless a format asks for more.
        let text = match kind {
            DataType::Timestamp(..) => "to_char(v, 'YYYY-MM-DD HH24:MI:SS.FF6')",
            _ => "v::varchar",
        };
        let sql = format!("select typeof(v), {text} from typed order by v nulls last");
        let told = asked(&mut client, &sql).await.unwrap();
        assert_eq!(told, [format!("{declared}|{shown}"), format!("{declared}|")], "{kind}");
    }
    world.stop().await;
}

#[tokio::test]
async fn columns_are_matched_by_name_and_fit_the_tables_types() {
    let world = world().await;
    let mut client = client(&router(&world), demo_key());
    let sql = "create table wanted (day date, amount decimal(8,1), note varchar default 'none', n integer, w float[2])";
    client.execute_update(sql.to_owned(), None).await.unwrap();
    let columns: [(&str, ArrayRef); 4] = [
        ("n", Arc::new(Int64Array::from(vec![1, 2]))),
        ("amount", Arc::new(Decimal128Array::from(vec![125, 0]).with_precision_and_scale(20, 1).unwrap())),
        ("day", Arc::new(NullArray::new(2))),
        ("w", Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>([Some(vec![Some(1.0), Some(2.5)]), None]))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
    assert_eq!(put(&mut client, command("wanted", APPEND), vec![batch]).await.unwrap(), 2);
    let rows = asked(&mut client, "select day, amount, note, n, w::varchar from wanted order by n").await.unwrap();
    assert_eq!(rows, ["|12.5|none|1|[1.0, 2.5]", "|0.0|none|2|"]);
    let other = put(&mut client, command("wanted", APPEND), people(&[(1, "EU")])).await.unwrap_err();
    assert_eq!(other.code(), Code::InvalidArgument, "{other}");
    let structs: ArrayRef = Arc::new(StructArray::new_empty_fields(1, None));
    let odd = vec![RecordBatch::try_from_iter([("odd", structs)]).unwrap()];
    let refused = put(&mut client, command("made", CREATE), odd).await.unwrap_err();
    assert!(refused.message().contains("column odd of type"), "{refused}");
    world.stop().await;
}

#[tokio::test]
async fn a_decimal_that_its_column_would_round_is_refused() {
    let world = world().await;
    let mut client = client(&router(&world), demo_key());
    world.run("create table sums (amount numeric, n integer)").await.unwrap();
    let amounts = |name, hundredths: i128| {
        let amounts = Decimal128Array::from(vec![100, hundredths]).with_precision_and_scale(10, 2).unwrap();
        vec![RecordBatch::try_from_iter([(name, Arc::new(amounts) as ArrayRef)]).unwrap()]
    };
    for (name, holds) in [("amount", "DECIMAL(38,0)"), ("N", "INTEGER")] {
        let refused = put(&mut client, command("sums", APPEND), amounts(name, 125)).await.unwrap_err();
        let told = format!("1.25 has more decimals than column {} of type {holds} holds", name.to_lowercase());
        assert!(refused.message().contains(&told), "{refused}");
    }
    assert_eq!(put(&mut client, command("sums", APPEND), amounts("amount", 200)).await.unwrap(), 2);
    assert_eq!(asked(&mut client, "select sum(amount), count(*) from sums").await.unwrap(), ["3|2"]);
    world.stop().await;
}

#[tokio::test]
async fn all_of_many_rows_are_written_or_none() {
    let world = world().await;
    let mut client = client(&router(&world), demo_key());
    client.execute_update("create table t (n bigint primary key)".to_owned(), None).await.unwrap();
    let many: Vec<_> = [0..30_000, 30_000..30_001, 30_001..50_000].into_iter().flat_map(numbers).collect();
    assert_eq!(put(&mut client, command("t", APPEND), many).await.unwrap(), 50_000);
    assert_eq!(asked(&mut client, "select count(*), sum(n) from t").await.unwrap(), ["50000|1249975000"]);
    let twice: Vec<_> = [60_000..90_000, 0..1].into_iter().flat_map(numbers).collect();
    assert_eq!(put(&mut client, command("t", APPEND), twice).await.unwrap_err().code(), Code::AlreadyExists);
    assert_eq!(world.count("select count(*) from raw.main.t").await, 50_000);
    world.stop().await;
}

#[tokio::test]
async fn it_is_part_of_the_clients_transaction() {
    let world = world().await;
    let mut client = client(&router(&world), demo_key());
    for (end, left) in
        [(EndTransaction::Rollback, Err(Code::NotFound)), (EndTransaction::Commit, Ok(vec!["2".to_owned()]))]
    {
        let transaction = client.begin_transaction().await.unwrap();
        let command = CommandStatementIngest { transaction_id: Some(transaction.clone()), ..command("t", CREATE) };
        assert_eq!(put(&mut client, command, numbers(1..=2)).await.unwrap(), 2);
        client.end_transaction(transaction, end).await.unwrap();
        let counted = asked(&mut client, "select count(*) from t").await;
        assert_eq!(counted.map_err(|error| error.code()), left);
    }
    let transaction = client.begin_transaction().await.unwrap();
    let failing = CommandStatementIngest { transaction_id: Some(transaction.clone()), ..command("t", CREATE) };
    assert_eq!(put(&mut client, failing, numbers(1..=2)).await.unwrap_err().code(), Code::AlreadyExists);
    let after = client.execute_update("insert into t values (3)".to_owned(), Some(transaction)).await.unwrap_err();
    assert_eq!(status(after).code(), Code::FailedPrecondition);
    world.stop().await;
}

/// What the analyst is answered, and how many people there are then.
async fn added(world: &World, rows: &[(i32, &str)]) -> (Result<i64, (Code, String)>, i64) {
    let mut analyst = client(&router(world), analyst_key());
    let answered = put(&mut analyst, command("customer", APPEND), people(rows)).await;
    let answered = answered.map_err(|error| {
        let (stable, _) = error.message().split_once(':').unwrap();
        (error.code(), stable.to_owned())
    });
    (answered, world.count("select count(*) from raw.main.customer").await)
}

#[tokio::test]
async fn an_ingest_is_governed_as_an_insert_is() {
    let world = world().await;
    let denied = |stable: &str| Err((Code::PermissionDenied, stable.to_owned()));
    assert_eq!(added(&world, &[(4, "EU")]).await, (denied("FORBIDDEN"), 3));
    world.change(|rules| rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer);
    world.change(|rules| rules.policies = vec![filtering("customer", "region = {region}")]);
    assert_eq!(added(&world, &[(4, "EU"), (5, "US")]).await, (denied("POLICY_DENIED"), 3), "one row is outside");
    assert_eq!(added(&world, &[(4, "EU")]).await, (Ok(1), 4));
    world.change(|rules| rules.policies = vec![masking("customer", "region", MaskFunction::Full)]);
    assert_eq!(added(&world, &[(5, "US")]).await, (Ok(1), 5), "an INSERT may fill what is masked");
    world.change(|rules| rules.abac_policies = vec![denying("customer", &[Role::Owner])]);
    assert_eq!(added(&world, &[(6, "EU")]).await, (denied("SVC_ERR_403_TABLE_DENIED"), 5));
    let mut analyst = client(&router(&world), analyst_key());
    for mode in [CREATE, CREATE_APPEND, REPLACE] {
        let error = put(&mut analyst, command("customer", mode), people(&[(6, "EU")])).await.unwrap_err();
        assert!(matches!(error.code(), Code::PermissionDenied | Code::AlreadyExists), "{mode:?}: {error}");
    }
    world.change(|rules| rules.organization.tier = Tier::Growth);
    let error = put(&mut analyst, command("mine", CREATE), people(&[(6, "EU")])).await.unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied);
    world.stop().await;
}

#[tokio::test]
async fn each_insert_of_it_is_written_down() {
    let world = world().await;
    let mut client = client(&router(&world), demo_key());
    let before = world.entries().len();
    put(&mut client, command("t", CREATE), numbers(0..25_000)).await.unwrap();
    let entries = world.entries().split_off(before);
    let started = entries.iter().filter_map(|entry| match &entry.body {
        Body::Started(started) => Some((started.origin.as_str(), started.sql.clone())),
        _ => None,
    });
    let told: Vec<_> = started.collect();
    assert_eq!(told.len(), 3, "a definition and two INSERTs: {told:?}");
    assert!(told.iter().all(|(origin, _)| *origin == "flight"));
    assert!(told[2].1.to_lowercase().starts_with("insert into"), "{told:?}");
    world.stop().await;
}
