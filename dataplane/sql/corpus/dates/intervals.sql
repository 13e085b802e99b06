SELECT '2024-01-01'::DATE + INTERVAL '1 day, 1 month', '2024-01-01'::DATE + INTERVAL '1 DAY', d - INTERVAL '90' DAY, ts + INTERVAL '1 hour', d + INTERVAL '2 hours' FROM t WHERE id = 1;
SELECT d + 1, d - DATE '2024-01-01' FROM t WHERE id = 1;
SELECT INTERVAL '1 fortnight, 2 days';
