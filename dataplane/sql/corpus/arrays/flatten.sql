SELECT f.index, f.value:d::INT FROM v, LATERAL FLATTEN(INPUT => src:b.c) f ORDER BY 1;
SELECT id, f.value FROM v, LATERAL FLATTEN(INPUT => PARSE_JSON('[]'), OUTER => TRUE) f;
SELECT f.key, f.value::VARCHAR, f.path FROM v, TABLE(FLATTEN(src)) f WHERE f.key = 's';
SELECT value::INT FROM v, LATERAL FLATTEN(INPUT => src, PATH => 'arr') ORDER BY value::INT;
SELECT f.value FROM v, LATERAL FLATTEN(INPUT => src, RECURSIVE => TRUE) f;
SELECT f.value FROM v, LATERAL FLATTEN(INPUT => src, DEPTH => 2) f;
