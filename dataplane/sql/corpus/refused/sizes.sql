SELECT REPEAT('x', 4000000000);
SELECT RPAD('x', id, ' '), REPEAT('x', LENGTH(name)), SPACE(id) FROM t WHERE id = 1;
SELECT len(range(0, a)) FROM t WHERE id = 1;
SELECT len(generate_series(d, DATE '2024-02-15', INTERVAL '1 day')) FROM t WHERE id = 1;
SELECT len(range($1));
SELECT len(range($1::INT));
SELECT LPAD('x', 20000000);
