-- What runs on its own. A job is picked with `for update skip locked`, and woken by NOTIFY.
create table jobs (
    job_id text not null,
    -- `{"v": 1, "kind": ..., ...}`: the Job enum as versioned JSON.
    job jsonb not null,
    -- A job that may stand only once in the queue, by this name.
    unique_name text,
    run_at timestamptz not null,
    attempts integer not null default 0,
    -- Set while a worker has it; one that died is picked up after this.
    locked_until timestamptz,
    last_error text,
    -- Out of attempts: kept for people to see.
    failed_at timestamptz,
    created_at timestamptz not null,
    constraint jobs_pkey primary key (job_id),
    constraint jobs_unique_name_key unique (unique_name)
);
create index jobs_run_at_idx on jobs (run_at) where failed_at is null;

create function notify_jobs() returns trigger
language plpgsql as $$
begin
    perform pg_notify('jobs', '');
    return null;
end
$$;

create trigger jobs_notify
after insert on jobs
for each statement execute function notify_jobs();
