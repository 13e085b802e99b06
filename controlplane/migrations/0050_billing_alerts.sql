-- Room `billing`: when an organization wants to be told of its usage, and what it was told.

-- No row: the defaults.
create table billing_alerts (
    org_id                     text             primary key references organizations,
    credit_warning_threshold   double precision not null check (credit_warning_threshold between 0 and 1),
    credit_critical_threshold  double precision not null check (credit_critical_threshold between 0 and 1),
    storage_warning_threshold  double precision not null check (storage_warning_threshold between 0 and 1),
    updated_at                 timestamptz      not null,
    constraint billing_alerts_in_order check (credit_warning_threshold <= credit_critical_threshold)
);

-- Each is said once a month.
create table billing_notices (
    org_id text        not null references organizations,
    -- The month's first moment.
    starts timestamptz not null,
    notice text        not null
        check (notice in ('billing.warning', 'billing.critical', 'billing.quota_exceeded', 'billing.period_reset')),
    at     timestamptz not null,
    primary key (org_id, starts, notice)
);

-- Months that began before there was anybody to say so.
insert into billing_notices (org_id, starts, notice, at)
select org_id, date_trunc('month', now(), 'UTC'), 'billing.period_reset', now() from organizations;
