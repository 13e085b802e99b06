SELECT [3, 1, 2]::VARCHAR, [1, 'a', NULL]::VARCHAR, {'a': 1, 'b': 'x'}::VARCHAR, {}::VARCHAR, [[1], [2, 3]]::VARCHAR;
SELECT [30, 10, 20][0], [30, 10, 20][-1], {'a': 1}['a']::INT, [{'a': 1}][0]['a']::INT, ([3, 1, 2])[1]::INT + 1;
SELECT ARRAY_SLICE([0, 1, 2], 0, -1), ARRAY_APPEND([1], 2), ARRAY_PREPEND([1], 2), ARRAY_CAT([1], NULL), ARRAY_SIZE([1]), ARRAY_CONTAINS(1, [1]);
SELECT FILTER([3, 1, 2], i -> i > 1), TRANSFORM([3, 1, 2], i -> i * 2), f.value FROM TABLE(FLATTEN([1, 2])) f;
SELECT [1, 2]::INT[], [1.0, 2.0]::FLOAT[2], ARRAY[1, 2][1], ARRAY[[1, 2], [3, 4]], [1, 2]::INT[]::VARCHAR, {'a': 1}::STRUCT(a INT), 2 = ANY ([1, 2]);
SELECT unnest([1, 2]), list_sum([1, 2]), LENGTH([1, 2]);
CREATE TABLE made AS SELECT [1, 2] AS x, {'a': 1} AS y;
