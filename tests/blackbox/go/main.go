// Drivers of Go: `blackbox <name>` tells one tale through each and ends with 0 when it holds: define a table, write
// rows of common types by parameters and by COPY, read, fail, roll back and cancel.
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"time"
)

const (
	define = `create table go_people (id integer primary key, name text not null, exact numeric(10,2), at timestamptz,
		ok boolean, data jsonb)`
	insert = "insert into go_people (id, name, exact, at, ok, data) values ($1, $2, $3, $4, $5, $6)"
	// Longer than any test waits.
	slow = "select count(*) from lineitem a, lineitem b where a.l_comment < b.l_comment"
	wait = 500 * time.Millisecond
)

// A person as the table has one.
type person struct {
	id    int32
	name  string
	exact string
	at    time.Time
	ok    bool
	data  string
}

func people() []person {
	return []person{
		{1, "Ada", "12.34", time.Date(2024, 2, 29, 12, 34, 56, 789_000_000, time.UTC), true, `{"tags":["a","b"]}`},
		{2, `it's "quoted" \ 🦆`, "-0.50", time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC), false, "[1,null]"},
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func same(what string, found, wanted any) {
	if !reflect.DeepEqual(found, wanted) {
		panic(fmt.Sprintf("%s: %v, not %v", what, found, wanted))
	}
}

func main() {
	tales := map[string]func(context.Context, string){"pgx": throughPgx, "pq": throughPq}
	ctx, done := context.WithTimeout(context.Background(), time.Minute)
	defer done()
	tales[os.Args[1]](ctx, os.Getenv("SLUICE_PSQL"))
}
