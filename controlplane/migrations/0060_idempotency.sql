-- Answers to POST requests that carried an Idempotency-Key, for a day.
create table idempotency_keys (
    -- Who asked: a user's or a key's id.
    identity text not null,
    path text not null,
    idempotency_key text not null,
    -- SHA-256 of the body: the key stands for this request and no other.
    request_sha256 bytea not null,
    -- Null while the first request runs.
    status smallint,
    body bytea,
    created_at timestamptz not null,
    constraint idempotency_keys_pkey primary key (identity, path, idempotency_key),
    constraint idempotency_keys_answer check ((status is null) = (body is null))
);
create index idempotency_keys_created_at_idx on idempotency_keys (created_at);
