SELECT v.$1, $2 FROM VALUES (1, 'a'), (2, 'b') v;
SELECT v.$1, w.$2 FROM VALUES (1, 'a') v JOIN (VALUES (1, 'b')) w ON v.$1 = w.$1;
SELECT $1, w.$2 FROM (VALUES (1, 'b')) w (x, y);
