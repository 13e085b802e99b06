SELECT column1, column2 FROM (VALUES (1, 'a'), (2, 'b')) ORDER BY 1;
SELECT x.column1 FROM (VALUES (1)) x;
SELECT x.n FROM (VALUES (1)) AS x(n);
