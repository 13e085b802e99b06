-- What holds between the tables of the audit is asked once for each statement that stores a report, where foreign keys
-- asked for each of its rows, and locked the row that they found. Of both tables nothing is changed or deleted.

-- In the order in which a report takes them: else a version before, which serves on meanwhile, and this would each wait
-- for a table that the other one has.
lock table environments, query_starts, query_ends in access exclusive mode;

-- The transaction that stores a start holds the row of its log in `report_logs`, which references the environment.
alter table query_starts drop constraint query_starts_env_id_fkey;

alter table query_ends drop constraint query_ends_of_a_start;

create function refuse_end_without_start() returns trigger
language plpgsql
-- Planned while the table is small, it would read all of a large one.
set enable_seqscan = off
as $$
begin
    if exists (
        select from added
        where (select true from query_starts s
               where s.env_id = added.env_id and s.query_id = added.query_id) is null
    ) then
        raise exception 'a query ends that has no start'
            using errcode = 'foreign_key_violation', constraint = 'query_ends_of_a_start';
    end if;
    return null;
end
$$;

create trigger query_ends_of_a_start after insert on query_ends
    referencing new table as added
    for each statement execute function refuse_end_without_start();
