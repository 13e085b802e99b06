//! `standard_conforming_strings = off`: a backslash in a string escapes, as in the warehouse, for the session that asks.

use dataplane::testing::demo_key;

use super::{refused, simple, wired};

#[tokio::test]
async fn a_session_that_asks_for_escapes_has_them() {
    let wired = wired().await;
    let client = wired.owner().await;
    let written = [
        (r"select 'a\\b', 'it\'s', length('a\nb'), 'ab12' regexp '[a-z]+\\d+'", r"a\b|it's|3|t"),
        (r"select regexp_substr('the red fox', 'the\\W+(\\w+)', 1, 1, 'e'), 'a\nb' rlike 'a.b'", "red|f"),
        (r"select regexp_replace('ab12', '([a-z]+)([0-9]+)', '\\2-\\1'), E'\t' = '\t', $$\d$$", r"12-ab|t|\d"),
    ];
    assert_ne!(simple(&client, written[2].0).await[0], written[2].1, "an ordinary character unless it is asked for");
    wired.noticed();
    assert_eq!(simple(&client, "set standard_conforming_strings = off").await, ["(0)"]);
    assert_eq!(simple(&client, "show standard_conforming_strings").await[0], "off");
    for (sql, row) in written {
        assert_eq!(simple(&client, sql).await[0], row, "{sql}");
        assert_eq!(client.query(sql, &[]).await.unwrap().len(), 1, "{sql}");
    }
    assert!(wired.noticed().is_empty(), "nothing to warn of");
    assert_eq!(simple(&client, r"select 'a\';select 2;--'; select 3").await, ["a';select 2;--", "(1)", "3", "(1)"]);
    assert_eq!(refused(&client, r"select 'a\'").await.code().code(), "42601");
    assert_eq!(refused(&client, r"select '\x80'").await.code().code(), "42601");
    // what a driver quotes that was told of it
    let guess = r"select count(*) from customer where name = '\\'' or true --'";
    assert_eq!(simple(&client, guess).await, ["0", "(1)"]);
    simple(&client, "reset standard_conforming_strings").await;
    assert_eq!(simple(&client, r"select 'a\'").await[0], r"a\");
    wired.stop().await;
}

#[tokio::test]
async fn how_strings_are_read_does_not_change_within_a_text() {
    let wired = wired().await;
    let client = wired.owner().await;
    for sql in [
        r"set standard_conforming_strings = off; select 'a\'",
        r"select 1; set standard_conforming_strings to 'no'",
        r"select set_config('standard_conforming_strings', 'off', false); select 'a\'",
    ] {
        assert_eq!(refused(&client, sql).await.code().code(), "0A000", "{sql}");
        assert_eq!(simple(&client, r"select 'a\'").await[0], r"a\", "{sql}");
    }
    simple(&client, "begin").await;
    simple(&client, "set local standard_conforming_strings = 0").await;
    assert_eq!(simple(&client, r"select 'a\\'").await[0], r"a\");
    simple(&client, "commit").await;
    assert_eq!(simple(&client, r"select 'a\\'").await[0], r"a\\");
    assert_eq!(refused(&client, "set standard_conforming_strings = maybe").await.code().code(), "22023");
    let mut config = wired.config("agent", demo_key());
    config.options("-c standard_conforming_strings=off");
    let told = wired.connect(&config).await.unwrap();
    assert_eq!(simple(&told, r"select 'a\\'").await[0], r"a\");
    wired.stop().await;
}
