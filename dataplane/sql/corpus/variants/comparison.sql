SELECT COUNT(*) FROM v WHERE src:s::STRING = 'hi';
SELECT COUNT(*) FROM v WHERE src:s = 'hi' AND src:"Key One" > 8 AND src:arr[0] IN (1, 2) AND src:s LIKE 'h%' AND src:arr[2] BETWEEN 2 AND 4;
SELECT src:"Key One" + 1, UPPER(src:s), src:s || '!', NVL(src:nope, 'none'), SUM(src:arr[0]), ROUND(src:arr[1] / 2, 1) FROM v GROUP BY ALL;
SELECT MAX(src:arr[0]) FROM v;
SELECT id FROM v ORDER BY src:s;
SELECT id FROM v ORDER BY src:s::STRING DESC;
