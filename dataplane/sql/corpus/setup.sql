-- The tables the corpus reads.
CREATE TABLE t (id INT, a INT, b INT, name VARCHAR, d DATE, ts TIMESTAMP, amt DECIMAL(10,2), g VARCHAR);
INSERT INTO t VALUES (1,10,NULL,'ann',DATE '2024-01-15',TIMESTAMP '2024-01-15 10:20:30',12.50,'x'),(2,20,5,'bob',DATE '2024-02-29',TIMESTAMP '2024-02-29 23:59:59',7.25,'x'),(3,NULL,7,'cat',DATE '2024-03-10',TIMESTAMP '2024-03-10 00:00:00',0,'y');
CREATE TABLE v (id INT, src JSON);
INSERT INTO v VALUES (1,'{"b":{"c":[{"d":5},{"d":6}]},"s":"hi","n":null,"arr":[1,2,3],"Key One":9}');
CREATE TABLE m (id INT, val VARCHAR);
INSERT INTO m VALUES (1,'old');
CREATE TABLE sales (emp VARCHAR, q VARCHAR, amount INT);
INSERT INTO sales VALUES ('e1','Q1',10),('e1','Q2',20),('e2','Q1',5);
CREATE TABLE wide (id INT, jan INT, feb INT);
INSERT INTO wide VALUES (1,100,200);
CREATE TABLE coded (code VARCHAR(3), word VARCHAR, n INT);
CREATE TABLE visits (id INT, at TIMESTAMPTZ, ok BOOLEAN);
