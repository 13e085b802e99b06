SELECT src:b.c[0].d::INT, src:"Key One"::INT, src:s, src:s::STRING, src['s']::VARCHAR, src:arr[1]::NUMBER FROM v;
SELECT GET(src, 's')::VARCHAR, GET_PATH(src, 'b.c[1].d')::INT, GET(src:arr, 1)::INT, v.src:b:c FROM v;
SELECT PARSE_JSON('{"a":{"b":3}}'):a.b::INT, TRY_PARSE_JSON('{') IS NULL;
SELECT src:"it's ""odd"" \ 'x'" FROM v;
SELECT src:arr[id]::INT FROM v;
SELECT f.x:d FROM (SELECT src:b.c[0] AS x FROM v) f;
SELECT src:at::TIMESTAMP_NTZ, TRY_CAST(src:at::VARCHAR AS TIMESTAMP) FROM v;
