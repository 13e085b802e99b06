SELECT * FROM sales PIVOT(SUM(amount) FOR q IN ('Q1', 'Q2')) AS p ORDER BY emp;
SELECT * FROM wide UNPIVOT(amount FOR month IN (jan, feb)) ORDER BY month;
SELECT * FROM sales PIVOT(SUM(amount) FOR q IN (ANY ORDER BY q)) ORDER BY emp;
SELECT emp, "'Q1'" FROM sales AS s PIVOT(SUM(s.amount) FOR s.q IN ('Q1', 'Q2' AS second)) AS p;
