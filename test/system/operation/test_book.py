# test_book.py - doc/book: what it tells the reader to do, is done.
# SPDX-License-Identifier: ISC
import glob
import os
import re

import pytest

import book
import harness
from harness import REFERENCE

pytestmark = pytest.mark.skipif(REFERENCE, reason="has another manual")
NEEDS = {"frameworks": "sqlalchemy"}    # modules that a chapter's programs import
CHAPTERS = sorted(os.path.basename(p)[:-3]
                  for p in glob.glob(os.path.join(book.FOLDER, "*.md")))


@pytest.fixture
def reader(pg):
    """The PostgreSQL of the book: a database, and who uses it."""
    there = {r[0] for r in pg.sql("select rolname from pg_roles")}
    for name in {"alice", "bob"} - there:
        pg.sql("create role %s login password 'secret'" % name)
    if not pg.sql("select 1 from pg_database where datname = 'shop'"):
        pg.sql("create database shop")
        pg.sql("grant all on schema public to public", db="shop")
    who = book.Reader(pg)
    yield who
    who.leave()
    pg.sql("drop function if exists pooler_secret", db="shop")
    pg.sql("drop role if exists pooler")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_chapter(reader, chapter):
    path = os.path.join(book.FOLDER, chapter + ".md")
    if chapter in NEEDS:
        pytest.importorskip(NEEDS[chapter])
    for block in book.blocks(path):
        try:
            reader.do(block)
        except AssertionError as e:
            raise AssertionError("%s.md:%d: %s" % (
                chapter, block.line, e)) from None


def test_there_is_something_to_run():
    n = sum(len(book.blocks(os.path.join(book.FOLDER, c + ".md")))
            for c in CHAPTERS)
    assert len(CHAPTERS) >= 8 and n >= 40


# --- what is said to fit into 80 columns ---

FITS = re.compile(r"These fit into 80 columns:\n\n```\w*\n(.*?)^```", re.M | re.S)


def said_to_fit():
    for path in ("doc/pgsluice-admin.7.scd", "doc/book/monitoring.md"):
        with open(os.path.join(harness.ROOT, path), encoding="utf-8") as f:
            block = FITS.search(f.read())[1]
        found = re.findall(r"^show [^;\n]+", block, re.M | re.I)
        assert len(found) >= 4
        yield from found


def test_rows_fit_into_80_columns(reader):
    chapter = os.path.join(book.FOLDER, "monitoring.md")
    for block in book.blocks(chapter)[:3]:
        reader.do(block)
    for query in said_to_fit():
        code, out = reader.shell(
            "psql -h 127.0.0.1 -p 6432 -U alice -d pgbouncer -c '%s'" % query)
        assert code == 0, out
        assert max(map(len, out.splitlines())) <= 80, out
