package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// The tale in each way that pgx has of sending a statement.
func throughPgx(ctx context.Context, url string) {
	config, err := pgx.ParseConfig(url)
	must(err)
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		config.DefaultQueryExecMode = mode
		conn, err := pgx.ConnectConfig(ctx, config)
		must(err)
		told(ctx, conn)
		cancelled(ctx, conn)
		must(conn.Close(ctx))
	}
}

func told(ctx context.Context, conn *pgx.Conn) {
	_, err := conn.Exec(ctx, define)
	must(err)
	for _, p := range people() {
		tag, err := conn.Exec(ctx, insert, p.id, p.name, p.exact, p.at, p.ok, p.data)
		must(err)
		same("inserted", tag.RowsAffected(), int64(1))
	}
	same("rows", found(ctx, conn), people())
	var moved int64
	must(conn.QueryRow(ctx, "select sum(n_nationkey + $1) from nation where n_regionkey = $2", 1, 0).Scan(&moved))
	same("a sum over a parameter", moved, int64(55))
	var dated int
	day := time.Date(1995, 1, 1, 0, 0, 0, 0, time.UTC)
	must(conn.QueryRow(ctx, "select count(*) from orders where o_orderdate < $1", day).Scan(&dated))
	same("orders before a moment", dated > 0, true)

	copied, err := conn.CopyFrom(ctx, pgx.Identifier{"go_people"}, []string{"id", "name", "ok"},
		pgx.CopyFromRows([][]any{{int32(3), "Bob", true}, {int32(4), "Eve", nil}}))
	must(err)
	same("copied", copied, int64(2))

	batch := &pgx.Batch{}
	batch.Queue("update go_people set name = $1 where id = $2", "Bea", 3)
	batch.Queue("select count(*) from go_people")
	results := conn.SendBatch(ctx, batch)
	_, err = results.Exec()
	must(err)
	var count int
	must(results.QueryRow().Scan(&count))
	must(results.Close())
	same("in a batch", count, 4)

	var refused *pgconn.PgError
	_, err = conn.Exec(ctx, "select * from no_such_table")
	same("a table that is not there", errors.As(err, &refused) && refused.Code == "42P01", true)
	_, err = conn.Exec(ctx, "insert into go_people (id, name) values ($1, $2)", 1, "again")
	same("a key twice", errors.As(err, &refused) && refused.Code == "23505", true)

	tx, err := conn.Begin(ctx)
	must(err)
	nested, err := tx.Begin(ctx)
	must(err)
	_, err = nested.Exec(ctx, "select count(*) from go_people")
	must(err)
	must(nested.Commit(ctx))
	_, err = tx.Exec(ctx, "delete from go_people")
	must(err)
	must(tx.Rollback(ctx))
	must(conn.QueryRow(ctx, "select count(*) from go_people").Scan(&count))
	same("after a rollback", count, 4)

	loaded, err := conn.LoadType(ctx, "_int4")
	must(err)
	same("a type", loaded.OID, uint32(pgtype.Int4ArrayOID))
	_, err = conn.Exec(ctx, "drop table go_people")
	must(err)
}

func found(ctx context.Context, conn *pgx.Conn) []person {
	rows, err := conn.Query(ctx, "select id, name, exact, at, ok, data from go_people where id = any($1::int[]) order by id", []int32{1, 2, 9})
	must(err)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p person, err error) {
		var exact pgtype.Numeric
		var data any
		if err = row.Scan(&p.id, &p.name, &exact, &p.at, &p.ok, &data); err != nil {
			return
		}
		text, err := exact.MarshalJSON()
		if err != nil {
			return
		}
		p.exact, p.at, p.data = string(text), p.at.UTC(), compact(data)
		return
	})
	must(err)
	return all
}

// A statement that is given up ends with its connection; the next one is as good as any.
func cancelled(ctx context.Context, conn *pgx.Conn) {
	other, err := pgx.ConnectConfig(ctx, conn.Config())
	must(err)
	short, done := context.WithTimeout(ctx, wait)
	defer done()
	_, err = other.Exec(short, slow)
	same("given up", errors.Is(err, context.DeadlineExceeded), true)
	must(conn.Ping(ctx))
}
