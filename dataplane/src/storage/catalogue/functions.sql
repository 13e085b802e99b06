-- Functions of PostgreSQL that tell of its catalogue, as macros over what the session holds. What is looked up by id
-- is looked up in variables, so that a call may stand where a subquery may not.

create macro version() as getvariable('version');
create macro current_user() as getvariable('session_user');
create macro session_user() as getvariable('session_user');
create macro "user"() as getvariable('session_user');
create macro current_role() as getvariable('session_user');
create macro current_database() as getvariable('database');
create macro current_catalog() as getvariable('database');
create macro current_schema() as getvariable('schema');
create macro current_schemas(implicit) as case when implicit then list_prepend('pg_catalog', getvariable('search_path')) else getvariable('search_path') end;
create macro current_setting(setting_name) as getvariable('settings')[lower(setting_name)], (setting_name, missing_ok) as getvariable('settings')[lower(setting_name)];
create macro set_config(setting_name, new_value, is_local) as new_value;
create macro pg_is_in_recovery() as false;
create macro pg_my_temp_schema() as 0;
create macro pg_is_other_temp_schema(any_oid) as false;
create macro txid_current() as 1;
create macro pg_encoding_to_char(encoding_id) as case when encoding_id = 6 then 'UTF8' else '' end;
create macro getdatabaseencoding() as 'UTF8';
create macro pg_char_to_encoding(encoding_name) as case when upper(encoding_name) in ('UTF8', 'UTF-8') then 6 else -1 end;

-- Names and ids.
create macro pg_get_userbyid(any_oid) as getvariable('session_user');
create macro regclass_of(spelled) as coalesce(getvariable('relation_ids')[lower(regexp_replace(replace(spelled, '"', ''), ' *[.] *', '.', 'g'))], try_cast(spelled as bigint));
create macro regclass_name(any_oid) as coalesce(getvariable('relation_names')[any_oid::bigint], any_oid::varchar);
create macro to_regclass(spelled) as getvariable('relation_ids')[lower(regexp_replace(replace(spelled, '"', ''), ' *[.] *', '.', 'g'))];
create macro to_regtype(spelled) as coalesce(getvariable('type_ids')[regexp_replace(lower(replace(spelled, 'pg_catalog.', '')), ' *[(][0-9, ]*[)]', '')], getvariable('type_ids')[regexp_replace(lower(replace(replace(spelled, '"', ''), 'pg_catalog.', '')), ' *[(][0-9, ]*[)]', '')]);
create macro regtype_of(spelled) as coalesce(to_regtype(spelled), try_cast(spelled as bigint));
create macro regtype_name(any_oid) as coalesce(getvariable('type_names')[any_oid::bigint], any_oid::varchar);
create macro regnamespace_of(spelled) as coalesce(getvariable('schema_ids')[lower(replace(spelled, '"', ''))], try_cast(spelled as bigint));
create macro regnamespace_name(any_oid) as coalesce(getvariable('schema_names')[any_oid::bigint], any_oid::varchar);
create macro regrole_of(spelled) as 10;
create macro regrole_name(any_oid) as getvariable('session_user');
create macro regproc_of(spelled) as coalesce(getvariable('function_ids')[lower(replace(replace(spelled, '"', ''), 'pg_catalog.', ''))], try_cast(spelled as bigint));
create macro regproc_name(any_oid) as case when try_cast(any_oid as bigint) = 0 then '-' else coalesce(getvariable('function_names')[try_cast(any_oid as bigint)], any_oid::varchar) end;
create macro regprocedure_of(spelled) as try_cast(spelled as bigint);
create macro regprocedure_name(any_oid) as any_oid::varchar;
create macro regoper_of(spelled) as try_cast(spelled as bigint);
create macro regoper_name(any_oid) as any_oid::varchar;
create macro regconfig_of(spelled) as try_cast(spelled as bigint);
create macro regconfig_name(any_oid) as any_oid::varchar;

create macro format_type(any_oid, any_mod) as case
  when any_oid is null then null
  when any_oid in (1700, 1231) and any_mod >= 4 then
    'numeric(' || ((any_mod - 4) >> 16)::varchar || ',' || ((any_mod - 4) & 65535)::varchar || ')' || case when any_oid = 1231 then '[]' else '' end
  when any_oid in (1043, 1042) and any_mod >= 4 then
    getvariable('type_names')[any_oid::bigint] || '(' || (any_mod - 4)::varchar || ')'
  else coalesce(getvariable('type_names')[any_oid::bigint], '???') end;

-- May it be named without its schema?
create macro pg_table_is_visible(any_oid) as list_contains(getvariable('visible'), any_oid::bigint);
create macro pg_type_is_visible(any_oid) as true;
create macro pg_function_is_visible(any_oid) as list_contains(getvariable('visible'), any_oid::bigint);
create macro pg_operator_is_visible(any_oid) as true;
create macro pg_opclass_is_visible(any_oid) as true;
create macro pg_opfamily_is_visible(any_oid) as true;
create macro pg_collation_is_visible(any_oid) as true;
create macro pg_conversion_is_visible(any_oid) as true;
create macro pg_statistics_obj_is_visible(any_oid) as true;
create macro pg_ts_config_is_visible(any_oid) as true;
create macro pg_ts_dict_is_visible(any_oid) as true;
create macro pg_ts_parser_is_visible(any_oid) as true;
create macro pg_ts_template_is_visible(any_oid) as true;

-- Definitions. Of views and functions none is told: it may name what its reader must not see.
create macro pg_get_expr(node, any_oid) as node, (node, any_oid, pretty) as node;
create macro pg_get_constraintdef(any_oid) as getvariable('constraints')[any_oid::bigint], (any_oid, pretty) as getvariable('constraints')[any_oid::bigint];
create macro pg_get_indexdef(any_oid) as getvariable('indexes')[any_oid::bigint], (any_oid, column_no, pretty) as case
  when column_no = 0 then getvariable('indexes')[any_oid::bigint]
  else getvariable('index_columns')[any_oid::bigint][column_no] end;
create macro pg_get_viewdef(any_oid) as cast(null as varchar), (any_oid, pretty) as cast(null as varchar);
create macro pg_get_ruledef(any_oid) as cast(null as varchar), (any_oid, pretty) as cast(null as varchar);
create macro pg_get_triggerdef(any_oid) as cast(null as varchar), (any_oid, pretty) as cast(null as varchar);
create macro pg_get_partkeydef(any_oid) as cast(null as varchar);
create macro pg_get_partition_constraintdef(any_oid) as cast(null as varchar);
create macro pg_get_statisticsobjdef_columns(any_oid) as cast(null as varchar);
create macro pg_get_function_result(any_oid) as cast(null as varchar);
create macro pg_get_function_arguments(any_oid) as cast('' as varchar);
create macro pg_get_function_identity_arguments(any_oid) as cast('' as varchar);
create macro pg_get_function_sqlbody(any_oid) as cast(null as varchar);
create macro pg_get_functiondef(any_oid) as cast(null as varchar);
create macro pg_get_serial_sequence(spelled, column_name) as cast(null as varchar);
create macro obj_description(any_oid) as getvariable('comments')[any_oid::bigint],
  (any_oid, catalog_name) as case when catalog_name = 'pg_class' then getvariable('comments')[any_oid::bigint] end;
create macro col_description(any_oid, column_no) as getvariable('column_comments')[any_oid::bigint][column_no];
create macro shobj_description(any_oid, catalog_name) as cast(null as varchar);

-- What is listed may be read; nothing else is in here.
create macro has_table_privilege(a, b) as true, (a, b, c) as true;
create macro has_any_column_privilege(a, b) as true, (a, b, c) as true;
create macro has_column_privilege(a, b, c) as true, (a, b, c, d) as true;
create macro has_schema_privilege(a, b) as true, (a, b, c) as true;
create macro has_database_privilege(a, b) as true, (a, b, c) as true;
create macro has_function_privilege(a, b) as true, (a, b, c) as true;
create macro has_sequence_privilege(a, b) as true, (a, b, c) as true;
create macro pg_has_role(a, b) as true, (a, b, c) as true;

-- Sizes are not told: they would count rows that are filtered.
create macro pg_relation_size(a) as 0::bigint, (a, b) as 0::bigint;
create macro pg_table_size(a) as 0::bigint;
create macro pg_indexes_size(a) as 0::bigint;
create macro pg_total_relation_size(a) as 0::bigint;
create macro pg_database_size(a) as 0::bigint;
create macro pg_tablespace_size(a) as 0::bigint;
create macro pg_size_pretty(a) as a::varchar || ' bytes';
create macro pg_tablespace_location(a) as '';
create macro pg_relation_is_publishable(a) as false;
create macro pg_stat_get_numscans(a) as 0::bigint;

create macro quote_ident(a) as case
  when regexp_full_match(a::varchar, '[a-z_][a-z0-9_$]*') then a::varchar
  else '"' || replace(a::varchar, '"', '""') || '"' end;
create macro quote_literal(a) as '''' || replace(a::varchar, '''', '''''') || '''';
create macro quote_nullable(a) as coalesce('''' || replace(a::varchar, '''', '''''') || '''', 'NULL');
create macro format_of(spelled, a) as case spelled when '%I' then quote_ident(a) when '%L' then quote_nullable(a) else coalesce(a::varchar, '') end;
create macro format(pattern, a) as string_split_regex(pattern, '%[sIL]')[1] || format_of(regexp_extract(pattern, '%[sIL]'), a) || coalesce(string_split_regex(pattern, '%[sIL]')[2], ''),
  (pattern, a, b) as string_split_regex(pattern, '%[sIL]')[1] || format_of(regexp_extract_all(pattern, '%[sIL]')[1], a) || string_split_regex(pattern, '%[sIL]')[2] || format_of(regexp_extract_all(pattern, '%[sIL]')[2], b) || coalesce(string_split_regex(pattern, '%[sIL]')[3], '');
create macro parse_ident(spelled) as list_transform(string_split(spelled, '.'), lambda part: case when starts_with(part, '"') then replace(part, '"', '') else lower(part) end);
create macro array_upper(a, dimension) as nullif(len(a), 0);
create macro array_lower(a, dimension) as case when len(a) > 0 then 1 end;
create macro array_ndims(a) as case when len(a) > 0 then 1 end;
create macro cardinality(a) as len(a);
create macro array_to_string(a, separator) as list_aggregate(a::varchar[], 'string_agg', separator);
create macro _pg_expandarray(a) as unnest(list_transform(a, lambda item, place: {'x': item, 'n': place}));

create macro pg_get_keywords() as table select '' as word, '' as catcode, '' as catdesc where false;
create macro pg_options_to_table(a) as table select '' as option_name, '' as option_value where false;
create macro pg_partition_ancestors(a) as unnest(cast([] as bigint[]));
create macro pg_available_extensions() as table select '' as name, '' as default_version, '' as comment where false;
create macro pg_partition_tree(a) as table select 0::bigint as relid, 0::bigint as parentrelid, true as isleaf, 0 as level where false;
create macro aclexplode(a) as table select 0::bigint as grantor, 0::bigint as grantee, '' as privilege_type, false as is_grantable where false;
