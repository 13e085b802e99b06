-- The second factor of an account: an authenticator (RFC 6238), and codes for when it is lost.
create table account_totp (
    account_id   text        primary key references accounts on delete cascade,
    -- Sealed under the installation's secret key: codes are made from it.
    secret       bytea       not null,
    -- Null until a code was shown: it asks for nothing before.
    confirmed_at timestamptz,
    -- The step of the last code that was taken. That code and those before it are worth nothing.
    last_step    bigint,
    -- Wrong codes since the last right one, and until when no other is looked at.
    failures     integer     not null default 0,
    waits_until  timestamptz,
    created_at   timestamptz not null
);

create table account_recovery_codes (
    account_id  text        not null references accounts on delete cascade,
    -- SHA-256 of 80 random bits.
    code_sha256 bytea       not null,
    used_at     timestamptz,
    constraint account_recovery_codes_pkey primary key (account_id, code_sha256)
);

-- When the session's holder last showed a second factor.
alter table sessions add column second_factor_at timestamptz;

-- `users.mfa_enabled` is the account's, however a user comes by an account.
create function user_mfa_of_account() returns trigger language plpgsql as $$
begin
    new.mfa_enabled := exists (
        select 1 from account_totp t where t.account_id = new.account_id and t.confirmed_at is not null);
    return new;
end
$$;

create trigger users_mfa before insert or update of account_id on users
    for each row execute function user_mfa_of_account();

create function account_mfa_to_users() returns trigger language plpgsql as $$
declare
    concerned text := case tg_op when 'DELETE' then old.account_id else new.account_id end;
begin
    update users
    set mfa_enabled = (tg_op <> 'DELETE' and new.confirmed_at is not null)
    where account_id = concerned;
    return null;
end
$$;

create trigger account_totp_users after insert or delete or update of confirmed_at on account_totp
    for each row execute function account_mfa_to_users();
