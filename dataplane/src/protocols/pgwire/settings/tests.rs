use super::*;

fn settings() -> SessionSettings {
    SessionSettings::new("agent").logged_in()
}

#[test]
fn what_drivers_set_is_accepted() {
    let mut settings = settings();
    for (name, value) in [
        ("client_encoding", "'utf-8'"),
        ("extra_float_digits", "3"),
        ("DateStyle", "ISO"),
        ("application_name", "dbt"),
        ("standard_conforming_strings", "on"),
        ("statement_timeout", "30s"),
        ("TimeZone", "Europe/Berlin"),
        ("default_transaction_read_only", "off"),
    ] {
        settings.set(name, Some(value)).unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
    }
    assert_eq!(settings.get("CLIENT_ENCODING").as_deref(), Some("UTF8"));
    assert_eq!(settings.timeout(), Some(Duration::from_secs(30)));
    assert_eq!(settings.zone(), Tz::Europe__Berlin);
}

#[test]
fn what_would_break_a_promise_is_refused() {
    for (name, value, state) in [
        ("client_encoding", "LATIN1", "22023"),
        ("standard_conforming_strings", "sometimes", "22023"),
        ("server_version", "99", "55P02"),
        ("session_authorization", "postgres", "42501"),
        ("role", "postgres", "42501"),
        ("memory_limit", "1TB", "42501"),
        ("enable_external_access", "true", "42501"),
        ("TimeZone", "Mars/Olympus", "22023"),
        ("statement_timeout", "300001", "22023"),
        ("transaction_isolation", "chaos", "22023"),
    ] {
        let failure = settings().set(name, Some(value)).unwrap_err();
        assert_eq!(failure.sqlstate, state, "{name}: {failure:?}");
    }
}

#[test]
fn reset_goes_back_to_the_login_and_keeps_its_identity() {
    let mut settings = SessionSettings::new("agent");
    settings.set("acme_agent_id", Some("a1")).unwrap();
    settings.set("application_name", Some("x")).unwrap();
    let mut settings = settings.logged_in();
    settings.set("agent_id", Some("other")).unwrap();
    settings.set("application_name", Some("y")).unwrap();
    settings.set("my.variable", Some("1")).unwrap();
    settings.reset_all();
    assert_eq!(settings.identity().agent_id.as_deref(), Some("a1"));
    assert_eq!(settings.get("application_name").as_deref(), Some("x"));
    assert_eq!(settings.get("my.variable"), None);
}

#[test]
fn variables_are_bounded() {
    let mut settings = settings();
    for n in 0..values::VARIABLES_MAX {
        settings.set(&format!("v{n}"), Some("1")).unwrap();
    }
    assert_eq!(settings.set("one_more", Some("1")).unwrap_err().sqlstate, "53400");
    settings.set("v1", Some("2")).unwrap();
}

#[test]
fn a_variable_keeps_the_form_it_was_written_in() {
    let mut settings = settings();
    for (name, value, written) in
        [("n", "-1.5", SetValueForm::Number), ("b", "true", SetValueForm::Word), ("t", "true", SetValueForm::Text)]
    {
        settings.assign(name, Some(value), written, SettingScope::Session).unwrap();
    }
    let told: Vec<_> = settings.variables().told().map(|told| told.join(" ")).collect();
    assert_eq!(told, ["b true boolean", "n -1.5 fixed", "t true text"]);
    let redacted = |settings: &SessionSettings| {
        sql::parse_with("select $N, $b, $t", &settings.variables()).map(|statement| statement.redacted()).ok()
    };
    assert!(redacted(&settings).is_some());
    settings.assign("t", None, SetValueForm::Text, SettingScope::Session).unwrap();
    assert_eq!(redacted(&settings), None);
}

#[test]
fn a_session_asks_for_less_healing_and_never_gets_more() {
    let mut settings = settings();
    let shown = |settings: &SessionSettings, permitted| settings.holding("HEAL", Some(permitted)).unwrap_or_default();
    assert_eq!((settings.heal(), shown(&settings, Heal::Safe).as_str()), (None, "safe"));
    for (value, permitted, holds) in
        [("OFF", Heal::Auto, "off"), ("'safe'", Heal::Auto, "safe"), ("auto", Heal::Safe, "safe")]
    {
        settings.set("heal", Some(value)).unwrap();
        assert_eq!(shown(&settings, permitted), holds, "{value}");
    }
    assert_eq!(settings.set("heal", Some("offf")).unwrap_err().message, "heal is one of off, safe, auto");
    settings.set("heal", None).unwrap();
    assert_eq!(shown(&settings, Heal::Auto), "auto");
}

#[test]
fn the_schemas_are_those_of_the_path_in_its_order() {
    let mut settings = settings();
    for (path, schema, behind) in [
        ("branch_1,main", "branch_1", vec!["main"]),
        ("\"$user\", public", "main", vec![]),
        ("", "main", vec![]),
        ("\"Odd\"", "Odd", vec![]),
        ("a, pg_catalog, b, c", "a", vec!["b", "c"]),
    ] {
        settings.set("search_path", Some(path)).unwrap();
        let behind = behind.into_iter().map(str::to_owned).collect();
        assert_eq!(settings.schemas(), (schema.to_owned(), behind), "{path}");
    }
}

/// `x` as it is shown, and whether the session only reads.
fn shown(settings: &SessionSettings) -> (Option<String>, bool) {
    (settings.get("x"), settings.is_read_only())
}

#[test]
fn what_is_set_in_a_transaction_stands_or_falls_with_it() {
    use SettingScope::{Session, Transaction};
    type Sets = &'static [(&'static str, SettingScope)];
    let cases: [(Sets, bool, Option<&str>); 8] = [
        (&[("1", Session)], true, Some("1")),
        (&[("1", Session)], false, Some("0")),
        (&[("1", Transaction)], true, Some("0")),
        (&[("1", Transaction)], false, Some("0")),
        (&[("1", Session), ("2", Transaction)], true, Some("1")),
        (&[("1", Transaction), ("2", Session)], true, Some("2")),
        (&[("1", Transaction), ("2", Session), ("3", Transaction)], true, Some("2")),
        (&[], true, Some("0")),
    ];
    for (sets, is_committed, expected) in cases {
        let mut settings = settings();
        settings.set("x", Some("0")).unwrap();
        settings.begin();
        for (value, reach) in sets {
            settings.assign("x", Some(value), SetValueForm::Text, *reach).unwrap();
            assert_eq!(settings.get("x").as_deref(), Some(*value), "{sets:?}");
        }
        settings.end(is_committed);
        assert_eq!(settings.get("x").as_deref(), expected, "{sets:?}, {is_committed}");
        assert_eq!(settings.variables().told().count(), 1);
    }
}

#[test]
fn a_savepoint_keeps_both_what_is_and_what_will_be() {
    let mut settings = settings();
    settings.begin();
    settings.assign("x", Some("1"), SetValueForm::Text, SettingScope::Session).unwrap();
    let mark = settings.mark();
    settings.assign("x", Some("2"), SetValueForm::Text, SettingScope::Transaction).unwrap();
    settings.assign("x", Some("3"), SetValueForm::Text, SettingScope::Session).unwrap();
    settings.assign("TimeZone", Some("Europe/Berlin"), SetValueForm::Text, SettingScope::Session).unwrap();
    assert_eq!(settings.reported_since(&mark), ["TimeZone"]);
    settings.go_back(mark.clone());
    assert_eq!((settings.get("x").as_deref(), settings.zone()), (Some("1"), Tz::UTC));
    assert!(settings.reported_since(&mark).is_empty());
    settings.end(true);
    assert_eq!(settings.get("x").as_deref(), Some("1"));
}

#[test]
fn what_is_of_a_transaction_ends_with_it() {
    let mut settings = settings();
    settings.set("default_transaction_read_only", Some("on")).unwrap();
    assert!(shown(&settings).1);
    settings.begin();
    settings.set("transaction_read_only", Some("off")).unwrap();
    settings.reset_all();
    assert!(!shown(&settings).1, "RESET ALL keeps it");
    settings.set("default_transaction_read_only", Some("on")).unwrap();
    settings.end(true);
    assert_eq!(shown(&settings), (None, true));
    settings.set("transaction_read_only", Some("off")).unwrap();
    assert!(shown(&settings).1, "there is no transaction that it could be of");
}

#[test]
fn more_isolation_than_there_is_is_taken_as_what_there_is_and_said_so_once() {
    for name in ["transaction_isolation", "default_transaction_isolation"] {
        let mut settings = settings();
        settings.begin();
        settings.set(name, Some("read committed")).unwrap();
        assert!(!settings.took_less(), "{name}");
        settings.set(name, Some("SERIALIZABLE")).unwrap();
        assert_eq!(settings.get(name).as_deref(), Some("repeatable read"));
        assert_eq!((settings.took_less(), settings.took_less()), (true, false), "{name}");
    }
}
