-- An account is a person: e-mail and password. It has one user in each organization it belongs to.
create table accounts (
    account_id text not null,
    email text not null,
    name text,
    -- Argon2id, PHC string.
    password_hash text not null,
    -- The organization of the last login: the default of the next.
    last_org_id text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint accounts_pkey primary key (account_id),
    constraint accounts_email_key unique (email),
    constraint accounts_email_check check (email = lower(email))
);

-- A removed user's row is gone; the audit chain remembers it.
create table users (
    user_id text not null,
    org_id text not null references organizations (org_id),
    -- Null until the invitation is accepted.
    account_id text references accounts (account_id),
    email text not null,
    name text,
    role text not null,
    status text not null,
    mfa_enabled boolean not null default false,
    attributes jsonb not null default '{}',
    last_login timestamptz,
    -- SHA-256 of the token that accepts the invitation.
    invitation_sha256 bytea,
    invitation_expires_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint users_pkey primary key (user_id),
    constraint users_org_id_email_key unique (org_id, email),
    constraint users_org_id_account_id_key unique (org_id, account_id),
    constraint users_invitation_sha256_key unique (invitation_sha256),
    constraint users_email_check check (email = lower(email)),
    constraint users_role_check
        check (role in ('owner', 'admin', 'developer', 'analyst', 'auditor', 'service_account')),
    constraint users_status_check check (status in ('active', 'invited', 'suspended')),
    -- Somebody who is `active` has accepted.
    constraint users_active_check check (status <> 'active' or account_id is not null),
    constraint users_owner_check check (role <> 'owner' or status = 'active')
);

-- "Ownership is transferred explicitly": an organization has one owner.
create unique index users_org_id_owner_key on users (org_id) where role = 'owner';
create index users_org_id_created_at_idx on users (org_id, created_at, user_id);
create index users_account_id_idx on users (account_id);

create table sessions (
    session_id text not null,
    user_id text not null references users (user_id) on delete cascade,
    created_at timestamptz not null,
    -- However often it is refreshed.
    expires_at timestamptz not null,
    last_refreshed_at timestamptz not null,
    ended_at timestamptz,
    source_ip text,
    user_agent text,
    constraint sessions_pkey primary key (session_id)
);
create index sessions_user_id_idx on sessions (user_id);
create index sessions_expires_at_idx on sessions (expires_at);

-- Refresh tokens of a session, each good once. A second use ends the session.
create table refresh_tokens (
    token_sha256 bytea not null,
    session_id text not null references sessions (session_id) on delete cascade,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    used_at timestamptz,
    constraint refresh_tokens_pkey primary key (token_sha256)
);
create index refresh_tokens_session_id_idx on refresh_tokens (session_id);
