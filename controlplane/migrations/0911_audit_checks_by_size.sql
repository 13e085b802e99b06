-- The check was planned once a connection. Planned while the table was small, it took whichever index came first, and read
-- each start of the environment for each end from then on. It is planned for each report now, by the size of the table.
create or replace function refuse_end_without_start() returns trigger
language plpgsql
set enable_seqscan = off
as $$
declare
    is_missing boolean;
begin
    execute 'select exists (
        select from added
        where (select true from query_starts s
               where s.env_id = added.env_id and s.query_id = added.query_id) is null
    )' into is_missing;
    if is_missing then
        raise exception 'a query ends that has no start'
            using errcode = 'foreign_key_violation', constraint = 'query_ends_of_a_start';
    end if;
    return null;
end
$$;
