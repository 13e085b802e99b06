-- The secret of before a rotation, sealed as the other, by which deliveries are signed as well until then.
alter table webhooks
    add column previous_secret bytea,
    add column previous_until  timestamptz,
    add constraint webhooks_previous_check check ((previous_secret is null) = (previous_until is null));
