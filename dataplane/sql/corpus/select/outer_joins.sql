SELECT a.id, b.val FROM t a, m b WHERE a.id = b.id(+) ORDER BY 1;
SELECT t.id, m.val FROM t ASOF JOIN m MATCH_CONDITION (t.id >= m.id) ORDER BY 1;
SELECT * FROM m b, sales a WHERE b.id(+) = a.amount AND a.amount > 5 ORDER BY 4;
SELECT a.id, b.val FROM t a, m b WHERE a.id = b.id(+) AND b.val(+) = 'new' ORDER BY 1;
SELECT t.id, w.id FROM t ASOF JOIN wide w MATCH_CONDITION (t.id > w.id) ON t.id = w.id ORDER BY 1;
SELECT * FROM (SELECT 1 AS x) a NATURAL JOIN (SELECT 1 AS x) b;
SELECT a.id, f.value FROM t a LEFT JOIN LATERAL (SELECT val AS value FROM m WHERE m.id = a.id) f ORDER BY 1;
SELECT t.id FROM t ASOF JOIN wide w MATCH_CONDITION (t.id > w.id) ON t.id = w.id AND (t.a = w.jan OR t.a = w.feb);
