//! Every type of the engine arrives, under the engine's own name for it.

use engine::{Kind, Outcome, Statement};
use expect_test::expect;
use tokio_util::sync::CancellationToken;

use crate::world::{cell, read, soon, world};

#[tokio::test]
async fn every_type_arrives() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let sql = "select * exclude (medium_enum, large_enum, timestamptz_array, hugeint) from test_all_types()";
    let outcome = session
        .run(read(sql), soon(), &CancellationToken::new())
        .await
        .unwrap();
    let Outcome::Rows(mut rows) = outcome else {
        panic!("no rows")
    };
    let batch = rows.next().await.unwrap().unwrap();
    let mut lines = Vec::new();
    for (index, column) in rows.columns.iter().enumerate() {
        // The engine's extremes are beyond what Arrow's printer shows as a date.
        let cell = Some(cell(batch.column(index), 0))
            .filter(|cell| !cell.starts_with("ERROR"))
            .unwrap_or_default();
        let form = batch.column(index).data_type().to_string();
        lines.push(format!(
            "{} | {} | {form} | {cell}",
            column.name, column.type_name
        ));
    }
    expect![[r#"
        bool | BOOLEAN | Boolean | false
        tinyint | TINYINT | Int8 | -128
        smallint | SMALLINT | Int16 | -32768
        int | INTEGER | Int32 | -2147483648
        bigint | BIGINT | Int64 | -9223372036854775808
        uhugeint | UHUGEINT | Utf8 | 0
        utinyint | UTINYINT | UInt8 | 0
        usmallint | USMALLINT | UInt16 | 0
        uint | UINTEGER | UInt32 | 0
        ubigint | UBIGINT | UInt64 | 0
        bignum | BIGNUM | Utf8 | -179769313486231570814527423731704356798070567525844996598917476803157260780028538760589558632766878171540458953514382464234321326889464182768467546703537516986049910576551282076245490090389328944075868508455133942304583236903222948165808559332123348274797826204144723168738177180919299881250404026184124858368
        date | DATE | Date32 | 
        time | TIME | Time64(µs) | 00:00:00
        timestamp | TIMESTAMP | Timestamp(µs) | 
        timestamp_s | TIMESTAMP_S | Timestamp(s) | 
        timestamp_ms | TIMESTAMP_MS | Timestamp(ms) | 
        timestamp_ns | TIMESTAMP_NS | Timestamp(ns) | 1677-09-22T00:00:00
        time_tz | TIME WITH TIME ZONE | Utf8 | 00:00:00+15:59:59
        timestamp_tz | TIMESTAMP WITH TIME ZONE | Timestamp(µs, "UTC") | 
        float | FLOAT | Float32 | -3.4028235e38
        double | DOUBLE | Float64 | -1.7976931348623157e308
        dec_4_1 | DECIMAL(4,1) | Decimal128(4, 1) | -999.9
        dec_9_4 | DECIMAL(9,4) | Decimal128(9, 4) | -99999.9999
        dec_18_6 | DECIMAL(18,6) | Decimal128(18, 6) | -999999999999.999999
        dec38_10 | DECIMAL(38,10) | Decimal128(38, 10) | -9999999999999999999999999999.9999999999
        uuid | UUID | Utf8 | 00000000-0000-0000-0000-000000000000
        interval | INTERVAL | Interval(MonthDayNano) | 0 secs
        varchar | VARCHAR | Utf8 | 🦆🦆🦆🦆🦆🦆
        blob | BLOB | Binary | 746869736973616c6f6e67626c6f6200776974686e756c6c6279746573
        bit | BIT | Utf8 | 0010001001011100010101011010111
        small_enum | ENUM('DUCK_DUCK_ENUM', 'GOOSE') | Utf8 | DUCK_DUCK_ENUM
        int_array | INTEGER[] | List(Int32, field: 'l') | []
        double_array | DOUBLE[] | List(Float64, field: 'l') | []
        date_array | DATE[] | List(Date32, field: 'l') | []
        timestamp_array | TIMESTAMP[] | List(Timestamp(µs), field: 'l') | []
        varchar_array | VARCHAR[] | List(Utf8, field: 'l') | []
        nested_int_array | INTEGER[][] | List(List(Int32, field: 'l'), field: 'l') | []
        struct | STRUCT(a INTEGER, b VARCHAR) | Struct("a": Int32, "b": Utf8) | {a: , b: }
        struct_of_arrays | STRUCT(a INTEGER[], b VARCHAR[]) | Struct("a": List(Int32, field: 'l'), "b": List(Utf8, field: 'l')) | {a: , b: }
        array_of_structs | STRUCT(a INTEGER, b VARCHAR)[] | List(Struct("a": Int32, "b": Utf8), field: 'l') | []
        map | MAP(VARCHAR, VARCHAR) | Map("entries": non-null Struct("key": non-null Utf8, "value": Utf8), unsorted) | {}
        union | UNION(name VARCHAR, age SMALLINT) | Utf8 | Frank
        fixed_int_array | INTEGER[3] | FixedSizeList(3 x Int32, field: '') | [, 2, 3]
        fixed_varchar_array | VARCHAR[3] | FixedSizeList(3 x Utf8, field: '') | [a, , c]
        fixed_nested_int_array | INTEGER[3][3] | FixedSizeList(3 x FixedSizeList(3 x Int32, field: ''), field: '') | [[, 2, 3], , [, 2, 3]]
        fixed_nested_varchar_array | VARCHAR[3][3] | FixedSizeList(3 x FixedSizeList(3 x Utf8, field: ''), field: '') | [[a, , c], , [a, , c]]
        fixed_struct_array | STRUCT(a INTEGER, b VARCHAR)[3] | FixedSizeList(3 x Struct("a": Int32, "b": Utf8), field: '') | [{a: , b: }, {a: 42, b: 🦆🦆🦆🦆🦆🦆}, {a: , b: }]
        struct_of_fixed_array | STRUCT(a INTEGER[3], b VARCHAR[3]) | Struct("a": FixedSizeList(3 x Int32, field: ''), "b": FixedSizeList(3 x Utf8, field: '')) | {a: [, 2, 3], b: [a, , c]}
        fixed_array_of_int_list | INTEGER[][3] | FixedSizeList(3 x List(Int32, field: 'l'), field: '') | [[], [42, 999, , , -42], []]
        list_of_fixed_int_array | INTEGER[3][] | List(FixedSizeList(3 x Int32, field: ''), field: 'l') | [[, 2, 3], [4, 5, 6], [, 2, 3]]
        time_ns | TIME_NS | Time64(ns) | 00:00:00
        geometry | GEOMETRY | Binary | 0101000000000000000000f87f000000000000f87f"#]].assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn a_number_that_arrow_cuts_is_refused_and_not_sent_wrong() {
    let world = world().await;
    let nines = "9".repeat(38);
    assert_eq!(
        world.answer(&format!("select -{nines}::hugeint")).await,
        Ok(format!("-{nines}"))
    );
    let error = world
        .answer(&format!("select {nines}::hugeint + 1"))
        .await
        .unwrap_err();
    assert_eq!(error.kind, Kind::OutOfRange);
}

#[tokio::test]
async fn what_arrow_cannot_carry_arrives_as_text_and_a_write_refuses_to_return_it() {
    let world = world()
        .await
        .made(&[
            "create type mood as enum ('ok', 'sad')",
            "create table t(m mood, u uhugeint)",
        ])
        .await;
    let mut session = world.session().await.unwrap();
    let sql = "insert into t values ('sad', 340282366920938463463374607431768211455)";
    let returning = Statement {
        writes: true,
        ..read(&format!("{sql} returning u"))
    };
    let error = session
        .run(returning, soon(), &CancellationToken::new())
        .await
        .err()
        .unwrap();
    assert_eq!(error.kind, Kind::NotImplemented);
    assert_eq!(
        world.answer("select count(*) from t").await.as_deref(),
        Ok("0"),
        "it was refused before it ran"
    );
    crate::world::write(&mut session, sql).await.unwrap();
    let rows = world
        .answer("select m, u, [m], 1 as m from t order by m")
        .await;
    assert_eq!(
        rows.as_deref(),
        Ok("sad 340282366920938463463374607431768211455 [sad] 1")
    );
}
