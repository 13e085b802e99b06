use super::*;

/// The columns, in the order in which a row has them.
const COLUMNS: [&str; 12] =
    ["when", "try", "order", "equal", "text", "variant", "bounds", "from", "clauses", "engine", "masked", "result"];

#[test]
fn every_row_is_read_and_sorted_without_repeats() {
    let unread: Vec<_> = lines().filter(|line| read(line).is_none()).collect();
    assert_eq!(unread, Vec::<&str>::new());
    let names: Vec<_> = all().map(|function| function.name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(names, sorted);
}

#[test]
fn every_column_is_in_the_header_once_and_in_its_place_in_each_row() {
    let header: Vec<_> = include_str!("../functions.txt").lines().take_while(|line| line.starts_with('#')).collect();
    let named: Vec<_> = header
        .iter()
        .filter_map(|line| line.strip_prefix("# ")?.split_whitespace().next()?.strip_suffix('='))
        .collect();
    assert_eq!(named, COLUMNS);
    for line in lines() {
        let words = line.split_once("  # ").map_or(line, |(said, _)| said).split_whitespace().skip(3);
        let places: Vec<_> = words
            .map(|word| COLUMNS.iter().position(|column| Some(*column) == word.split('=').next()).expect("a column"))
            .collect();
        assert!(places.is_sorted() && places.windows(2).all(|pair| pair[0] != pair[1]), "{line}");
    }
}

#[test]
fn a_row_of_unknown_words_is_none() {
    assert!(read("f safe scalar").is_some());
    for line in [
        "",
        "f",
        "f safe",
        "f certain scalar",
        "f safe thing",
        "f safe scalar try",
        "f safe scalar try=sometimes",
        "f safe scalar speed=fast",
        "f safe scalar text=a",
        "f safe scalar masked=no",
        "f safe scalar from=a:thing",
        "f safe scalar from=(a",
        "f safe scalar result=thing",
    ] {
        assert!(read(line).is_none(), "{line}");
    }
}

#[test]
fn what_a_row_does_not_say_gives_nothing_away() {
    let Function {
        name: _,
        class,
        kinds,
        safe_when: None,
        tried: None,
        order: None,
        equal: None,
        text: None,
        variant: None,
        bound: None,
        answered: None,
        clauses,
        engine: None,
        hands_through: false,
        result: None,
        is_result_sure: false,
    } = Function::default()
    else {
        panic!("a default says something");
    };
    assert_eq!((class, kinds.as_slice(), clauses.as_slice()), (Class::Denied, &[][..], &[][..]));
}

/// What holds of the words of one row together.
#[test]
fn no_row_contradicts_itself() {
    for function in all() {
        let name = function.name;
        let throws = function.class == Class::Throwing;
        assert!(function.safe_when.is_none() || throws, "{name} is safe anyway, or nothing of the kind");
        assert!(function.tried.is_none() || throws, "{name} has nothing to catch");
        // an error about a text that is no number must not tell of rows that a filter hides
        assert!(function.text != Some(TextArgument::Number) || throws, "{name} reads text");
        let counts_rows = function.is(FunctionKind::Aggregate) || function.is(FunctionKind::Window);
        let is_numbering = function.order == Some(RowOrder::Numbers);
        assert!(function.order.is_none() || counts_rows != is_numbering, "{name} is of one row");
        assert!(function.engine.is_none() || !function.is_of_engine(), "{name} is the engine's own name");
        if let Some(engine) = function.engine {
            let engine = find_in_engine(engine).expect(engine);
            assert_eq!(engine.is(FunctionKind::Aggregate), function.is(FunctionKind::Aggregate), "{name}");
            assert_eq!(engine.order, function.order, "{name}");
        }
        assert!(!function.is(FunctionKind::Operator) || function.tried.is_none(), "{name} is not called");
    }
}

#[test]
fn the_table_holds_as_many_names_as_the_engine() {
    assert_eq!(all().filter(Function::is_in_catalog).count(), 947);
}

#[test]
fn what_reads_files_settings_catalogs_statistics_or_sql_is_denied() {
    let names = "stats error sleep_ms pg_sleep write_log current_query current_setting getvariable query query_table \
                 json_execute_serialized_sql json_serialize_sql json_deserialize_sql setseed txid_current version \
                 has_table_privilege pg_get_viewdef duckdb_tables pragma_storage_info read_csv read_blob parquet_scan \
                 glob sniff_csv summary finalize combine which_secret variant_extract alias";
    for name in names.split_whitespace() {
        assert_eq!(find(name).map(|function| function.class), Some(Class::Denied), "{name}");
    }
}

#[test]
fn names_match_without_regard_to_case_and_others_have_no_row() {
    assert_eq!(find("UPPER").map(|function| function.class), Some(Class::Safe));
    assert_eq!(find("NextVal").map(|function| function.class), Some(Class::Write));
    assert!(find("getenv").is_none() && find_in_engine("iff").is_none());
}

#[test]
fn five_functions_of_the_engine_and_four_of_the_dialect_stand_in_from() {
    let (of_dialect, of_engine): (Vec<_>, Vec<_>) = all()
        .map(|function| function.name)
        .filter(|name| is_table_function(name))
        .partition(|name| is_table_function_of_dialect(name));
    assert_eq!(of_engine, ["generate_series", "json_each", "json_tree", "range", "unnest"]);
    assert_eq!(of_dialect, ["flatten", "generator", "split_to_table", "strtok_split_to_table"]);
    assert!(is_table_function("SPLIT_TO_TABLE") && is_table_function("Generator"));
    assert!(!is_table_function("read_csv") && !is_table_function("repeat"));
}
