-- Room `api_keys`: "stored only as Argon2id hashes".

create table api_keys (
    key_id          text        primary key,
    env_id          text        not null references environments,
    name            text        not null,
    scopes          text[]      not null,
    ip_allowlist    text[]      not null,
    -- The user the key acts for, with the role and attributes that user has now. No foreign key:
    -- a removed user is gone, and the key, revoked, still says whose it was.
    user_id         text,
    attributes      jsonb       not null,
    agent_id        text,
    agent_framework text,
    expires_at      timestamptz,
    created_by      text        not null,
    created_at      timestamptz not null,
    revoked_at      timestamptz,
    revoked_by      text,
    constraint api_keys_revoked_whole check ((revoked_at is null) = (revoked_by is null))
);

-- A revoked key gives its name back.
create unique index api_keys_env_id_name_key on api_keys (env_id, name) where revoked_at is null;
create index api_keys_env_id_created_at_idx on api_keys (env_id, created_at desc, key_id desc);
create index api_keys_user_id_idx on api_keys (user_id) where revoked_at is null;

-- The texts that open a key: one, or more while a rotation's grace runs.
create table api_key_secrets (
    prefix     text        primary key,
    key_id     text        not null references api_keys,
    hash       text        not null,
    created_at timestamptz not null,
    -- Null: the present one. Else an old one, which ends here.
    not_after  timestamptz
);

create unique index api_key_secrets_present_key on api_key_secrets (key_id) where not_after is null;
create index api_key_secrets_key_id_idx on api_key_secrets (key_id);

-- Apart from the key, since it changes with every use and governs nothing.
create table api_key_uses (
    key_id       text        primary key references api_keys,
    last_used_at timestamptz not null
);
