SELECT REGEXP_LIKE('abc', 'b'), RLIKE('abc', 'A.*', 'i'), name RLIKE 'a.*', REGEXP_COUNT('a1b2', '[0-9]'), REGEXP_REPLACE('aXbX', 'X', '-'), REGEXP_REPLACE('aXbX', 'X'), REGEXP_REPLACE('aXbX', 'x', '-', 1, 0, 'i') FROM t WHERE id = 1;
SELECT REGEXP_SUBSTR('a1b2', '[0-9]'), REGEXP_SUBSTR('abc', '[0-9]'), REGEXP_SUBSTR('a1b2', '[a-z]([0-9])', 1, 2, 'e'), REGEXP_SUBSTR('A1', 'a', 1, 1, 'i');
SELECT REGEXP_REPLACE('aXbX', 'X', '-', 3, 2);
SELECT REGEXP_REPLACE(name, '[a-z]', '-', 3, 0), REGEXP_REPLACE(name, '[a-z]', g, 3, 1), REGEXP_REPLACE(name, '^a', '-', 1, 0, 'mi') FROM t;
SELECT REGEXP_INSTR(name, '^b', 1, 1, 0, 'im'), REGEXP_SUBSTR(name, g, 1, 1, 'm'), REGEXP_COUNT(name, 'A', 1, 'i'), REGEXP_COUNT(name, 'a') FROM t;
SELECT REGEXP_SUBSTR(name, 'a.', 1, 1, 'e'), REGEXP_SUBSTR_ALL(name, '(?:a).', 1, 1, 'e') FROM t;
SELECT REGEXP_SUBSTR(name, 'x', 1, 1, 'q') FROM t;
