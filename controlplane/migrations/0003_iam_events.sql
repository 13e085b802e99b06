-- The IAM audit trail: one hash chain an organization. Rows are only ever added.
create table iam_events (
    org_id text not null references organizations (org_id),
    -- From 1, without gaps.
    sequence bigint not null,
    event_id text not null,
    -- The environment it happened in, if it was in one.
    env_id text,
    event_type text not null,
    actor_id text not null,
    actor_email text,
    actor_role text,
    source_ip text,
    resource_type text not null,
    resource_id text not null,
    changes jsonb not null,
    hash text not null,
    previous_hash text not null,
    "timestamp" timestamptz not null,
    constraint iam_events_pkey primary key (org_id, sequence),
    constraint iam_events_event_id_key unique (event_id),
    constraint iam_events_previous_hash_key unique (org_id, previous_hash)
);
create index iam_events_timestamp_idx on iam_events (org_id, "timestamp", event_id);

-- The end of each chain, with a code over it that the database cannot make: a chain that lost its
-- tail, or was written anew as a whole, does not fit its head.
create table iam_chain_heads (
    org_id text not null references organizations (org_id),
    sequence bigint not null,
    hash text not null,
    mac bytea not null,
    constraint iam_chain_heads_pkey primary key (org_id)
);

create function refuse_change() returns trigger
language plpgsql as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end
$$;

create trigger iam_events_append_only
before update or delete on iam_events
for each row execute function refuse_change();

create trigger iam_events_no_truncate
before truncate on iam_events
for each statement execute function refuse_change();
