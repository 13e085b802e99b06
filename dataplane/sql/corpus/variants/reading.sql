SELECT src['b']['c'][1]['d']::INT FROM v;
SELECT GET_PATH(src,'b.c[0].d')::INT FROM v;
SELECT src:arr[0]::VARCHAR, src:s::VARCHAR, src:s, src:n, src:zz FROM v;
SELECT ARRAY_UNION_AGG(src:arr) FROM v;
SELECT src:arr[1]::INT + 1, src:n IS NULL, src:zz IS NULL, src:s = 'hi', src:arr[0] = 1, src:arr[0] > 0, src['s']::STRING, GET(src:arr, 0)::INT, src:b:c[0]:d::INT FROM v;
SELECT TYPEOF(src:arr), TYPEOF(src:s), TYPEOF(src:n), TYPEOF(src:arr[0]), IS_ARRAY(src:arr), IS_OBJECT(src:b), IS_VARCHAR(src:s), IS_INTEGER(src:arr[0]), AS_INTEGER(src:arr[0]), AS_VARCHAR(src:s), IS_BOOLEAN(src:s), IS_NULL_VALUE(src:s) FROM v;
SELECT src:s::STRING || '!', UPPER(src:s), LENGTH(src:s), src:s LIKE 'h%', COALESCE(src:zz, 'none'), NVL(src:zz::STRING, 'x'), src:arr[0] + 1, SUM(src:arr[0]::INT) OVER () FROM v;
SELECT IS_DATE(TO_VARIANT('x')), AS_DATE(TO_VARIANT('x'));
SELECT SYSTEM$TYPEOF(1);
