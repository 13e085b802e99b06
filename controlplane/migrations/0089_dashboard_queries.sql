-- What the dashboard asks for its own pages. It costs nothing, and lists and counts leave it out unless they are asked for it.
alter table query_starts add column by_dashboard boolean not null default false;
-- Beside `queries`, which does not count them.
alter table credit_usage add column dashboard_queries bigint not null default 0;
