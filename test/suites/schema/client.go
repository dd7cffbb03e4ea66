// client.go - lib/pq and pgx, each by one way to send a query; see schema.py.
// SPDX-License-Identifier: ISC
package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"
)

var ctx = context.Background()

// What a scenario needs of a driver.
type conn interface {
	query(text string, args ...any) ([]string, [][]any, error)
	exec(text string, args ...any) error
}

type pqConn struct{ c *sql.Conn }

func (p pqConn) query(text string, args ...any) ([]string, [][]any, error) {
	rows, err := p.c.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	names, _ := rows.Columns()
	var all [][]any
	for rows.Next() {
		row, to := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			return nil, nil, err
		}
		all = append(all, row)
	}
	return names, all, rows.Err()
}

func (p pqConn) exec(text string, args ...any) error {
	_, err := p.c.ExecContext(ctx, text, args...)
	return err
}

type pgxConn struct{ c *pgx.Conn }

func (p pgxConn) query(text string, args ...any) ([]string, [][]any, error) {
	rows, err := p.c.Query(ctx, text, args...)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	var names []string
	for _, field := range rows.FieldDescriptions() {
		names = append(names, field.Name)
	}
	var all [][]any
	for rows.Next() {
		row, err := rows.Values()
		if err != nil {
			return nil, nil, err
		}
		all = append(all, row)
	}
	if len(all) > 0 {
		names = names[:0]
		for _, field := range rows.FieldDescriptions() {
			names = append(names, field.Name)
		}
	}
	return names, all, rows.Err()
}

func (p pgxConn) exec(text string, args ...any) error {
	_, err := p.c.Exec(ctx, text, args...)
	return err
}

var modes = map[string]pgx.QueryExecMode{
	"pgx-statement": pgx.QueryExecModeCacheStatement,
	"pgx-describe":  pgx.QueryExecModeCacheDescribe,
	"pgx-two-trips": pgx.QueryExecModeDescribeExec,
	"pgx-exec":      pgx.QueryExecModeExec,
	"pgx-simple":    pgx.QueryExecModeSimpleProtocol,
}

func open(driver string) (conn, error) {
	where := fmt.Sprintf("host=%s port=%s user=%s dbname=%s sslmode=disable",
		os.Getenv("PGHOST"), os.Getenv("PGPORT"), os.Getenv("PGUSER"),
		os.Getenv("PGDATABASE"))
	if driver == "lib-pq" {
		db, err := sql.Open("postgres", where)
		if err != nil {
			return nil, err
		}
		c, err := db.Conn(ctx)
		return pqConn{c}, err
	}
	config, err := pgx.ParseConfig(where)
	if err != nil {
		return nil, err
	}
	config.DefaultQueryExecMode = modes[driver]
	c, err := pgx.ConnectConfig(ctx, config)
	return pgxConn{c}, err
}

func state(err error) string {
	var a *pq.Error
	var b *pgconn.PgError
	if errors.As(err, &a) {
		return "error " + string(a.Code)
	}
	if errors.As(err, &b) {
		return "error " + b.Code
	}
	return "error " + strings.ReplaceAll(err.Error(), "\n", " ")
}

func show(names []string, rows [][]any, err error) string {
	if err != nil {
		return state(err)
	}
	words := []string{"row"}
	for _, row := range rows {
		for i, value := range row {
			if text, ok := value.([]byte); ok {
				value = string(text)
			}
			words = append(words, fmt.Sprintf("%s=%v", names[i], value))
		}
	}
	return strings.Join(words, " ")
}

// Answers that are not the ones of their questions.
func crowd(driver string, clients, rounds int) string {
	var wait sync.WaitGroup
	var lock sync.Mutex
	wrong, said := 0, ""
	for id := 1; id <= clients; id++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			c, err := open(driver)
			for i := 0; i < rounds && err == nil; i++ {
				text := fmt.Sprintf("select $1::int4 + %d as n%d", id*1000, id)
				names, rows, bad := c.query(text, i)
				want := fmt.Sprint(id*1000 + i)
				if bad != nil || len(rows) != 1 || names[0] != fmt.Sprintf("n%d", id) ||
					fmt.Sprint(rows[0][0]) != want {
					lock.Lock()
					wrong++
					if said == "" {
						said = " " + show(names, rows, bad)
					}
					lock.Unlock()
				}
			}
			if err != nil {
				lock.Lock()
				wrong++
				said = " " + state(err)
				lock.Unlock()
			}
		}()
	}
	wait.Wait()
	return fmt.Sprintf("wrong %d%s", wrong, said)
}

func main() {
	driver := os.Args[1]
	conns := map[string]conn{}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		word := strings.Fields(in.Text())
		said := "ok"
		switch word[0] {
		case "open":
			c, err := open(driver)
			if err != nil {
				said = state(err)
			}
			conns[word[1]] = c
		case "select":
			said = show(conns[word[1]].query("select * from t where id = $1", 1))
		case "insert":
			var n int64
			fmt.Sscan(word[2], &n)
			if err := conns[word[1]].exec("insert into t (id, a) values ($1, $2)", 2, n); err != nil {
				said = state(err)
			}
		case "begin", "rollback":
			if err := conns[word[1]].exec(word[0]); err != nil {
				said = state(err)
			}
		case "crowd":
			var clients, rounds int
			fmt.Sscan(word[1], &clients)
			fmt.Sscan(word[2], &rounds)
			said = crowd(driver, clients, rounds)
		}
		fmt.Println(said)
	}
}
