SELECT ADD_MONTHS('2024-02-29'::DATE, 1), ADD_MONTHS(d, -1), ADD_MONTHS(ts, id) FROM t WHERE id = 1;
SELECT LAST_DAY('2024-02-03'::DATE), LAST_DAY(d, 'quarter'), LAST_DAY(d, 'year'), LAST_DAY(d, 'week') FROM t WHERE id = 1;
SELECT NEXT_DAY(d, 'fr'), PREVIOUS_DAY(d, 'Monday') FROM t WHERE id = 1;
SELECT NEXT_DAY(d, name), PREVIOUS_DAY(d, name) FROM t;
SELECT NEXT_DAY(d, 'noday') FROM t;
