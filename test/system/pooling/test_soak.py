# test_soak.py - hundreds of clients of every kind on few servers, for minutes.
# SPDX-License-Identifier: ISC
"""SOAK_SECONDS is how long (6; 300 with BIG=1), SOAK_CLIENTS how many (60;
200), SOAK_SEED what they do.
"""
import json
import os
import subprocess
import sys

import pytest

from harness import ASAN, BIG, HERE, REFERENCE, process_env, wait_until

SECONDS = int(os.environ.get("SOAK_SECONDS", 300 if BIG else 6))
CLIENTS = int(os.environ.get("SOAK_CLIENTS", 200 if BIG else 60))
SEED = int(os.environ.get("SOAK_SEED", 1))
WORKERS = 4
SERVERS = 10

pytestmark = pytest.mark.skipif(REFERENCE, reason="statements, 3.2")


def start(p, i):
    return subprocess.Popen(
        [sys.executable, os.path.join(HERE, "soak.py"), str(p.port),
         str(CLIENTS // WORKERS), str(SECONDS), str(SEED * 100 + i)],
        stdout=subprocess.PIPE, env=process_env(), text=True)


def watch(p, procs):
    """Resident memory, each time that a second has passed."""
    samples = []
    while any(w.poll() is None for w in procs):
        assert p.proc.poll() is None, p.log[-3000:]
        samples.append(p.rss())
        try:
            procs[-1].wait(1)
        except subprocess.TimeoutExpired:
            pass
    return samples


def collect(procs):
    total, wrong = {}, []
    for w in procs:
        out = json.loads(w.communicate()[0])
        wrong += out["wrong"]
        for k, v in out["done"].items():
            total[k] = total.get(k, 0) + v
    return total, wrong


def is_quiet(p):
    pool = p.pool()
    return pool["cl_active"] == pool["cl_waiting"] == pool["sv_active"] \
        == pool["sv_login"] == 0


def test_soak(pooler, pg):
    """no byte of another's, no lost reply, nothing left behind"""
    # regressions: PB#1422, PB#1519, Ody ea9fc2a9, Ody 496aaad0, Ody #421,
    #   PgDog#946, PgDog#863, PgDog#1247, Supavisor#595
    p = pooler({"p0": ""}, default_pool_size=SERVERS, query_wait_notify=0,
               max_prepared_statements=3, log_connections=0,
               log_disconnections=0, log_pooler_errors=0)
    procs = [start(p, i) for i in range(WORKERS)]
    try:
        samples = watch(p, procs)
    finally:
        for w in procs:
            if w.poll() is None:
                w.kill()
    done, wrong = collect(procs)
    assert not wrong, wrong[:3]
    wait_until(lambda: is_quiet(p), what="the pool to be quiet")
    pool, stats = p.pool(), p.stats()
    assert pool["sv_idle"] + pool["sv_used"] <= SERVERS
    assert len(p.servers()) <= SERVERS
    assert [c for c in p.show("clients", database="p0")] == []
    wait_until(lambda: len(pg.backends(where="usename = 'app'"))
               <= SERVERS)
    assert stats["total_client_login_count"] == done["logins"]
    # who waits for all answers has asked once; see soak.py
    assert done["flights"] <= stats["total_query_count"] <= done["ends"]
    assert stats["total_xact_count"] <= stats["total_query_count"]
    kinds = "simple pipeline prepared failed_batch copy_out copy_in cancel " \
        "long_result transaction setting portal call leave"
    assert all(done.get(k) for k in kinds.split()), done
    third = max(len(samples) // 3, 1)
    early, late = max(samples[:third]), max(samples[-third:])
    print("soak: %s; memory %d, then %d kB; %s" % (
        done, early // 1024, late // 1024, stats))
    # what the sanitizer keeps of freed memory grows to its own limit
    if not ASAN and SECONDS >= 60:
        assert late < early * 1.1 + (2 << 20), samples
