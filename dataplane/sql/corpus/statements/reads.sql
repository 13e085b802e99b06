SELECT * FROM doubled;
SELECT d.twice FROM doubled d JOIN t USING (id) WHERE d.id = 1;
WITH t AS (SELECT 1 AS id) SELECT * FROM doubled, t;
SELECT plus_one(a), plus_one(plus_one(1)) FROM t;
SELECT sq.nextval, t.id FROM t;
SELECT * FROM sales PIVOT(SUM(amount) FOR q IN (ANY ORDER BY q)) ORDER BY emp;
