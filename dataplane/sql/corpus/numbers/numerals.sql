SELECT id FROM t WHERE id = '1.6' AND '-2.5' < id AND a IN ('1', '1.5') AND b BETWEEN '0.5' AND '9';
SELECT '1.5' * 2, id - '0.5', '7' / 2, '5' + '6', name * 2, name || 1 FROM t;
SELECT id FROM t WHERE name = 5 OR amt > name OR name = '5';
SELECT ROUND(amt, 0, 'HALF_TO_EVEN'), ROUND(amt, 1, 'HALF_AWAY_FROM_ZERO'), ROUND(amt, 1) FROM t;
SELECT ROUND(amt, 1, 'UP') FROM t;
