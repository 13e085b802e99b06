SELECT DATEADD(day, 1, '2024-02-28'::DATE);
SELECT DATEADD(month, 1, '2024-01-31'::DATE), DATEADD('year', -1, d), DATEADD(q, 1, d), DATEADD(week, id, d) FROM t WHERE id = 1;
SELECT DATEADD(day, id, d) FROM t WHERE id = 1;
SELECT DATEADD(hour, 1, d), DATEADD(hour, 1, ts), DATEADD(second, 90, ts), TIMESTAMPADD(minute, 5, ts), TIMEADD(ms, 5, ts) FROM t WHERE id = 1;
SELECT DATEADD(day, 1, '2024-02-28'), DATEADD(day, 1, x) FROM (SELECT MAX(d) AS x FROM t) s;
SELECT DATEADD(day, 1, y) FROM (SELECT CASE WHEN a > 0 THEN d ELSE ts END AS y FROM t WHERE id = 1) s;
SELECT DATEADD(fortnight, 1, d) FROM t;
SELECT DATEADD(day, 1) FROM t;
