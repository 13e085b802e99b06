-- Single sign-on: an organization's own OpenID provider.
create table sso_connections (
    org_id        text        primary key references organizations,
    issuer        text        not null,
    client_id     text        not null,
    -- Sealed under the installation's secret key: the provider asks for it.
    client_secret bytea       not null,
    -- Whose people it may vouch for.
    email_domains text[]      not null check (cardinality(email_domains) > 0),
    default_role  text        not null check (default_role in ('developer', 'analyst', 'auditor')),
    created_at    timestamptz not null,
    updated_at    timestamptz not null
);

-- A sign-on that has begun and not yet come back.
create table sso_attempts (
    state_sha256   bytea       primary key,
    org_id         text        not null references sso_connections on delete cascade,
    -- The browser it began in holds a cookie with this digest.
    browser_sha256 bytea       not null,
    nonce          text        not null,
    -- Sealed: the other half of PKCE.
    verifier       bytea       not null,
    expires_at     timestamptz not null
);

create index sso_attempts_expires_at_idx on sso_attempts (expires_at);

-- Whom a provider means by a subject.
create table sso_identities (
    org_id  text not null references organizations,
    issuer  text not null,
    subject text not null,
    user_id text not null references users on delete cascade,
    constraint sso_identities_pkey primary key (org_id, issuer, subject)
);

create index sso_identities_user_id_idx on sso_identities (user_id);

-- Somebody whom a provider alone vouches for has no account here: nothing that is theirs outside the
-- organization can be reached through its provider.
alter table users add column vouched_for boolean not null default false;
alter table users drop constraint users_active_check;
alter table users add constraint users_active_check check (status <> 'active' or account_id is not null or vouched_for);
