UPDATE t SET nope.a = 1;
UPDATE t x SET a = 1, y.b = 2;
UPDATE t SET main.nope.a = 1;
MERGE INTO m USING (SELECT 1 AS id, 'new' AS val) s ON m.id = s.id WHEN MATCHED THEN UPDATE SET s.val = 'x';
