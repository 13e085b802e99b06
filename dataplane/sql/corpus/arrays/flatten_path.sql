SELECT f.path, f.value FROM v, LATERAL FLATTEN(INPUT => src, PATH => 'b.c') f;
SELECT f.path, f.value FROM v, LATERAL FLATTEN(INPUT => src, PATH => 'b', RECURSIVE => TRUE) f;
SELECT f.path, f.value FROM v, LATERAL FLATTEN(INPUT => src, PATH => 'zz', OUTER => TRUE) f;
