# go.py - suites of Go modules.
# SPDX-License-Identifier: ISC
import os
import re

import fetch

LIB_PQ = "v1.10.9"
DONE = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", re.M)
WORDS = {"PASS": "ok", "FAIL": "failed", "SKIP": "skipped"}


def prepare_lib_pq(folder):
    if not os.path.isdir(folder):
        fetch.go_module("github.com/lib/pq", LIB_PQ, folder)
    if not os.path.exists(os.path.join(folder, "pq.test")):
        fetch.command("go", "test", "-c", "-o", "pq.test", ".", cwd=folder,
                      GOFLAGS="-p=1")


def lib_pq(place, folder, short):
    place.pg.sql("create database pqgotest")
    for role in ("pqgossltest", "pqgosslcert"):
        place.pg.sql("create role %s login" % role)
    cwd = place.copy(folder)
    words = [os.path.join(cwd, "pq.test"), "-test.v", "-test.timeout=15m"]
    if short:
        words.append("-test.run=Test(Query|Exec|Statement|Row|Copy|Error|"
                     "Null|Txn|Return|Bad|Simple)")
    text = place.run(words, cwd=cwd, PGSSLMODE="disable",
                     PGDATABASE="pqgotest", PQGOSSLTESTS="0")
    return {name: WORDS[word] for word, name in DONE.findall(text)}
