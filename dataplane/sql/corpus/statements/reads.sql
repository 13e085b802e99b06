SELECT * FROM doubled;
SELECT d.twice FROM doubled d JOIN t USING (id) WHERE d.id = 1;
WITH t AS (SELECT 1 AS id) SELECT * FROM doubled, t;
SELECT plus_one(a), plus_one(plus_one(1)) FROM t;
SELECT sq.nextval, t.id FROM t;
SELECT * FROM sales PIVOT(SUM(amount) FOR q IN (ANY ORDER BY q)) ORDER BY emp;
SELECT main.t.id, demo.main.t.name, main.m.* FROM demo.main.t JOIN m ON main.t.id = "demo"."main"."m".id;
SELECT main.t.id FROM t AS main JOIN m AS t ON TRUE;
UPDATE main.t SET a = 1 FROM m AS s WHERE s.id = "demo"."main"."t".id AND demo.main.t.g IS NULL;
