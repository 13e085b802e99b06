SELECT SPLIT_PART('a.b.c', '.', -1), SPLIT_PART('a.b', '.', 0), SPLIT_PART('a.b', '.', id), SUBSTR('abc', 0, 2), SUBSTRING('abc', 2), SUBSTR(name, id - 1, 2), STRTOK('a-b', '-', 2), STRTOK('a b') FROM t ORDER BY id;
SELECT INSERT('abc', 1, 2, 'Z'), INITCAP('hello wORLD-x'), LPAD('7', 3), RPAD('a', 3), REPLACE('abc', 'b'), SPACE(2) || 'x', LEFT(name, 2), LENGTH(name) FROM t WHERE id = 1;
