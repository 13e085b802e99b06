-- What a mail is about, and the organization that it leaves for: each has a limit a day.
alter table mails
    add column kind text not null default 'link',
    add column org_id text;

create index mails_recipient_idx on mails (recipient, created_at);
create index mails_org_id_idx on mails (org_id, created_at) where org_id is not null;
