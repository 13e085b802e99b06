WITH c(w) AS (SELECT src:s FROM v) SELECT w::STRING, UPPER(w) FROM c;
SELECT x.j:k::INT, x.j:k::STRING FROM (VALUES (PARSE_JSON('{"k":1}'))) AS x(j);
SELECT column1:k::STRING FROM (VALUES (PARSE_JSON('{"k":"v"}')));
SELECT (SELECT src:s FROM v)::STRING;
WITH c AS (SELECT src:b AS b, id FROM v) SELECT c.b:c[0].d::INT FROM c JOIN t ON t.id = c.id;
SELECT s FROM (SELECT src:s AS s FROM v) q WHERE s = 'hi';
SELECT d::STRING FROM (SELECT src:s AS d FROM v) q, t;
