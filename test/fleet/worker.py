# worker.py - clients of the fleet: run as another user, in their own namespace.
# SPDX-License-Identifier: ISC
import collections
import json
import sys
import threading
import time

import psycopg

HOST, PORT = sys.argv[1:3]
WHERE = ("host=%s port=%s user=app password=secret dbname=%%s "
         "connect_timeout=5" % (HOST, PORT))


class Client:
    """A connection that is made again when it is lost, like a pool's."""

    def __init__(self):
        self.conn = None

    def transaction(self):
        """Run one; returns "failed" when it was lost after it had begun."""
        if self.conn is None:
            self.conn = psycopg.connect(WHERE % "shop", autocommit=True)
        began = False
        try:
            with self.conn.transaction():
                self.conn.execute("select 1")
                began = True
                self.conn.execute("select pg_sleep(0.005)")
        except psycopg.Error:
            self.conn.close()
            self.conn = None
            if began:
                raise
            return "reconnects"
        return "transactions"


def work(end, seen, lock):
    client = Client()
    last = time.monotonic()
    while time.monotonic() < end:
        why = None
        try:
            what = client.transaction()
        except psycopg.Error as e:
            what, why = "failed", str(e).split("\n", maxsplit=1)[0]
        now = time.monotonic()
        with lock:
            seen[what] += 1
            if why is not None:
                seen["errors"][why] += 1
            if what == "transactions":
                seen["longest_ms"] = max(seen["longest_ms"],
                                         round(1000 * (now - last)))
        if what == "transactions":
            last = now


def load(workers, seconds):
    seen = {"transactions": 0, "failed": 0, "reconnects": 0, "longest_ms": 0,
            "errors": collections.Counter()}
    lock = threading.Lock()
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=work, args=(end, seen, lock))
               for _ in range(workers)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return seen


def cancel(count):
    """Cancel requests go through the balancer too, to whichever host."""
    hit = 0
    with psycopg.connect(WHERE % "shop", autocommit=True) as conn:
        for _ in range(count):
            timer = threading.Timer(0.05, conn.cancel)
            timer.start()
            try:
                conn.execute("select pg_sleep(5)")
            except psycopg.errors.QueryCanceled:
                hit += 1
            timer.join()
    with psycopg.connect(WHERE % "pgbouncer", autocommit=True,
                         prepare_threshold=None) as conn:
        rows = conn.execute("show clients").fetchall()
        names = [c.name for c in conn.execute("show clients").description]
    return {"hit": hit, "sent": count,
            "address": rows[-1][names.index("addr")]}


if sys.argv[3] == "cancel":
    print(json.dumps(cancel(int(sys.argv[4]))))
else:
    print(json.dumps(load(int(sys.argv[3]), float(sys.argv[4]))))
