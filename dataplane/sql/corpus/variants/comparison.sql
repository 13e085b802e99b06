SELECT COUNT(*) FROM v WHERE src:s::STRING = 'hi';
SELECT COUNT(*) FROM v WHERE src:s = 'hi' AND src:"Key One" > 8 AND src:arr[0] IN (1, 2) AND src:s LIKE 'h%' AND src:arr[2] BETWEEN 2 AND 4;
SELECT src:"Key One" + 1, UPPER(src:s), src:s || '!', NVL(src:nope, 'none'), SUM(src:arr[0]), ROUND(src:arr[1] / 2, 1) FROM v GROUP BY ALL;
SELECT MAX(src:arr[0]) FROM v;
SELECT id FROM v ORDER BY src:s;
SELECT id FROM v ORDER BY src:s::STRING DESC;
SELECT CASE src:s WHEN 'hi' THEN 1 ELSE 0 END, IFF(src:arr[0] = 1, 'one', 'other'), src:s IS DISTINCT FROM 'hi' FROM v;
SELECT COUNT(*) FROM v WHERE src:arr[0] IN (SELECT id FROM t) AND src:s IN (SELECT 'hi');
SELECT IFF(PARSE_JSON('{"f":true}'):f, 1, 0);
