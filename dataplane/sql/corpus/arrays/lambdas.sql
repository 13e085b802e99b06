SELECT TRANSFORM([1, 2], x -> x * 2), FILTER([1, 2, 3], x -> x > 1), REDUCE([1, 2, 3], 0, (a, x) -> a + x);
SELECT REDUCE(ARRAY_CONSTRUCT(1, 2, 3), 0, (a, x) -> a + x);
