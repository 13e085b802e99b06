SELECT DECODE(2, 1, 'one', 2, 'two', 'x');
SELECT DECODE(b, NULL, 'none', 5, 'five') FROM t ORDER BY id;
