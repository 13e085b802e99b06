SELECT SUM(name), AVG(name), STDDEV(name), ABS('-5'), ROUND('2.567', 1), SQRT('16'), TRUNC('1.99'), TRUNC('2024-05-09', 'month') FROM t;
SELECT -x, x + 1, x * x, x - x FROM (SELECT '3' AS x) s;
SELECT src:arr[0] + src:arr[1], src:arr[0] * src:arr[1], -src:arr[2], src:arr[0] < src:arr[1], src:b AND src:b, NOT src:b FROM v;
