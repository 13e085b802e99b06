-- Mail that is to leave, written in the transaction of what it tells: outbox, queue and log.
create table mails (
    mail_id         text        primary key,
    recipient       text        not null,
    subject         text        not null,
    -- Sealed for this mail: what it says may open an account. Null once it has left, or is of no use.
    body            bytea,
    -- Nobody needs it after this.
    good_until      timestamptz not null,
    attempts        integer     not null default 0,
    next_attempt_at timestamptz not null,
    -- Set while somebody brings it out; one who died loses it after this.
    locked_until    timestamptz,
    last_error      text,
    created_at      timestamptz not null,
    sent_at         timestamptz
);

create index mails_due_idx on mails (next_attempt_at) where body is not null;
create index mails_created_at_idx on mails (created_at);

create function notify_mails() returns trigger
language plpgsql as $$
begin
    perform pg_notify('mails', '');
    return null;
end
$$;

create trigger mails_notify
after insert on mails
for each statement execute function notify_mails();
