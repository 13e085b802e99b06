SELECT REGEXP_LIKE('abc', 'b'), RLIKE('abc', 'A.*', 'i'), name RLIKE 'a.*', REGEXP_COUNT('a1b2', '[0-9]'), REGEXP_REPLACE('aXbX', 'X', '-'), REGEXP_REPLACE('aXbX', 'X'), REGEXP_REPLACE('aXbX', 'x', '-', 1, 0, 'i') FROM t WHERE id = 1;
SELECT REGEXP_SUBSTR('a1b2', '[0-9]'), REGEXP_SUBSTR('abc', '[0-9]'), REGEXP_SUBSTR('a1b2', '[a-z]([0-9])', 1, 2, 'e'), REGEXP_SUBSTR('A1', 'a', 1, 1, 'i');
SELECT REGEXP_REPLACE('aXbX', 'X', '-', 3, 2);
