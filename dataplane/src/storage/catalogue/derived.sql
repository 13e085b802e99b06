-- What follows from the tables that are filled: PostgreSQL's own views.

insert into pg_tables by name
select n.nspname as schemaname, c.relname as tablename, current_user as tableowner, c.relhasindex as hasindexes
from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'r';

insert into pg_views by name
select n.nspname as schemaname, c.relname as viewname, current_user as viewowner
from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'v';

insert into pg_sequences by name
select n.nspname as schemaname, c.relname as sequencename, current_user as sequenceowner
from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'S';

insert into pg_indexes by name
select n.nspname as schemaname, t.relname as tablename, c.relname as indexname, pg_get_indexdef(c.oid) as indexdef
from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
join pg_namespace n on n.oid = c.relnamespace;

insert into pg_roles by name
select current_user as rolname, true as rolinherit, true as rolcanlogin, -1 as rolconnlimit, 10 as oid;

insert into pg_authid by name
select rolname, rolinherit, rolcanlogin, rolconnlimit, oid from pg_roles;

insert into pg_user by name
select rolname as usename, oid as usesysid from pg_roles;

insert into pg_shadow by name
select rolname as usename, oid as usesysid from pg_roles;

insert into pg_stat_user_tables by name
select c.oid as relid, n.nspname as schemaname, c.relname as relname
from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'r' and n.oid not in (11, 13000);

insert into information_schema_information_schema_catalog_name by name select current_database() as catalog_name;

insert into information_schema_schemata by name
select current_database() as catalog_name, nspname as schema_name, current_user as schema_owner from pg_namespace;

insert into information_schema_tables by name
select current_database() as table_catalog, n.nspname as table_schema, c.relname as table_name,
  case c.relkind when 'r' then 'BASE TABLE' else 'VIEW' end as table_type,
  case when c.relkind = 'r' and n.oid not in (11, 13000) then 'YES' else 'NO' end as is_insertable_into,
  'NO' as is_typed
from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'v');

insert into information_schema_views by name
select current_database() as table_catalog, n.nspname as table_schema, c.relname as table_name,
  'NONE' as check_option, 'NO' as is_updatable, 'NO' as is_insertable_into,
  'NO' as is_trigger_updatable, 'NO' as is_trigger_deletable, 'NO' as is_trigger_insertable_into
from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'v';

insert into information_schema_sequences by name
select current_database() as sequence_catalog, n.nspname as sequence_schema, c.relname as sequence_name,
  'bigint' as data_type, 64 as numeric_precision, 2 as numeric_precision_radix, 0 as numeric_scale, 'NO' as cycle_option
from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'S';

insert into information_schema_columns by name
select current_database() as table_catalog, n.nspname as table_schema, c.relname as table_name,
  a.attname as column_name, a.attnum as ordinal_position,
  d.adbin as column_default, case when a.attnotnull then 'NO' else 'YES' end as is_nullable,
  case when t.typcategory = 'A' then 'ARRAY' else format_type(a.atttypid, null) end as data_type,
  case a.atttypid when 21 then 16 when 23 then 32 when 20 then 64 when 700 then 24 when 701 then 53
    when 1700 then case when a.atttypmod >= 4 then (a.atttypmod - 4) >> 16 end end as numeric_precision,
  case when a.atttypid in (21, 23, 20, 700, 701) then 2 when a.atttypid = 1700 then 10 end as numeric_precision_radix,
  case when a.atttypid in (21, 23, 20) then 0
    when a.atttypid = 1700 and a.atttypmod >= 4 then (a.atttypmod - 4) & 65535 end as numeric_scale,
  case when a.atttypid = 1082 then 0 when a.atttypid in (1083, 1114, 1184, 1186) then 6 end as datetime_precision,
  case when a.atttypid = 1043 and a.atttypmod >= 4 then a.atttypmod - 4 end as character_maximum_length,
  case when a.atttypid = 1043 and a.atttypmod >= 4 then (a.atttypmod - 4) * 4
    when a.atttypid in (25, 1043) then 1073741824 end as character_octet_length,
  current_database() as udt_catalog, 'pg_catalog' as udt_schema, t.typname as udt_name,
  a.attnum::varchar as dtd_identifier, 'NO' as is_self_referencing, 'NO' as identity_cycle,
  case when a.attidentity = 'd' then 'YES' else 'NO' end as is_identity,
  case when a.attidentity = 'd' then 'BY DEFAULT' end as identity_generation,
  'NEVER' as is_generated, case when c.relkind = 'r' then 'YES' else 'NO' end as is_updatable
from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
join pg_type t on t.oid = a.atttypid left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attnum > 0 and c.relkind in ('r', 'v');

insert into information_schema_table_constraints by name
select current_database() as constraint_catalog, n.nspname as constraint_schema, k.conname as constraint_name,
  current_database() as table_catalog, n.nspname as table_schema, c.relname as table_name,
  'PRIMARY KEY' as constraint_type, 'NO' as is_deferrable, 'NO' as initially_deferred, 'YES' as enforced
from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = k.connamespace;

insert into information_schema_key_column_usage by name
select current_database() as constraint_catalog, n.nspname as constraint_schema, k.conname as constraint_name,
  current_database() as table_catalog, n.nspname as table_schema, c.relname as table_name,
  a.attname as column_name, list_position(k.conkey, a.attnum) as ordinal_position
from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = k.connamespace
join pg_attribute a on a.attrelid = c.oid and list_contains(k.conkey, a.attnum);

insert into information_schema_constraint_column_usage by name
select table_catalog, table_schema, table_name, column_name, constraint_catalog, constraint_schema, constraint_name
from information_schema_key_column_usage;

insert into information_schema_constraint_table_usage by name
select table_catalog, table_schema, table_name, constraint_catalog, constraint_schema, constraint_name
from information_schema_table_constraints;

insert into information_schema_table_privileges by name
select current_user as grantor, current_user as grantee, table_catalog, table_schema, table_name,
  'SELECT' as privilege_type, 'NO' as is_grantable, 'YES' as with_hierarchy
from information_schema_tables;

insert into information_schema_role_table_grants by name
select grantor, grantee, table_catalog, table_schema, table_name, privilege_type, is_grantable, with_hierarchy
from information_schema_table_privileges;

insert into information_schema_enabled_roles by name select current_user as role_name;

insert into information_schema_routines by name
select current_database() as specific_catalog, n.nspname as specific_schema, p.proname as specific_name,
  current_database() as routine_catalog, n.nspname as routine_schema, p.proname as routine_name,
  'FUNCTION' as routine_type, 'EXTERNAL' as routine_body, 'SQL' as external_language
from pg_proc p join pg_namespace n on n.oid = p.pronamespace;
