# test_smoke.py - the harness itself, and one query.
# SPDX-License-Identifier: ISC
import os
import subprocess
import sys

import harness


def test_one_query_is_answered(pooler):
    """pooling.md 3, 5: login, one query, one server."""
    p = pooler()
    with p.connect() as c:
        assert c.execute("select 1").fetchone() == (1,)
    c = p.raw()
    assert c.value("select 42") == "42"
    assert p.pool()["sv_idle"] == 1


def test_variables_of_libpq_reach_no_test():
    """the machine's PGUSER is not a choice of the test's"""
    out = subprocess.run(
        [sys.executable, "-c", "import harness, os; print(sorted(n for n in "
         "os.environ if n.startswith('PG')))"], cwd=harness.HERE, text=True,
        env={**os.environ, "PGUSER": "nobody", "PGSERVICE": "none",
             "PGBIN": "bin", "PGSLUICE": "x"}, stdout=subprocess.PIPE,
        check=True)
    assert out.stdout == "['PGBIN', 'PGSLUICE']\n"
