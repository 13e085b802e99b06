SELECT NVL(b, 0), NVL2(b, 'set', 'none'), ZEROIFNULL(b), NULLIFZERO(a), IFNULL(b, 1) FROM t ORDER BY id;
SELECT NVL(name);
