-- While little was known of the table, a query by its identifier was looked for along this index, which had that in its
-- last column: each end of a query read the starts of the whole environment. The primary key alone has it now.
drop index query_starts_env_id_at_idx;
create index query_starts_env_id_at_idx on query_starts (env_id, at desc);
