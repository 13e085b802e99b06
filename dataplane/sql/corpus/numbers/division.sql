SELECT a / b, a % b, MOD(a, b), a / 2, a / NULLIF(b, 0), a / (b - 5) FROM t WHERE id = 1;
SELECT a / 0 FROM t WHERE id = 1;
SELECT 7 % 0;
SELECT DIV0(1, 0), DIV0(a, b), DIV0NULL(a, b) FROM t WHERE id = 1;
