-- Room `billing`: credits used, and credits lent to data planes. All in micro-credits.

-- Usage by the hour: what was reported, summed as it is stored.
create table credit_usage (
    org_id        text        not null references organizations,
    env_id        text        not null references environments,
    hour          timestamptz not null,
    operation     text        not null,
    queries       bigint      not null,
    micro_credits bigint      not null,
    primary key (org_id, hour, env_id, operation)
);

-- One row a month and organization: the lock under which its credits are lent.
create table credit_periods (
    org_id text not null references organizations,
    starts timestamptz not null,
    primary key (org_id, starts)
);

-- What one log of a data plane was lent and has spent in a month. What it claims to have spent
-- and what its entries prove arrive apart: the larger counts. Committed of the month's limit is
-- greatest(granted, claimed, reported), so nothing counts twice and nothing is lent twice.
create table credit_grants (
    env_id     text        not null references environments,
    log        text        not null,
    org_id     text        not null,
    starts     timestamptz not null,
    granted    bigint      not null check (granted >= 0),
    claimed    bigint      not null check (claimed >= 0),
    reported   bigint      not null check (reported >= 0),
    renewed_at timestamptz not null,
    primary key (env_id, log, starts),
    foreign key (org_id, starts) references credit_periods
);

create index credit_grants_org_id_starts_idx on credit_grants (org_id, starts);
