SELECT CONTAINS('abc', 'b'), STARTSWITH(name, 'a'), ENDSWITH(name, 'b'), CHARINDEX('n', name), CHARINDEX('n', name, 3), POSITION('n', name), POSITION('n' IN name), EDITDISTANCE(name, 'bob') FROM t ORDER BY id;
SELECT name FROM t WHERE name LIKE ANY ('a%', 'b%') ORDER BY 1;
SELECT name FROM t WHERE name NOT ILIKE ANY ('A%', 'B%') ORDER BY 1;
