-- The last event under a signed head in the archive: what moved since is to be signed.
alter table iam_chain_heads add column signed_sequence bigint not null default 0;
create index iam_chain_heads_unsigned_idx on iam_chain_heads (org_id) where sequence > signed_sequence;
