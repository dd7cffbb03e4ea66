// console.go - the admin console by pgx: console PORT
// SPDX-License-Identifier: ISC
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgx/v4"
)

func check(ok bool, what ...interface{}) {
	if !ok {
		fmt.Println(what...)
		os.Exit(1)
	}
}

func try(c *pgx.Conn) {
	ctx := context.Background()
	check(c.Ping(ctx) == nil, "ping")
	for i := 0; i < 10; i++ {
		var name string
		var port int32
		err := c.QueryRow(ctx, "SELECT name, port FROM databases "+
			"WHERE name = $1 LIMIT $2", "p1", 5).Scan(&name, &port)
		check(err == nil && name == "p1" && port > 0, err, name, port)
		rows, err := c.Query(ctx, "SHOW POOLS")
		check(err == nil, err)
		n := 0
		for rows.Next() {
			values, err := rows.Values()
			_, number := values[2].(int32)
			check(err == nil && number, err, values)
			n++
		}
		check(rows.Err() == nil && n > 0, rows.Err())
		var json string
		err = c.QueryRow(ctx, "SHOW JSON LISTS").Scan(&json)
		check(err == nil && json[0] == '[', err, json)
		tag, err := c.Exec(ctx, "RELOAD")
		check(err == nil && string(tag) == "RELOAD", err, tag)
		_, err = c.Exec(ctx, "NONSENSE")
		var pgerr *pgconn.PgError
		check(errors.As(err, &pgerr) && pgerr.Code == "08P01", err)
		tx, err := c.Begin(ctx)
		check(err == nil, err)
		check(tx.QueryRow(ctx, "SHOW VERSION").Scan(&name) == nil, "tx")
	}
}

func main() {
	url := "postgres://admin:adminpw@127.0.0.1:" + os.Args[1] +
		"/pgbouncer?sslmode=disable"
	for _, mode := range []string{"prepare", "describe", ""} {
		cfg, err := pgx.ParseConfig(url)
		check(err == nil, err)
		if mode != "" {
			cfg, err = pgx.ParseConfig(url +
				"&statement_cache_mode=" + mode)
			check(err == nil, err)
		}
		c, err := pgx.ConnectConfig(context.Background(), cfg)
		check(err == nil, err)
		try(c)
		c.Close(context.Background())
	}
	fmt.Println("good")
}
