SELECT DATE_TRUNC('month', d), DATE_TRUNC('month', ts), DATE_TRUNC(hour, ts), TRUNC('2024-05-09'::DATE, 'month'), TRUNC(amt, 1) FROM t WHERE id = 1;
SELECT DATE_TRUNC('week', x) FROM (SELECT CAST(src:when AS DATE) AS x FROM v) s;
SELECT DATE_TRUNC('month', y) FROM (SELECT COALESCE(d, ts) AS y FROM t WHERE id = 1) s;
