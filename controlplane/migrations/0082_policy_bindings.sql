-- What a data plane has said of what a policy's rules name. A policy without a row, and one whose rules have changed
-- since, is not yet bound: those of before, and those that a control plane of before has changed.
create table policy_bindings (
    -- Of `policies` or `abac_policies`.
    policy_id text        not null,
    -- The rules it is about: `md5(rules::text)`.
    rules_md5 text        not null,
    -- What of it is not there, with why; null: nobody could be asked yet.
    unbound   jsonb,
    -- When it was asked last, answered or not.
    asked_at  timestamptz not null,
    constraint policy_bindings_pkey primary key (policy_id)
);

create function policy_bindings_gone() returns trigger language plpgsql as $$
begin
    delete from policy_bindings where policy_id = old.policy_id;
    return null;
end
$$;

create trigger policies_bindings_gone after delete on policies
    for each row execute function policy_bindings_gone();

create trigger abac_policies_bindings_gone after delete on abac_policies
    for each row execute function policy_bindings_gone();

-- Whatever rules an environment.
create view rulings as
    select policy_id, env_id, enabled, rules from policies
    union all
    select policy_id, env_id, enabled, rules from abac_policies;
