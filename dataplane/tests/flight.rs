//! Arrow Flight SQL on 5440, asked by the client of arrow-flight, with no socket between them but where one matters.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, BinaryArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Schema};
use arrow::util::display::array_value_to_string;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::sql::{CommandGetDbSchemas, CommandGetPrimaryKeys, CommandGetTables, EndTransaction, SqlInfo};
use arrow_flight::{Action, CancelFlightInfoRequest, FlightDescriptor, FlightInfo, IpcMessage, Ticket};
use axum::Router;
use contract::Role;
use contract::policy::MaskFunction;
use dataplane::Ending;
use dataplane::protocols::agents;
use dataplane::testing::{analyst_key, demo_key, denying, filtering, masking};
use futures::TryStreamExt;
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;
use tonic::{Code, Request, Status};

use crate::agents_router::{router, served};
use crate::world::world;

pub type Client = FlightSqlServiceClient<Router>;

pub fn client(router: &Router, key: &str) -> Client {
    let mut client = FlightSqlServiceClient::new(router.clone());
    client.set_token(key.to_owned());
    client
}

pub fn status(error: FlightError) -> Status {
    match error {
        FlightError::Tonic(status) => *status,
        other => panic!("not a status: {other:?}"),
    }
}

fn ticket(info: &FlightInfo) -> Ticket {
    info.endpoint[0].ticket.clone().unwrap()
}

/// The schema and the rows of a flight.
pub async fn batches(client: &mut Client, info: &FlightInfo) -> Result<(Arc<Schema>, Vec<RecordBatch>), Status> {
    let mut stream = client.do_get(ticket(info)).await.map_err(status)?;
    let mut batches = Vec::new();
    while let Some(batch) = stream.try_next().await.map_err(status)? {
        batches.push(batch);
    }
    Ok((stream.schema().unwrap().clone(), batches))
}

/// The rows of a flight, a line each.
pub async fn fetched(client: &mut Client, info: &FlightInfo) -> Result<Vec<String>, Status> {
    let (_, batches) = batches(client, info).await?;
    let cell = |column: &ArrayRef, row| array_value_to_string(column, row).unwrap();
    let lines = |batch: &RecordBatch| {
        let line = |row| batch.columns().iter().map(|column| cell(column, row)).collect::<Vec<_>>().join("|");
        (0..batch.num_rows()).map(line).collect::<Vec<_>>()
    };
    Ok(batches.iter().flat_map(lines).collect())
}

pub async fn asked(client: &mut Client, sql: &str) -> Result<Vec<String>, Status> {
    let info = client.execute(sql.to_owned(), None).await.map_err(status)?;
    fetched(client, &info).await
}

#[tokio::test]
async fn rows_are_governed_and_written_down_like_any_query() {
    let world = world().await;
    world.change(|rules| {
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = {region}")];
    });
    let mut client = client(&router(&world), analyst_key());
    client.set_header("x-agent-id", "agent-7");
    let rows = asked(&mut client, "select id, ssn, balance from customer order by id").await.unwrap();
    assert_eq!(rows, ["1|***|10.50", "3|***|30.75"]);
    let (started, finished) = world.last();
    let agent = started.agent.and_then(|agent| agent.agent_id);
    assert_eq!((started.origin.as_str(), agent.as_deref()), ("flight", Some("agent-7")));
    assert_eq!((finished.outcome.as_str(), finished.rows_returned), ("completed", 2));
    world.stop().await;
}

#[tokio::test]
async fn a_long_answer_has_the_values_of_all_its_rows() {
    let world = world().await;
    let mut client = client(&router(&world), demo_key());
    let told = asked(&mut client, "select 'row ' || range as t from range(100000)").await.unwrap();
    assert!(told.len() == 100_000 && told.iter().enumerate().all(|(row, text)| *text == format!("row {row}")));
    world.stop().await;
}

#[tokio::test]
async fn the_schema_that_was_told_is_the_one_that_comes() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![masking("customer", "balance", MaskFunction::Null)]);
    let mut client = client(&router(&world), analyst_key());
    for sql in [
        "select * from customer",
        "select sum(id), count(*), avg(id), now(), null, 'x' from customer",
        "select relname, oid from pg_catalog.pg_class",
        "select id from customer where false",
    ] {
        let info = client.execute(sql.to_owned(), None).await.unwrap();
        let told = Schema::try_from(IpcMessage(info.schema.clone())).unwrap();
        let (came, _) = batches(&mut client, &info).await.unwrap();
        assert_eq!(told, *came, "{sql}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_command_may_be_the_statement_and_its_ticket_is_good_once_for_its_caller() {
    let world = world().await;
    let router = router(&world);
    let (mut owner, mut analyst) = (client(&router, demo_key()), client(&router, analyst_key()));
    let mut asking = Request::new(FlightDescriptor::new_cmd("select count(*) from customer"));
    asking.metadata_mut().insert("x-api-key", demo_key().parse().unwrap());
    let info = FlightServiceClient::new(router.clone()).get_flight_info(asking).await.unwrap().into_inner();
    assert!(!String::from_utf8_lossy(&ticket(&info).ticket).contains("customer"), "it holds no SQL");
    let stolen = fetched(&mut analyst, &info).await.unwrap_err();
    assert_eq!(stolen.code(), Code::NotFound, "{stolen}");
    assert_eq!(fetched(&mut owner, &info).await.unwrap(), ["3"]);
    assert_eq!(fetched(&mut owner, &info).await.unwrap_err().code(), Code::NotFound);
    world.stop().await;
}

#[tokio::test]
async fn errors_are_statuses_and_a_refused_statement_is_written_down_once() {
    let world = world().await;
    let mut client = client(&router(&world), analyst_key());
    let cases = [
        ("slct 1", Code::InvalidArgument, "SVC_ERR_400_BAD_SQL"),
        ("select * from nowhere", Code::NotFound, "SVC_ERR_404_TABLE_NOT_FOUND"),
        ("select * from read_csv('/etc/passwd')", Code::Unimplemented, "TRANSPILATION_ERROR"),
        ("delete from customer", Code::PermissionDenied, "FORBIDDEN"),
        ("select cast(name as integer) from customer", Code::InvalidArgument, "SVC_ERR_400_BAD_SQL"),
        ("begin", Code::Unimplemented, "TRANSPILATION_ERROR"),
    ];
    for (sql, code, stable) in cases {
        let before = world.entries().len();
        let error = asked(&mut client, sql).await.unwrap_err();
        assert_eq!(error.code(), code, "{sql}: {error}");
        assert!(error.message().starts_with(&format!("{stable}: ")), "{sql}: {error}");
        assert!(String::from_utf8_lossy(error.details()).contains(stable), "{sql}: the details hold the body");
        assert_eq!(world.entries().len(), before + 2, "{sql}");
    }
    world.stop().await;
}

#[tokio::test]
async fn prepared_statements_take_values_and_tell_their_types() {
    let world = world().await;
    let mut client = client(&router(&world), demo_key());
    let sql = "select name from customer where id = $1 and region = $2";
    let mut prepared = client.prepare(sql.to_owned(), None).await.unwrap();
    let kinds = |schema: &Schema| schema.fields().iter().map(|field| field.data_type().clone()).collect::<Vec<_>>();
    assert_eq!(kinds(prepared.parameter_schema().unwrap()), [DataType::Int32, DataType::Utf8]);
    assert_eq!(kinds(prepared.dataset_schema().unwrap()), [DataType::Utf8]);
    for (id, name) in [(1, "Ada"), (3, "Cleo")] {
        let values: [(&str, ArrayRef); 2] =
            [("$1", Arc::new(Int64Array::from(vec![id]))), ("$2", Arc::new(StringArray::from(vec!["EU"])))];
        prepared.set_parameters(RecordBatch::try_from_iter(values).unwrap()).unwrap();
        let info = prepared.execute().await.unwrap();
        assert_eq!(fetched(&mut client, &info).await.unwrap(), [name]);
    }
    prepared.close().await.unwrap();
    world.stop().await;
}

#[tokio::test]
async fn many_rows_of_values_are_written_together_or_not_at_all() {
    let world = world().await;
    let mut client = client(&router(&world), demo_key());
    assert_eq!(client.execute_update("create table t (n integer primary key)".to_owned(), None).await.unwrap(), 0);
    let mut prepared = client.prepare("insert into t values ($1)".to_owned(), None).await.unwrap();
    assert!(prepared.dataset_schema().unwrap().fields().is_empty());
    let mut put = async |numbers: Vec<i32>| {
        let column: ArrayRef = Arc::new(Int32Array::from(numbers));
        prepared.set_parameters(RecordBatch::try_from_iter([("n", column)]).unwrap()).unwrap();
        prepared.execute_update().await
    };
    assert_eq!(put(vec![1, 2, 3]).await.unwrap(), 3);
    assert_eq!(status(put(vec![4, 5, 1]).await.unwrap_err()).code(), Code::AlreadyExists);
    assert_eq!(world.count("select count(*) from raw.main.t").await, 3);
    assert_eq!(client.execute_update("delete from t where n > 1".to_owned(), None).await.unwrap(), 2);
    world.stop().await;
}

#[tokio::test]
async fn a_statement_without_rows_is_run_when_it_is_asked_for() {
    let world = world().await;
    let mut client = client(&router(&world), demo_key());
    for (sql, changed) in [("create table t (n integer)", 0), ("insert into t values (1), (2)", 2), ("drop table t", 0)]
    {
        let info = client.execute(sql.to_owned(), None).await.unwrap();
        assert_eq!((info.endpoint.len(), info.total_records), (0, changed), "{sql}");
    }
    client.execute_update("create table t (n integer)".to_owned(), None).await.unwrap();
    let mut prepared = client.prepare("insert into t values ($1)".to_owned(), None).await.unwrap();
    let column: ArrayRef = Arc::new(Int32Array::from(vec![7]));
    prepared.set_parameters(RecordBatch::try_from_iter([("n", column)]).unwrap()).unwrap();
    assert!(prepared.execute().await.unwrap().endpoint.is_empty());
    assert_eq!(asked(&mut client, "insert into t values (8) returning n").await.unwrap(), ["8"]);
    assert_eq!(asked(&mut client, "select sum(n) from t").await.unwrap(), ["15"]);
    world.stop().await;
}

#[tokio::test]
async fn a_transaction_is_committed_rolled_back_or_failed() {
    let world = world().await;
    let router = router(&world);
    let (mut client, mut other) = (client(&router, demo_key()), client(&router, analyst_key()));
    for (end, left) in [(EndTransaction::Rollback, "3"), (EndTransaction::Commit, "2")] {
        let transaction = client.begin_transaction().await.unwrap();
        let sql = "delete from customer where id = 3".to_owned();
        assert_eq!(client.execute_update(sql, Some(transaction.clone())).await.unwrap(), 1);
        let foreign = other.execute("select 1".to_owned(), Some(transaction.clone())).await.unwrap_err();
        assert_eq!(status(foreign).code(), Code::NotFound, "it is its caller's alone");
        client.end_transaction(transaction.clone(), end).await.unwrap();
        assert_eq!(asked(&mut client, "select count(*) from customer").await.unwrap(), [left]);
        assert_eq!(status(client.end_transaction(transaction, end).await.unwrap_err()).code(), Code::NotFound);
    }
    let transaction = client.begin_transaction().await.unwrap();
    for code in [Code::NotFound, Code::FailedPrecondition] {
        let error = client.execute_update("delete from nowhere".to_owned(), Some(transaction.clone())).await;
        assert_eq!(status(error.unwrap_err()).code(), code);
    }
    let error = client.end_transaction(transaction, EndTransaction::Commit).await.unwrap_err();
    assert_eq!(status(error).code(), Code::FailedPrecondition);
    world.stop().await;
}

#[tokio::test]
async fn the_catalog_holds_what_the_caller_may_see() {
    let world = world().await;
    for sql in
        ["create table keyed (a integer, b varchar, primary key (b, a))", "create view seen as select id from customer"]
    {
        world.run(sql).await.unwrap();
    }
    world.change(|rules| {
        rules.policies = vec![masking("customer", "balance", MaskFunction::Full)];
        rules.abac_policies = vec![denying("keyed", &[Role::Owner])];
    });
    let router = router(&world);
    let (mut owner, mut analyst) = (client(&router, demo_key()), client(&router, analyst_key()));
    let info = owner.get_catalogs().await.unwrap();
    assert_eq!(fetched(&mut owner, &info).await.unwrap(), ["demo"]);
    let info = owner.get_db_schemas(CommandGetDbSchemas::default()).await.unwrap();
    assert_eq!(fetched(&mut owner, &info).await.unwrap(), ["demo|main"]);
    let info = owner.get_table_types().await.unwrap();
    assert_eq!(fetched(&mut owner, &info).await.unwrap(), ["TABLE", "VIEW"]);
    for (client, expected) in [
        (&mut owner, vec!["demo|main|customer|TABLE", "demo|main|keyed|TABLE", "demo|main|seen|VIEW"]),
        (&mut analyst, vec!["demo|main|customer|TABLE", "demo|main|seen|VIEW"]),
    ] {
        let info = client.get_tables(CommandGetTables::default()).await.unwrap();
        assert_eq!(fetched(client, &info).await.unwrap(), expected);
    }
    let command = CommandGetPrimaryKeys { catalog: None, db_schema: None, table: "keyed".to_owned() };
    let info = owner.get_primary_keys(command.clone()).await.unwrap();
    assert_eq!(
        fetched(&mut owner, &info).await.unwrap(),
        ["demo|main|keyed|b|keyed_pkey|1", "demo|main|keyed|a|keyed_pkey|2"]
    );
    let info = analyst.get_primary_keys(command).await.unwrap();
    assert!(fetched(&mut analyst, &info).await.unwrap().is_empty());
    let command = CommandGetTables {
        include_schema: true,
        table_name_filter_pattern: Some("cust%".to_owned()),
        ..CommandGetTables::default()
    };
    let info = analyst.get_tables(command).await.unwrap();
    let (_, listed) = batches(&mut analyst, &info).await.unwrap();
    let encoded = listed[0].column(4).as_any().downcast_ref::<BinaryArray>().unwrap();
    let columns = Schema::try_from(IpcMessage(encoded.value(0).to_vec().into())).unwrap();
    assert_eq!(columns.field_with_name("balance").unwrap().data_type(), &DataType::Utf8, "a masked column is text");
    assert!(world.entries().iter().all(|entry| !format!("{entry:?}").contains("Flight")), "questions are not audited");
    world.stop().await;
}

#[tokio::test]
async fn facts_of_the_service_and_its_types_are_told() {
    let world = world().await;
    let mut client = client(&router(&world), demo_key());
    let info =
        client.get_sql_info(vec![SqlInfo::FlightSqlServerName, SqlInfo::FlightSqlServerTransaction]).await.unwrap();
    let (_, facts) = batches(&mut client, &info).await.unwrap();
    assert_eq!(facts[0].num_rows(), 2);
    let info = client.get_xdbc_type_info(arrow_flight::sql::CommandGetXdbcTypeInfo::default()).await.unwrap();
    let told = Schema::try_from(IpcMessage(info.schema.clone())).unwrap();
    let (came, types) = batches(&mut client, &info).await.unwrap();
    assert_eq!((told, types[0].num_rows()), (came.as_ref().clone(), 17));
    world.stop().await;
}

#[tokio::test]
async fn a_handshake_gives_a_bearer_that_dies_with_its_key() {
    let world = world().await;
    let router = router(&world);
    let mut client = FlightSqlServiceClient::new(router.clone());
    assert!(client.handshake("anybody", "svc_test_wrong").await.is_err());
    client.handshake("anybody", demo_key()).await.unwrap();
    let bearer = client.token().unwrap().clone();
    assert!(bearer != demo_key() && asked(&mut client, "select 1").await.is_ok());
    for token in [String::new(), "flight.x.y".to_owned(), bearer.replace("flight.", "flight.a")] {
        client.set_token(token.clone());
        assert_eq!(asked(&mut client, "select 1").await.unwrap_err().code(), Code::Unauthenticated, "{token}");
    }
    client.set_token(bearer);
    world.change(|rules| rules.organization.tier = contract::Tier::Growth);
    assert_eq!(asked(&mut client, "select 1").await.unwrap_err().code(), Code::PermissionDenied);
    world.change(|rules| {
        rules.organization.tier = contract::Tier::Enterprise;
        rules.keys.clear();
    });
    assert_eq!(asked(&mut client, "select 1").await.unwrap_err().code(), Code::Unauthenticated);
    world.stop().await;
}

#[tokio::test]
async fn a_flight_is_cancelled_before_it_runs_and_while_it_runs() {
    let world = world().await;
    let mut client = client(&router(&world), demo_key());
    let endless = "select count(*) from range(10000000) a(x), range(10000000) b(y) where x * y % 7 = 3";
    let cancel = async |client: &mut Client, info: &FlightInfo| {
        let body = CancelFlightInfoRequest { info: Some(info.clone()) }.encode_to_vec();
        client.do_action(Action::new("CancelFlightInfo", body)).await.map(drop).map_err(status)
    };
    let info = client.execute(endless.to_owned(), None).await.unwrap();
    cancel(&mut client, &info).await.unwrap();
    assert_eq!(fetched(&mut client, &info).await.unwrap_err().code(), Code::NotFound);
    let info = client.execute(endless.to_owned(), None).await.unwrap();
    let mut second = client.clone();
    let cancelling = async {
        while world.pipeline.gate.standing().0.0 == 0 {
            tokio::task::yield_now().await;
        }
        cancel(&mut second, &info).await.unwrap();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        fetched = fetched(&mut client, &info) => assert_eq!(fetched.unwrap_err().code(), Code::Cancelled),
        () = cancelling => unreachable!("it never ends"),
    }
    world.stop().await;
}

#[tokio::test]
async fn one_listener_speaks_http_and_grpc_and_says_that_it_leaves() {
    let world = world().await;
    let ending = Ending::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = TaskTracker::new();
    serving.spawn(agents::serve(listener, None, served(&world, ending.clone())));
    serving.close();
    let channel = || tonic::transport::Endpoint::try_from(format!("http://{address}")).unwrap().connect_lazy();
    let mut client = FlightSqlServiceClient::new(channel());
    client.set_token(demo_key().to_owned());
    client.execute("select 1".to_owned(), None).await.unwrap();
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    plain.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    ending.leaving.cancel();
    ending.draining.cancel();
    let mut late = FlightSqlServiceClient::new(channel());
    late.set_token(demo_key().to_owned());
    let refused = status(late.execute("select 1".to_owned(), None).await.unwrap_err());
    assert_eq!(refused.code(), Code::Unavailable);
    assert!(refused.message().starts_with("SVC_ERR_503_SHUTTING_DOWN"), "{refused}");
    drop((client, late));
    ending.drain(Duration::ZERO, Duration::from_secs(5), || false).await;
    ending.farewell().await;
    serving.wait().await;
    world.stop().await;
}
