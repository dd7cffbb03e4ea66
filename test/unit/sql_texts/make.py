#!/usr/bin/env python3
"""Texts for test_sql_texts.

  make.py POSTGRESQL >new && test/unit/test_sql_texts --write new >texts

POSTGRESQL is an unpacked source of PostgreSQL 15.  A row of what is printed
is a text, with what is not plain ASCII escaped; "<" in front says that each
beginning of the text is one as well.  Whatever is generated comes from SEED.
SPDX-License-Identifier: ISC
"""
import glob
import os
import random
import sys

SEED = 20261129
LENGTH = 150            # bytes: longer statements of PostgreSQL are left out
TAKEN = 12000           # of PostgreSQL's
VARIANTS = 42           # of each statement below
SOUPS = 3000

NAMES = ["work_mem", "search_path", "SEARCH_PATH", "role", "timezone",
         "TimeZone", "DateStyle", "session_authorization", "a.b", '"A"."b"',
         "bytea_output", "extra_float_digits", '"work_mem"', "xmloption",
         'U&"\\0061.b"', "\u00e4.b", "standard_conforming_strings", "local.x",
         "session.x", "a$b", "client_encoding", "array_nulls", "_x.y"]
VALUES = ["1", "'1'", "default", "DEFAULT", "to_x", "'a;b'", "''", "'it''s'",
          "E'a\\'b'", "$$x$$", "on", "a, b", "'now'", "local", "none", "'\\'"]
STATEMENTS = """set N = V
set N to V
set session N = V
set local N = V
set local N to V
set time zone V
set local time zone V
set role V
set role none
set local role V
set session authorization V
set session authorization default
set session characteristics as transaction read only
set transaction isolation level serializable
set constraints all deferred
set names V
set schema V
set xml option document
reset N
reset all
reset role
reset session authorization
reset time zone
discard all
discard temp
discard plans
discard sequences
deallocate all
deallocate prepare all
deallocate p
deallocate prepare p
deallocate "P q"
deallocate prepare
deallocate \u00e4
prepare p as select 1
prepare p (int) as select $1
execute p
execute p (1)
execute p using V
begin
begin transaction
start transaction
start transaction read only
commit
commit and chain
commit prepared 'x'
rollback
rollback to a
rollback to savepoint a
abort
end
savepoint a
release a
prepare transaction 'x'
listen a
listen "A b"
unlisten a
unlisten *
notify a
notify a, 'b'
lock table t
load 'x'
call f()
call f(1, 'a')
fetch all from c
move 1 in c
close c
close all
declare c cursor for select 1
declare c cursor with hold for select 1
do $$ begin set N = V; end $$
do $$set N = V$$
do $a$ begin execute $$set N = V$$; end $a$
do $a$ begin execute $$reset all$$; end $a$
do 'begin perform 1; end'
do language plpgsql $$ begin end $$
do $$ begin load 'x'; end $$
do E'begin end'
do /* c */ $$ begin end $$
insert into t values (1) on conflict do nothing
insert into t values (1) on conflict (a) do update set b = 1
insert into t default values
insert into t select 1
update t set a = default
update t set a = 1, b = 'x' where c = 2
update pg_settings set setting = 'x' where name = 'N'
delete from t where a = 1
with x as (insert into t values (1) returning a) select * from x
with x as (select 1) select * from x
merge into t using u on a = b when matched then delete
select 1
select a from t where b = 'x'
select a from t where b = $1
select $1::int, $2::text
select 'now'::timestamptz
select 'nOw'
select E'no\\w'::timestamptz
select E'\\156ow'
select 'a' 'b'
select 'a'
select "now" from t
select '{"to", "day"}'
select $$now$$
select $a$today$a$
select 'x'::regclass
select 'x'::regrole
select $1::regtype
select U&'\\0061'
select U&"\\0061" from t
select now(), current_date
select '10:00'::time
select set_config('N', V, false)
select set_config('N', V, true)
select set_config('N', $1, true)
select set_config($1, $2, false)
select set_config('N', null, false)
select pg_catalog.set_config('N', 'x', true)
select "set_config"('N', 'x', false)
select set_config ( 'N' , 'x' , true )
select set_config(E'N', V, false)
select set_config($$N$$, V, true)
select set_config(setting_name => 'N', new_value => V, is_local => true)
select set_config/* c */('N', 'x', false)
select my_set_config('N', 'x', false)
select set_config$('N', 'x', false)
select set_config('N' || 'a', 'x', false)
select set_config(name, setting, false) from pg_settings
select U&"set\\005fconfig"('N', 'x', false)
select current_setting('N')
select nextval('s')
select setval('s', 1)
select currval('s')
select lastval()
select pg_advisory_lock(1)
select pg_try_advisory_lock(1)
select pg_advisory_xact_lock(1)
select pg_try_advisory_xact_lock(1)
select a.pg_advisory_xact_lock(1)
select pg_advisory_unlock_all()
select dblink_connect('a', 'b')
select pg_replication_origin_session_setup('x')
select pg_create_physical_replication_slot('x')
select pg_create_logical_replication_slot('x', 'y', true)
select set_limit(0.5)
select query_to_xml('select 1', true, true, 'x')
select ts_stat('select 1')
select ts_rewrite('a', 'select 1')
select * into t from u
select * into temp t from u
select a into b from c
create table t (a int)
create temp table t (a int)
create temporary table t (a int)
create table pg_temp.t (a int)
create table pg_temp_3.t (a int)
create unlogged table t (a int)
create index on t (a)
create function f() returns int language sql as $$ select 1 $$
create or replace function f() returns int language sql as 'select 1'
create procedure p() language sql as $$set N = V$$
create function f() returns int language sql set N = V as 'select 1'
create database d
create database d template e
create database d with owner = o template = 'e'
create schema s
create view v as select 1
alter table t add b int
alter role r set N = V
alter database d set N to V
alter database d rename to e
alter database d set tablespace s
alter system set N = V
drop table t
drop database d
drop database if exists "D"
drop schema s cascade
import foreign schema s from server v into t
grant select on t to r
revoke all on t from r
truncate t
analyze
vacuum t
copy t from stdin
copy t to stdout
explain select 1
explain analyze update t set a = default
show N
show all
table t
values (1), (2)
checkpoint
reindex table t
comment on table t is 'set N = V'
security label on table t is 'x'
refresh materialized view v
cluster t
reassign owned by a to b
select "set", reset from t
select 'set N = V; reset all'
select ';discard all'
select a.set, b$set, set$c, \u00e4set, set\u00e4 from t
select $x$set N = V$x$
select 1 /* set N = V */
select 1 -- ; reset all
select "a;discard all"
select E'a\\'; discard all; --'
select 'a\\'; discard all; --'
select 1$a$;discard all;$a$
select $1$;discard all;$1$
select $\u00e4$;discard all;$\u00e4$
select /* a /* b */ ; discard all */ 1
select 1 --\\n\\r discard all
set
reset
discard
deallocate
s
d
""".split("\n")[:-1]
SPACES = ["  ", "\t", "\n", "\r\n", "\f", "\v", "/**/", "/* c */", "/* ' */",
          " /* a /* b */ c */ ", "--\n", " -- it's\n", "--;\r", "/*;*/", ""]
FRONT = ["", "", "", " ", "\n", ";", "; ;", "/* c */", "-- c\n", "/* a", "(",
         "\ufeff", "begin;", "select 1; ", "select 'a;'; ", "commit;\n",
         "explain ", "prepare q as ", "select 'a\\'; ", "insert into t; "]
BEHIND = ["", "", "", ";", " ;", ";;", "; -- c", " -- c", "/* c */", "/* c",
          "; select 1", "; commit", ";\n reset all", "; set a = 1", " '", ' "',
          "; discard all;", " $$", "\\", " from t", "; deallocate all"]
AROUND = [("do $$ begin ", "; end $$"), ("select '", "'"), ("select $q$", "$q$"),
          ("/* ", " */ select 1"), ("-- ", "\nselect 1"), ('select "', '"'),
          ("create function f() returns void language sql as $$", "$$"),
          ("select E'", "'"), ("do $d$ begin execute '", "'; end $d$"),
          ("with x as (", ") select 1"), ("", "")]
WORDS = ["set", "SET", "reset", "to", "=", "local", "all", "discard", ";",
         "'", '"', "$$", "$a$", "a", "b.c", "--", "\n", "/*", "*/", "E'", "\\",
         "set_config(", "('a',", "null", "true)", "deallocate", "prepare", " ",
         " ", " ", "default", "update", "insert", "into", "with", "U&'", 'U&"',
         "now", "1", "$1", "\u00e4", "do", "begin", "commit", "temp", "nextval(",
         "search_path", "schema", "role", "select", "create", "_", "$", "(", ")",
         "::", "regclass", "e", "''", "pg_settings", "option", "execute", "load"]


def escaped(text):
    """As a row of the file has it."""
    return "".join(
        {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(
            chr(b), chr(b) if 0x20 <= b < 0x7f else "\\x%02x" % b)
        for b in text.encode("utf-8", "surrogateescape"))


def statements(script):
    """Split as psql does, near enough; without its own commands."""
    lines = [row for row in script.split("\n") if not row.startswith("\\")]
    text, start, at, quote = "\n".join(lines), 0, 0, None
    while at < len(text):
        if quote is None:
            if text[at] == ";":
                yield text[start:at + 1].strip()
                start = at + 1
            elif text[at] in "'\"":
                quote = text[at]
            elif text[at] == "$":
                end = text.find("$", at + 1)
                tag = text[at:end + 1] if end > 0 else ""
                if tag[1:-1].replace("_", "a").isalpha() or tag == "$$":
                    close = text.find(tag, end + 1)
                    at = len(text) if close < 0 else close + len(tag) - 1
            elif text.startswith("--", at):
                at = (text.find("\n", at) + len(text) + 1) % (len(text) + 1)
        elif text[at] == quote:
            quote = None
        at += 1


def of_postgresql(folder, rng):
    """Statements of its regression tests, and of its modules'."""
    found = {}
    for pattern in ("src/test/regress/sql", "contrib/*/sql",
                    "src/pl/*/sql"):
        for path in sorted(glob.glob(os.path.join(folder, pattern, "*.sql"))):
            with open(path, encoding="utf-8", errors="surrogateescape") as f:
                for text in statements(f.read()):
                    if 3 < len(text) <= LENGTH:
                        found[text] = None
    rows = list(found)
    rng.shuffle(rows)
    return rows[:TAKEN]


def filled(text, rng):
    for mark, those in (("N", NAMES), ("V", VALUES)):
        words = text.split(mark)
        text = words[0] + "".join(rng.choice(those) + w for w in words[1:])
    return text.replace("\\n", "\n").replace("\\r", "\r")


def spelled(text, rng):
    """In another spelling, with something around."""
    if rng.random() < .4:
        text = rng.choice([str.upper, str.title, str.swapcase])(text)
    if rng.random() < .6:
        text = "".join(rng.choice(SPACES) if ch == " " and rng.random() < .3
                       else ch for ch in text)
    if rng.random() < .3:
        a, b = rng.choice(AROUND)
        text = a + text + b
    return rng.choice(FRONT) + text + rng.choice(BEHIND)


HEAD = """\
# Texts that are read as SQL, each behind today's answers; see test_sql_texts.c
# and make.py, which has made this file. "*3": three beginnings of a text ("<")
# have these answers.
#
# Half of the texts are statements of the regression tests of PostgreSQL 15:
# Portions Copyright (c) 1996-2026, PostgreSQL Global Development Group
# Portions Copyright (c) 1994, The Regents of the University of California
# debian/copyright has their licence."""


def main(folder):
    rng = random.Random(SEED)
    rows = {text: "" for text in of_postgresql(folder, rng)}
    for text in STATEMENTS:
        text = filled(text, rng)
        rows[text] = "<"
        for _ in range(VARIANTS):
            rows.setdefault(spelled(filled(text, rng), rng), "")
    for _ in range(SOUPS):
        rows.setdefault("".join(
            rng.choice(WORDS) + rng.choice(["", " "])
            for _ in range(rng.randrange(1, 14))), "")
    print(HEAD)
    for text, mark in rows.items():
        print(mark + escaped(text))


if __name__ == "__main__":
    main(sys.argv[1])
