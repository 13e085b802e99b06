SELECT DATE_PART(epoch_second, '2024-01-01 00:00:00'::TIMESTAMP), DATE_PART(epoch_millisecond, ts), DATE_PART('month', d), DATE_PART(dayofweekiso, d), DATE_PART(weekiso, d) FROM t WHERE id = 1;
SELECT EXTRACT(year FROM d), EXTRACT(epoch_second FROM ts), EXTRACT(dayofweek FROM d), EXTRACT(week FROM d) FROM t WHERE id = 1;
SELECT YEAR(d), MONTHNAME(d), DAYNAME(d), DAYOFWEEKISO(d), WEEKISO(d), YEAROFWEEK(d) FROM t WHERE id = 1;
SELECT DATE_PART(moonphase, d) FROM t;
SELECT DATEADD(day, 1, NULL), DATEDIFF(day, NULL, d), DATE_TRUNC('month', NULL), YEAR(NULL), LAST_DAY(NULL) FROM t;
