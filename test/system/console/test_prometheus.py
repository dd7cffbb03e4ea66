# test_prometheus.py - a real Prometheus, which scrapes and is asked.
# SPDX-License-Identifier: ISC
import glob
import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

import harness
from harness import REFERENCE, as_user, free_port, process_env, run, wait_until
from test_http import get, web  # noqa: F401

pytestmark = [
    pytest.mark.skipif(REFERENCE, reason="has none"),
    pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool")]

RULES = sorted(glob.glob(os.path.join(harness.ROOT, "etc/prometheus/*.yml")))
BOARD = os.path.join(harness.ROOT, "etc/grafana/pgsluice.json")
TESTS = sorted(glob.glob(os.path.join(harness.HERE, "prometheus/*.yml")))


def asked_by_dashboard():
    """Its queries, with what Grafana would put in for the variables."""
    board = json.loads(harness.read(BOARD))
    said = {"$job": "pgsluice", "$instance": ".*", "$database": ".*",
            "$__rate_interval": "1m"}
    found = [t["expr"] for p in board["panels"] for t in p.get("targets", [])]
    return [re.sub(r"\$\w+", lambda m: said[m[0]], e) for e in found]


class Prometheus:
    """One process, which scrapes often, and reads the sample rules."""

    def __init__(self, p):
        self.port, folder = free_port(), os.path.join(p.dir, "prometheus")
        config = p.put("prometheus.yml", json.dumps({
            "global": {"scrape_interval": "250ms",
                       "evaluation_interval": "250ms"},
            "rule_files": RULES,
            "scrape_configs": [{"job_name": "pgsluice", "static_configs": [
                {"targets": ["127.0.0.1:%d" % p.http]}]}]}))
        self.log = open(p.put("prometheus.log", ""), "w")
        self.proc = subprocess.Popen(
            ["prometheus", "--config.file=" + config,
             "--storage.tsdb.path=" + folder,
             "--web.listen-address=127.0.0.1:%d" % self.port],
            stdout=self.log, stderr=self.log, env=process_env(), **as_user())

    def stop(self):
        self.proc.kill()
        self.proc.wait()
        self.log.close()

    def get(self, path, **query):
        """None: it does not answer yet."""
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d/api/v1/%s?%s" % (
                    self.port, path, urllib.parse.urlencode(query))) as r:
                return json.load(r)["data"]
        except (urllib.error.URLError, ConnectionError):
            assert self.proc.poll() is None, harness.read(self.log.name)
            return None

    def ask(self, query):
        """{labels as sorted pairs: value}"""
        data = self.get("query", query=query) or {"result": []}
        return {tuple(sorted(r["metric"].items())): float(r["value"][1])
                for r in data["result"]}

    def value(self, query):
        """Of the only series; None: there is none."""
        seen = self.ask(query)
        assert len(seen) <= 1, seen
        return next(iter(seen.values()), None)


@pytest.mark.skipif(not shutil.which("prometheus"), reason="no prometheus")
def test_prometheus_has_what_pgbench_counted(web):
    """scraped, and asked by its API; each series is one by both families"""
    p = web(default_pool_size=2)
    script = p.put("script.sql", "begin;\nselect 1;\nselect 2;\ncommit;\n")
    prom = Prometheus(p)
    try:
        out = run([shutil.which("pgbench") or harness.pg_bin("pgbench"),
                   "-n", "-f", script, "-t", "50", "-c", "4", "-h",
                   "127.0.0.1", "-p", str(p.port), "-U", "app", "p0"])
        assert "processed: 200/200" in out.stdout, out
        at, pool = '{database="p0"}', '{database="p0", user="app"}'
        for name, n in (
                ("pgbouncer_stats_sql_transactions_pooled_total" + at, 200),
                ("pgbouncer_stats_queries_pooled_total" + at, 800),
                ("pgbouncer_stats_totals_sql_transactions_pooled_total" + at,
                 200),
                ("pgbouncer_stats_totals_queries_pooled_total" + at, 800),
                ("pgsluice_pool_transactions_total" + pool, 200),
                ("pgsluice_pool_queries_total" + pool, 800)):
            wait_until(lambda: prom.value(name) == n, what=name)
        target, = prom.get("targets")["activeTargets"]
        assert (target["health"], target["lastError"]) == ("up", "")
        # what it reads, and what of that is about the same thing
        assert prom.value("scrape_samples_scraped") == \
            prom.value("scrape_samples_post_metric_relabeling")
        groups = wait_until(lambda: (
            lambda g: all(r["health"] == "ok" for x in g for r in x["rules"])
            and g)(prom.get("rules")["groups"]), what="the rules")
        assert len(groups) == len(RULES) == 2
        assert prom.ask("ALERTS") == {}
        # what cannot be understood has no answer
        bad = [q for q in asked_by_dashboard()
               if prom.get("query", query=q) is None]
        assert not bad
    finally:
        prom.stop()


def test_alerts_come_when_they_should():
    """etc/prometheus, both families of names"""
    for args in (["check", "rules", *RULES], ["test", "rules", *TESTS]):
        out = run(["promtool", *args])
        assert out.returncode == 0, out.stdout + out.stderr


def test_alerts_are_about_what_there_is(web):
    p = web()
    p.raw().query("select 1")
    names = set(re.findall(r"^# TYPE (\S+)", get(p, "/metrics").body, re.M))
    texts = [harness.read(path).decode() for path in RULES]
    for text in texts + ["\n".join(asked_by_dashboard())]:
        asked = set(re.findall(r"\b(?:pgsluice|pgbouncer)_\w+(?=[{\s\[)])",
                               re.sub(r"#.*|database:\w+:\w+", "", text)))
        assert len(asked) >= 9 and asked <= names, asked - names
