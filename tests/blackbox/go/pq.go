package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"

	"github.com/lib/pq"
)

// compact is a value as JSON without blanks.
func compact(value any) string {
	text, err := json.Marshal(value)
	must(err)
	return string(text)
}

// without encryption, which lib/pq asks for unless it is told not to.
func plainly(address string) string {
	place, err := url.Parse(address)
	must(err)
	query := place.Query()
	if query.Get("sslmode") == "" {
		query.Set("sslmode", "disable")
	}
	place.RawQuery = query.Encode()
	return place.String()
}

// The tale through database/sql.
func throughPq(ctx context.Context, address string) {
	db, err := sql.Open("postgres", plainly(address))
	must(err)
	defer db.Close()
	_, err = db.ExecContext(ctx, define)
	must(err)
	prepared, err := db.PrepareContext(ctx, insert)
	must(err)
	for _, p := range people() {
		made, err := prepared.ExecContext(ctx, p.id, p.name, p.exact, p.at, p.ok, p.data)
		must(err)
		count, err := made.RowsAffected()
		must(err)
		same("inserted", count, int64(1))
	}
	must(prepared.Close())
	same("rows", read(ctx, db), people())

	tx, err := db.BeginTx(ctx, nil)
	must(err)
	copying, err := tx.PrepareContext(ctx, pq.CopyIn("go_people", "id", "name", "ok"))
	must(err)
	for id := 3; id < 5; id++ {
		_, err = copying.ExecContext(ctx, id, "tab\tand line\n", nil)
		must(err)
	}
	_, err = copying.ExecContext(ctx)
	must(err)
	must(copying.Close())
	must(tx.Commit())
	same("copied", counted(ctx, db), 4)

	var refused *pq.Error
	_, err = db.ExecContext(ctx, "select * from no_such_table")
	same("a table that is not there", errors.As(err, &refused) && refused.Code == "42P01", true)
	_, err = db.ExecContext(ctx, "insert into go_people (id, name) values ($1, $2)", 1, "again")
	same("a key twice", errors.As(err, &refused) && refused.Code == "23505", true)

	tx, err = db.BeginTx(ctx, nil)
	must(err)
	_, err = tx.ExecContext(ctx, "delete from go_people")
	must(err)
	must(tx.Rollback())
	same("after a rollback", counted(ctx, db), 4)

	short, done := context.WithTimeout(ctx, wait)
	defer done()
	_, err = db.ExecContext(short, slow)
	same("given up", err != nil, true)
	_, err = db.ExecContext(ctx, "drop table go_people")
	must(err)
}

func read(ctx context.Context, db *sql.DB) []person {
	rows, err := db.QueryContext(ctx, "select id, name, exact, at, ok, data from go_people where id = any($1) order by id",
		pq.Array([]int32{1, 2, 9}))
	must(err)
	defer rows.Close()
	var all []person
	for rows.Next() {
		var p person
		var data []byte
		must(rows.Scan(&p.id, &p.name, &p.exact, &p.at, &p.ok, &data))
		var value any
		must(json.Unmarshal(data, &value))
		p.at, p.data = p.at.UTC(), compact(value)
		all = append(all, p)
	}
	must(rows.Err())
	return all
}

func counted(ctx context.Context, db *sql.DB) (count int) {
	must(db.QueryRowContext(ctx, "select count(*) from go_people").Scan(&count))
	return count
}
