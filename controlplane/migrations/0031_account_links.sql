-- Links that are mailed to a person and do one thing once.
create table account_links (
    -- SHA-256 of 256 random bits.
    token_sha256 bytea       primary key,
    account_id   text        not null references accounts on delete cascade,
    purpose      text        not null check (purpose in ('sign_in', 'verify_email', 'reset_password')),
    created_at   timestamptz not null,
    expires_at   timestamptz not null,
    -- Set when it was followed, and when another took its place.
    ended_at     timestamptz
);

create index account_links_account_id_idx on account_links (account_id, created_at);
create index account_links_created_at_idx on account_links (created_at);

-- When whoever has the account followed a link that only their mailbox was sent.
alter table accounts add column email_verified_at timestamptz;

-- What opened the session.
alter table sessions add column method text not null default 'password';
alter table sessions add constraint sessions_method_check check (method in ('password', 'magic_link', 'sso'));
