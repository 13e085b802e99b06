//! Bounds of one session, and of requests of HTTP at the wire's port.

use contract::Code;
use dataplane::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::pgwire::{refused, simple, wired};
use crate::world::world;

#[tokio::test]
async fn the_cursors_of_a_session_hold_no_more_than_it_may() {
    let wired = wired().await;
    let client = wired.owner().await;
    let forty_megabytes = "select repeat('x', 1000) from range(40000)";
    simple(&client, &format!("begin; declare a cursor for {forty_megabytes}; fetch 1 from a")).await;
    simple(&client, &format!("declare b cursor for {forty_megabytes}; fetch 1 from b")).await;
    let error = refused(&client, "select 1").await;
    assert_eq!((error.code().code(), error.message().contains("suspended cursors")), ("53400", true), "{error}");
    simple(&client, "rollback; begin").await;
    assert_eq!(simple(&client, "select 1; commit").await, ["1", "(1)", "(0)"]);
    wired.stop().await;
}

#[tokio::test]
async fn the_values_bound_to_a_sessions_portals_are_no_more_than_it_may_hold() {
    let wired = wired().await;
    let mut client = wired.owner().await;
    let value = "x".repeat(15 << 20);
    let transaction = client.transaction().await.unwrap();
    let statement = transaction.prepare("select length($1::text)").await.unwrap();
    let mut portals = Vec::new();
    for _ in 0..4 {
        portals.push(transaction.bind(&statement, &[&value]).await.unwrap());
    }
    let error = transaction.bind(&statement, &[&value]).await.err().unwrap();
    assert_eq!(error.code().unwrap().code(), "53400", "{error}");
    drop(portals);
    transaction.rollback().await.unwrap();
    let length: i64 = client.query_one(&statement, &[&value]).await.unwrap().get(0);
    assert_eq!(length, 15 << 20);
    wired.stop().await;
}

/// With it would go what others have not committed.
#[tokio::test]
async fn what_would_end_the_engines_process_is_refused() {
    let wired = wired().await;
    let (client, other) = (wired.owner().await, wired.owner().await);
    simple(&other, "begin; create table kept (id int)").await;
    let lists = "repeat('[', 300000) || repeat(']', 300000)";
    let objects = r#"repeat('{"a":', 100000) || '1' || repeat('}', 100000)"#;
    for (sql, code) in [
        ("select lag(1, -9223372036854775808) over ()".to_owned(), "22023"),
        ("select lead(1, -9223372036854775807 - n) over () from range(2) t(n)".to_owned(), "22023"),
        (format!("select json_structure({lists}) is null"), "22023"),
        (format!("select json_structure('{}')", "[".repeat(5_001)), "0A000"),
        (format!("select json_group_structure(({objects})::json) is null"), "22023"),
        (format!("select json_contains({objects}, '7')"), "22023"),
        (format!("select json_contains('7', {lists})"), "22023"),
        (format!("select json_merge_patch('{{}}', {objects}) is null"), "22023"),
        ("select jarowinkler_similarity(repeat('a', 1000000), repeat('b', 1000000))".to_owned(), "22023"),
    ] {
        let error = refused(&client, &sql).await;
        assert_eq!(error.code().code(), code, "{sql:.100}: {error}");
    }
    let answered = "select lag(n, 1, 7) over (order by n), lead(n, n) over (order by n), json_structure('{\"a\": [1]}'), \
                    json_merge_patch('{\"a\": 1}', '{\"b\": 2}'), jaro_similarity('ab', 'ab') from range(1) t(n)";
    assert_eq!(simple(&client, answered).await, [r#"7|0|{"a":["UBIGINT"]}|{"a":1,"b":2}|1"#, "(1)"]);
    simple(&other, "insert into kept values (1); commit").await;
    wired.stop().await;
}

/// The answer of the port to a request without a credential on a connection that stays open.
async fn greeted(stream: &mut TcpStream) -> Vec<u8> {
    let mut status = vec![0; 12];
    let asked = stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    match asked.and(stream.read_exact(&mut status).await) {
        Ok(_) => status,
        Err(_) => Vec::new(),
    }
}

#[tokio::test]
async fn connections_of_http_have_places_of_their_own() {
    let wired = wired().await;
    let mut served = Vec::new();
    for _ in 0..256 {
        let mut stream = wired.knock().await;
        assert_eq!(greeted(&mut stream).await, b"HTTP/1.1 404");
        served.push(stream);
    }
    assert_eq!(greeted(&mut wired.knock().await).await, b"", "one too many");
    assert_eq!(simple(&wired.owner().await, "select 1").await, ["1", "(1)"]);
    drop(served);
    while greeted(&mut wired.knock().await).await.is_empty() {}
    wired.stop().await;
}

#[tokio::test]
async fn a_text_of_format_makes_no_more_than_any_call_may() {
    let world = world().await;
    world.run("create table texts (f varchar)").await.unwrap();
    for text in ["{:>20}|", "{:>20000000}", "{:{}}", "%1000000000d"] {
        world.run(&format!("insert into texts values ('{text}')")).await.unwrap();
    }
    for (sql, code) in [
        ("select format('{:>1000000000}', 'x')", Some(Code::UnsupportedSql)),
        ("select printf('%1000000000d', 1)", Some(Code::UnsupportedSql)),
        ("select printf('%.1000000000f', 1.5)", Some(Code::UnsupportedSql)),
        ("select length(format('{:{}}', 'x', 1000000000))", Some(Code::UnsupportedSql)),
        ("select length(printf('%*d', 1000000000, 1))", Some(Code::UnsupportedSql)),
        (
            "select length(format('{:>' || id || '0000000}', 'x')) from customer where id = 3",
            Some(Code::InvalidArgument),
        ),
        ("select length(format(f, 'x')) from texts where f like '%20000000%'", Some(Code::InvalidArgument)),
        ("select length(format(f, 'x', 1000000000)) from texts where f like '{:{%'", Some(Code::InvalidArgument)),
        ("select length(printf(f, 1)) from texts where f like '\\%1%' escape '\\'", Some(Code::InvalidArgument)),
        ("select format(f, 'x') from texts where f like '%>20}%'", None),
        ("select format('{:>20}{{}}', name), printf('%5d%%', id) from customer", None),
        ("select format(null, 1)", None),
    ] {
        let got = world.run(sql).await;
        assert_eq!(got.as_ref().err().map(Error::code), code, "{sql}: {:?}", got.err());
    }
    world.stop().await;
}
