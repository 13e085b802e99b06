SELECT a % b AS m, m * 2 FROM t;
SELECT a / b AS q, ROUND(q * 100, 1) AS pct FROM t WHERE q > 1 ORDER BY q + 0, q;
SELECT a / b AS q, COUNT(*) FROM t GROUP BY q HAVING q > 1 QUALIFY ROW_NUMBER() OVER (ORDER BY q) = 1;
SELECT '5' AS x, x + 1 AS y;
SELECT SPLIT('p,q', ',') AS s, s[0]::VARCHAR;
SELECT src:s AS s, UPPER(s), s = 'hi' FROM v WHERE s LIKE 'h%' ORDER BY s;
SELECT (SELECT MAX(a) FROM t) AS top, top + 1;
SELECT a AS b, b + 1 FROM t;
