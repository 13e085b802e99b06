//! Members of the records of a Parquet file: the same, whether they are read of their columns or out of the records.

use crate::copied::{put, ran, staged};
use crate::world::{World, world};

/// Columns of each type that a file of Parquet has, with NULLs.
const ROWS: &str = r#"select (i - 2)::tinyint as i8, (i * 1000)::smallint as i16, (i * 100000)::integer as i32,
    (i * 10000000000)::bigint as i64, i::utinyint as u8, (i * 20000)::usmallint as u16,
    (4294967295 - i)::uinteger as u32, (18446744073709551615::hugeint - i)::ubigint as u64, (i * 0.1)::double as d,
    case i when 0 then 'nan'::double when 1 then 'inf'::double when 2 then -0.0::double else 1e30::double end as odd,
    (i * 0.1)::float as f, (i * 12.34)::decimal(18, 2) as n, 'text "' || i || '\ ü' as s, i::varchar as digits,
    '' as blank, date '2026-01-31' + i::integer as y, timestamp '2026-01-01 10:00:00.125' + interval (i) hour as m,
    timestamptz '2026-01-01 10:00:00+02' as z, time '10:00:01' as c, i % 2 = 0 as b, 'ab'::blob as x,
    [i, null] as l, {'a': i, 'b': null} as o, 'true' as t from range(4) r(i)
    union all select null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
    null, null, null, null, null, null, null"#;

const NAMES: [&str; 26] = [
    "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "d", "odd", "f", "n", "s", "digits", "blank", "y", "m", "z",
    "c", "b", "x", "l", "o", "t", "absent", "I8",
];

/// Casts that fail for no value, or make NULL of it.
const CASTS: [&str; 9] =
    ["varchar", "int", "smallint", "number(38, 0)", "number(10, 2)", "double", "date", "timestamp_ntz", "boolean"];

/// Those that the types are made for.
const PLAIN: &str = "$1:i8::int, $1:i16::bigint, $1:i32::int, $1:i64::bigint, $1:u8::int, $1:u32::bigint, $1:u64::number(38, 0), \
     $1:i64::double, $1:i32::float, $1:d::double, $1:odd::double, $1:f::double, $1:n::number(18, 2), $1:s::varchar, \
     $1:digits::int, $1:y::date, $1:m::timestamp_ntz, $1:z::timestamp_ntz, $1:b::boolean, $1:t::boolean, $1:x::varchar, \
     $1:l, $1:o, $1:o:a::int, $1:absent::int, $1:i32 + 1, $1:s || '!', $1:y > '2026-02-01'::date, count(*) over ()";

async fn told(world: &World, values: &str, from: &str) -> Result<String, String> {
    let sql = format!("select metadata$file_row_number as line, {values} from {from} order by line");
    world.run(&sql).await.map(|answer| answer.json).map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_member_is_the_same_of_its_column_and_of_its_record() {
    let world = world().await;
    let id = staged(&world, "create stage s file_format = (type = parquet)").await;
    let made = world.spool().join("made.parquet");
    world.behind_our_back(&format!("copy ({ROWS}) to '{}' (format parquet)", made.display())).await;
    let bytes = std::fs::read(&made).unwrap();
    std::fs::remove_file(&made).unwrap();
    for path in ["one/a.parquet", "two/a.parquet", "two/b.parquet"] {
        put(&world, &id, path, &bytes);
    }
    let records = "@s/two/ where metadata$filename = 'two/a.parquet'";
    for cast in CASTS {
        let tried = |name: &&str| format!("try_cast($1:{name}::varchar as {cast})");
        let values = NAMES.iter().map(tried).collect::<Vec<_>>().join(", ");
        assert_eq!(told(&world, &values, "@s/one/").await, told(&world, &values, records).await, "{cast}");
    }
    let by_column = told(&world, PLAIN, "@s/one/").await;
    assert!(by_column.is_ok(), "{by_column:?}");
    assert_eq!(by_column, told(&world, PLAIN, records).await);
    for (values, sum) in
        [("sum($1:i32::bigint)", "[600000]"), ("count($1:s::varchar), count(*)", "[4,5]"), ("count(*)", "[5]")]
    {
        assert_eq!(ran(&world, &format!("select {values} from @s/one/")).await, sum);
    }
    assert!(told(&world, "$1:s::int", "@s/one/").await.is_err());
    world.stop().await;
}
