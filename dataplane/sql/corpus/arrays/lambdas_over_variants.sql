SELECT REDUCE(ARRAY_CONSTRUCT(1,2,3), 0, (a,x) -> a+x);
SELECT TRANSFORM(ARRAY_CONSTRUCT(1,2,3), x -> x * 2), FILTER(ARRAY_CONSTRUCT(1,2,3), x -> x > 1), TRANSFORM([1,2], x -> x + 1);
SELECT TRANSFORM(ARRAY_CONSTRUCT(1,2,3), x INT -> x + id) FROM m;
SELECT FILTER(PARSE_JSON('[{"a":1},{"a":5}]'), x -> x:a > 2), TRANSFORM(PARSE_JSON('[{"a":1},{"a":5}]'), x -> x:a);
