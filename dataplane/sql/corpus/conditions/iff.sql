SELECT id, IFF(a > 10, 'big', 'small') FROM t ORDER BY id;
SELECT IFF(IFF(a > 10, 1, 0) = 1, NVL(b, a), 0) FROM t ORDER BY id;
