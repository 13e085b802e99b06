-- Jobs of one lane run one after another; lanes run beside each other.
alter table jobs add column lane text not null default 'common';
update jobs set lane = 'leases' where job ->> 'kind' = 'sweep_leases';
