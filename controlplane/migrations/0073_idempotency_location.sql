-- Where an answer says to go on: a repetition is told so too.
alter table idempotency_keys add column location text;
