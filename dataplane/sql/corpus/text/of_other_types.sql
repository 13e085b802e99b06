SELECT LPAD(MONTH(d), 2, '0'), LEFT(d, 4), SUBSTR(ts, 1, 7), RIGHT(id, 1), SPLIT_PART(d, '-', 2), REPLACE(d, '-', ''), RPAD(id, 3, 0) FROM t;
SELECT TRIM(id), LTRIM(amt, 0), LENGTH(d), UPPER(TRUE), LOWER(d), REVERSE(id), REPEAT(id, 3), CONTAINS(id, 1), POSITION(1 IN id), CHARINDEX(1, id) FROM t;
SELECT REGEXP_REPLACE(id, '1', 'x'), REGEXP_LIKE(id, '[0-9]'), REGEXP_SUBSTR(d, '[0-9]+'), id RLIKE '[0-9]+', d LIKE '2024%', d ILIKE ANY ('2024%', 'x') FROM t;
SELECT SPLIT(d, '-')[0]::STRING, STRTOK(d, '-', 1), MD5(id), INITCAP(TRUE), TRANSLATE(d, '-', '/'), INSERT(id, 1, 0, 'a'), SHA2(id) FROM t;
SELECT src:s RLIKE 'h.', src:s || src:s, src:s LIKE 'h%' FROM v;
SELECT LENGTH([1, 2]), REVERSE([1, 2]), REPEAT([1], 2), LEN('abc'), TO_BINARY('61')::VARCHAR;
