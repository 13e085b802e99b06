SELECT CASE WHEN src:n > 1 THEN src:s ELSE 'none' END, NVL2(src:zz, src:s, 'none'), COALESCE(src:s, 'none'), IFF(src:b, src:s, 'none'), DECODE(id, 1, src:s, 'none') FROM v;
SELECT CASE id WHEN 1 THEN src:n ELSE 0 END, COALESCE(src:n, 1.5), NVL(src:flag, FALSE), CASE WHEN id = 1 THEN src:s END FROM v;
SELECT src:s AS s FROM v UNION ALL SELECT 'none' UNION ALL SELECT NULL;
SELECT s FROM (SELECT 1 AS s UNION SELECT src:n FROM v) q WHERE s > 1;
SELECT src:s = ANY (ARRAY['b']), src:n = ANY (ARRAY[1, 2]), src:s <> ALL (ARRAY['b']), 1 = ANY (src:arr) FROM v;
SELECT ARRAY[1] = ARRAY_CONSTRUCT(1), COALESCE(ARRAY[1], src:arr) FROM v;
INSERT INTO v (id, src) VALUES (1, 'plain'), (2, 5), (3, '{"a":1}'), (4, PARSE_JSON('{}')), (5, NULL), (6, '7');
INSERT INTO v (id, src) SELECT id, name FROM t;
UPDATE v SET src = 'plain' WHERE id = 1;
