UPDATE t SET t.a = NVL(b, 0) + 1, name = IFF(a > 10, 'x', 'y') WHERE id = 1;
DELETE FROM t WHERE DATEDIFF(day, d, '2024-02-29') = 0;
INSERT INTO m SELECT id, src:s::STRING FROM v;
INSERT INTO v SELECT 2, PARSE_JSON('{"s":1}');
MERGE INTO m USING (SELECT 1 AS id, 'new' AS val) s ON m.id = s.id WHEN MATCHED THEN UPDATE SET m.val = NVL(s.val, 'none') WHEN NOT MATCHED THEN INSERT (id, val) VALUES (s.id, s.val);
CREATE OR REPLACE TABLE ct AS SELECT IFF(a > 10, 1, 0) AS z FROM t;
UPDATE t x SET X.a = 1, t.b = 2;
UPDATE main.t SET main.t.a = 1, t.b = 2;
