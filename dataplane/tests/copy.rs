//! COPY over the wire, and lists as parameters.

use contract::policy::MaskFunction;
use dataplane::testing::{filtering, masking};
use futures::{SinkExt, TryStreamExt};
use tokio_postgres::Client;

use crate::pgwire::{refused, simple, wired};

async fn out(client: &Client, sql: &str) -> Vec<u8> {
    let stream = client.copy_out(sql).await.unwrap_or_else(|error| panic!("{sql}: {:?}", error.as_db_error()));
    let pieces: Vec<bytes::Bytes> = stream.try_collect().await.unwrap();
    pieces.concat()
}

pub async fn into(client: &Client, sql: &str, pieces: &[&[u8]]) -> Result<u64, tokio_postgres::Error> {
    let sink = client.copy_in::<_, bytes::Bytes>(sql).await?;
    let mut sink = Box::pin(sink);
    for piece in pieces {
        sink.send(bytes::Bytes::copy_from_slice(piece)).await?;
    }
    sink.as_mut().finish().await
}

#[tokio::test]
async fn rows_leave_as_text_csv_and_binary() {
    let wired = wired().await;
    let client = wired.owner().await;
    let two = "(select 1 as a, e'x\\ty\"z' as b union all select 2, null order by 1)";
    assert_eq!(out(&client, &format!("copy {two} to stdout")).await, b"1\tx\\ty\"z\n2\t\\N\n");
    let csv = out(&client, &format!("copy {two} to stdout with (format csv, header, null 'none')")).await;
    assert_eq!(String::from_utf8(csv).unwrap(), "a,b\n1,\"x\ty\"\"z\"\n2,none\n");
    let binary = out(&client, "copy (select 7) to stdout (format binary)").await;
    assert_eq!(binary, b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\x00\x01\x00\x00\x00\x04\x00\x00\x00\x07\xff\xff");
    assert_eq!(out(&client, "copy customer (name) to stdout").await, b"Ada\nBob\nCleo\n");
    assert_eq!(refused(&client, "copy (create table t (a integer)) to stdout").await.code().code(), "22023");
    assert_eq!(refused(&client, "select * from t").await.code().code(), "42P01", "it has not been made");
    assert_eq!(refused(&client, "copy (delete from customer) to stdout").await.code().code(), "22023");
    assert_eq!(
        out(&client, "copy (update customer set name = 'Eve' where id = 1 returning name) to stdout").await,
        b"Eve\n"
    );
    assert_eq!(out(&client, "copy (select name from customer order by 1) to stdout").await, b"Bob\nCleo\nEve\n");
    wired.stop().await;
}

#[tokio::test]
async fn a_copy_out_is_governed_as_a_select_is() {
    let wired = wired().await;
    wired.world.change(|rules| {
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = {region}")];
    });
    let copied = out(&wired.analyst().await, "copy customer (id, ssn) to stdout (format csv)").await;
    assert_eq!(String::from_utf8(copied).unwrap(), "1,***\n3,***\n");
    wired.stop().await;
}

#[tokio::test]
async fn rows_come_in_whole_or_not_at_all() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create table t (a integer, b varchar, c decimal(12,2), d timestamp, e boolean)").await;
    let text: &[&[u8]] = &[b"1\tone\t1.5\t2024-02-29 12:00:00\tt\n2\t\\N", b"\t123456.78\t\\N\tf\n"];
    assert_eq!(into(&client, "copy t from stdin", text).await.unwrap(), 2);
    let csv: &[&[u8]] = &[b"b,a\n\"x, \"\"y\"\"\",3\n"];
    assert_eq!(into(&client, "copy t (b, a) from stdin with (format csv, header)", csv).await.unwrap(), 1);
    let rows = simple(&client, "select a, b, c, e from t order by a").await;
    assert_eq!(rows, ["1|one|1.50|t", "2|NULL|123456.78|f", "3|x, \"y\"|NULL|NULL", "(3)"]);
    for (data, state) in
        [(&b"4\n"[..], "22P04"), (b"4\tx\tmuch\t\\N\tt\n", "22P02"), (b"four\tx\t1\t\\N\tt\n", "22P02")]
    {
        let mut lines = b"9\tnine\t9\t\\N\tt\n".to_vec();
        lines.extend_from_slice(data);
        let error = into(&client, "copy t from stdin", &[&lines]).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), state, "{}", String::from_utf8_lossy(data));
    }
    assert_eq!(simple(&client, "select count(*) from t").await, ["3", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn a_binary_copy_comes_back_as_it_left() {
    let wired = wired().await;
    let client = wired.owner().await;
    let columns = "a integer, b varchar, c decimal(12,2), d date, e double, f bigint, g uuid";
    simple(&client, &format!("create table source ({columns}); create table target ({columns})")).await;
    simple(
        &client,
        "insert into source values (1, 'x', 1.25, '2024-02-29', 0.5, 5, 'eeccb8c5-9943-4b2b-b5eb-3ef0d7a1f3c2'), \
         (null, null, null, null, null, null, null)",
    )
    .await;
    let bytes = out(&client, "copy source to stdout (format binary)").await;
    let pieces: Vec<&[u8]> = bytes.chunks(13).collect();
    assert_eq!(into(&client, "copy target from stdin (format binary)", &pieces).await.unwrap(), 2);
    assert_eq!(
        simple(&client, "select count(*) from (select * from source except all select * from target)").await[0],
        "0"
    );
    wired.stop().await;
}

#[tokio::test]
async fn a_column_may_be_copied_that_is_null_in_every_row() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create table t (a integer, b date, c uuid, d blob, e decimal(8,2))").await;
    let lines: &[&[u8]] = &[b"1\t\\N\t\\N\t\\N\t\\N\n2\t\\N\t\\N\t\\N\t\\N\n"];
    assert_eq!(into(&client, "copy t from stdin", lines).await.unwrap(), 2);
    assert_eq!(simple(&client, "select sum(a), count(b) from t").await, ["3|0", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn a_filter_compares_the_decimals_that_are_copied_as_numbers() {
    let wired = wired().await;
    wired.world.change(|rules| {
        rules.policies = vec![filtering("customer", "balance < 100")];
        rules.members.values_mut().for_each(|member| member.role = contract::Role::Developer);
    });
    let analyst = wired.analyst().await;
    assert_eq!(into(&analyst, "copy customer (id, balance) from stdin", &[b"8\t99.5\n"]).await.unwrap(), 1);
    let error = into(&analyst, "copy customer (id, balance) from stdin", &[b"9\t100.5\n"]).await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "42501");
    wired.stop().await;
}

#[tokio::test]
async fn a_copy_in_is_refused_as_an_insert_is() {
    let wired = wired().await;
    let analyst = wired.analyst().await;
    let error = into(&analyst, "copy customer (id) from stdin", &[b"9\n"]).await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "42501");
    assert_eq!(simple(&analyst, "select count(*) from customer").await, ["3", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn a_list_is_a_parameter() {
    let wired = wired().await;
    let client = wired.owner().await;
    let names = |rows: Vec<tokio_postgres::Row>| rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>();
    let sql = "select name from customer where id = any($1::int[]) order by id";
    assert_eq!(names(client.query(sql, &[&vec![1_i32, 3]]).await.unwrap()), ["Ada", "Cleo"]);
    assert_eq!(names(client.query(sql, &[&Vec::<i32>::new()]).await.unwrap()), Vec::<String>::new());
    let sql = "select name from customer where id = any($1) order by id";
    assert_eq!(names(client.query(sql, &[&vec![2_i32]]).await.unwrap()), ["Bob"], "its type is told");
    let sql = "select name from customer where name = any($1)";
    assert_eq!(names(client.query(sql, &[&vec!["Bob", "it's"]]).await.unwrap()), ["Bob"]);
    wired.stop().await;
}
