# test_console_commands.py - every command by every role in every state of the
# pooler, under load; and what the commands of our own do.
# SPDX-License-Identifier: ISC
"""CVE-2026-6667: no command that changes something is open to a stats user."""
import os
import re
import threading

import pytest

import pq
from harness import REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

HALTED = "already suspended/paused"
# command: what an admin gets while running, paused, shutting down; a text with
# a blank or in lower case is an error. All of them need admin rights.
COMMANDS = [
    ("reload", "RELOAD", "RELOAD", "RELOAD"),
    ("set query_timeout = 0",) + ("SET query_timeout=0",) * 3,
    ("set persist query_timeout = 0",) + ("SET query_timeout=0",) * 3,
    ("log hello", "LOG", "LOG", "LOG"),
    ("forget user ann", "FORGET", "FORGET", "FORGET"),
    ("reconnect", "RECONNECT", "RECONNECT", "RECONNECT"),
    ("reconnect p1", "RECONNECT", "RECONNECT", "RECONNECT"),
    ("wait_close", "WAIT_CLOSE", "WAIT_CLOSE", "WAIT_CLOSE"),
    ("wait_close p1", "WAIT_CLOSE", "WAIT_CLOSE", "WAIT_CLOSE"),
    ("disable p1", "DISABLE", "DISABLE", "DISABLE"),
    ("enable p1", "ENABLE", "ENABLE", "ENABLE"),
    ("disable", "a database is required", "a database is required",
     "a database is required"),
    ("resume", "pooler is not paused/suspended", "RESUME",
     "pooler is shutting down"),
    ("resume p1",) + ("database p1 is not paused",) * 3,
    ("kill_client 999999999",) + ("client not found",) * 3,
    ("kill_server 999999999",) + ("server not found",) * 3,
    ("cancel_client 999999999",) + ("client not found",) * 3,
    ("pause p1", "PAUSE", HALTED, "PAUSE"),
    ("drain p1", "DRAIN", HALTED, "DRAIN"),
    ("kill p1", "KILL", HALTED, "KILL"),
    ("kill", "KILL", HALTED, "KILL"),
    ("drain", "DRAIN", HALTED, "DRAIN"),
    ("pause", "PAUSE", HALTED, HALTED),
]
STATES = ["running", "paused", "shutting down"]
OPEN = ["show pools", "show help", "show json lists", "set datestyle = x",
        "begin", "select 1"]


class Load:
    """Clients that work all the time, and come back when they are thrown
    out; they count what they have done."""

    def __init__(self, p, clients=3):
        self.p, self.stop, self.errors = p, threading.Event(), []
        self.counts = [0] * clients
        self.threads = [threading.Thread(target=self.run, args=(i,))
                        for i in range(clients)]
        for t in self.threads:
            t.start()

    def run(self, me):
        while not self.stop.is_set():
            try:
                # TCP is closed when the pooler shuts down
                with self.p.raw(unix=True, timeout=30) as c:
                    while not self.stop.is_set():
                        assert c.value("select %d" % me) == str(me)
                        self.counts[me] += 1
            except (pq.PgError, pq.Closed, OSError):
                if self.stop.wait(0.05):
                    return
            except Exception as e:  # reported by end()
                self.errors.append(repr(e))
                return

    def end(self):
        self.stop.set()
        for t in self.threads:
            t.join()
        assert self.errors == []


def enter(p, state):
    con = p.raw("admin", "pgbouncer", unix=True)
    if state == "paused":
        con.query("pause")
    elif state == "shutting down":
        con.query("shutdown wait_for_clients")
    return con


def restore(p, con, state):
    """After a command: back to the state, with no database paused."""
    for db in ("p0", "p1"):
        con.try_query("resume " + db)
    con.query("enable p1")
    paused = p.show("state", key="paused")[0]["value"] == "yes" \
        if state != "shutting down" else None
    if state == "paused" and not paused:
        con.query("pause")
    elif state == "running" and paused:
        con.query("resume")


@pytest.mark.parametrize("state", range(3), ids=STATES)
def test_admins_may_all(pooler, state):
    """admin-console.md 3, 4: tags and errors"""
    p = pooler(default_pool_size=2)
    load = Load(p)
    try:
        wait_until(lambda: min(load.counts) > 3)
        con = enter(p, STATES[state])
        for row in COMMANDS:
            res = con.try_query(row[0])
            want = row[1 + state]
            if want[0].isupper():
                assert (row[0], res.tags, res.errors) == (row[0], [want], [])
            else:
                assert [e.message for e in res.errors] == [want], row[0]
                assert (res.errors[0].severity, res.errors[0].code) == (
                    "ERROR", "08P01")
            assert res.status == "I" and res.kinds[-1] == "Z"
            if not want[0].isupper() or state == 2:
                continue
            restore(p, con, STATES[state])
        if state == 0:
            n = list(load.counts)
            wait_until(lambda: all(a > b for a, b in zip(load.counts, n)))
        if state == 1:
            con.query("resume")
    finally:
        load.stop.set()
        if state == 2:
            # it ends when the last is gone
            p.expect_exit = 0
        load.end()


# While suspended nobody can log in, and nothing else happens either.
SUSPENDED = {
    "reload": "RELOAD", "set query_timeout = 0": "SET query_timeout=0",
    "set persist query_timeout = 0": "SET query_timeout=0",
    "log hello": "LOG", "reconnect": "RECONNECT", "reconnect p1": "RECONNECT",
    "disable p1": "DISABLE", "enable p1": "ENABLE",
    "resume p1": "database p1 is not paused",
    "kill_client 999999999": "client not found",
    "kill_server 999999999": "server not found",
    "cancel_client 999999999": "client not found",
    "pause": HALTED, "pause p1": HALTED, "drain": HALTED, "drain p1": HALTED,
    "kill": HALTED, "kill p1": HALTED, "suspend": HALTED,
    "show state": "SHOW", "show pools": "SHOW", "resume": "RESUME",
}


def test_everybody_while_suspended(pooler):
    """admin-console.md 4.8: what works, for whom, and life goes on after"""
    p = pooler(default_pool_size=2)
    load = Load(p)
    try:
        wait_until(lambda: min(load.counts) > 3)
        con, s = p.raw("admin", "pgbouncer"), p.raw("stats", "pgbouncer")
        assert con.query("suspend").tags == ["SUSPEND"]
        n = list(load.counts)
        for cmd, want in SUSPENDED.items():
            denied = not cmd.startswith("show")
            res = s.try_query(cmd)
            assert [e.message for e in res.errors] == [
                "admin access needed"] * denied, cmd
            res = con.try_query(cmd)
            assert res.tags + [e.message for e in res.errors] == [want], cmd
            if cmd != "resume":
                # what was asked before it may still be answered
                assert all(a <= b + 1 for a, b in zip(load.counts, n)), cmd
        wait_until(lambda: all(a > b + 1 for a, b in zip(load.counts, n)))
    finally:
        load.end()


@pytest.mark.parametrize("state", range(3), ids=STATES)
def test_stats_users_may_only_look(pooler, state):
    """CVE-2026-6667: every command x role x state; nothing happens"""
    p = pooler(default_pool_size=2)
    load = Load(p)
    try:
        wait_until(lambda: min(load.counts) > 3)
        con = enter(p, STATES[state])
        s = p.raw("stats", "pgbouncer", unix=True)
        log = len(p.log)
        for row in COMMANDS + [("shutdown",), ("shutdown wait_for_clients",),
                               ("shutdown wait_for_servers",)]:
            res = s.try_query(row[0])
            assert [e.message for e in res.errors] == [
                "admin access needed"], row[0]
            assert (res.errors[0].code, res.status) == ("08P01", "I")
        for cmd in OPEN:
            assert s.query(cmd).errors == [], cmd
        assert "command issued" not in p.log[log:]
        assert not os.path.exists(p.ini + ".persist.ini")
        # and who is neither may not even come in
        c = p.open(unix=True).login("app", database="pgbouncer", wait=False)
        assert c.recv_all().errors[-1].message == "not allowed"
        if state != 1:
            n = list(load.counts)
            wait_until(lambda: all(a > b for a, b in zip(load.counts, n)))
        else:
            con.query("resume")
    finally:
        load.end()


def test_drain_lets_transactions_end(pooler):
    """servers go at the end of their transaction, clients wait"""
    p = pooler(default_pool_size=2)
    a, b, con = p.raw(), p.raw(), p.console()
    a.query("begin")
    pid = a.value("select pg_backend_pid()")
    b.query("select 1")
    assert con.query("drain p0").tags == ["DRAIN"]
    p.wait_pool(sv_idle=0, sv_active=1)
    assert p.servers()[0]["close_needed"] == "1"
    b.send(pq.query("select 'b'"))
    p.wait_pool(cl_waiting=1)
    assert p.pool()["wait_reason"] == "paused"
    # it can be waited for
    con.send(pq.query("wait_close p0"))
    assert a.value("select pg_backend_pid()") == pid
    assert not con.readable()
    a.query("commit")
    assert con.recv_until().tags == ["WAIT_CLOSE"]
    assert p.servers() == []
    a.send(pq.query("select 'a'"))
    p.wait_pool(cl_waiting=2)
    assert con.query("resume p0").tags == ["RESUME"]
    assert a.recv_until().rows == [["a"]]
    assert b.recv_until().rows == [["b"]]


def test_drain_of_all(pooler):
    p = pooler()
    a, b, con = p.raw(), p.raw(database="p1"), p.console()
    a.query("select 1")
    b.query("begin")
    assert con.query("drain").tags == ["DRAIN"]
    assert con.try_query("drain p0").errors[0].message == HALTED
    a.send(pq.query("select 'a'"))
    p.wait_pool(cl_waiting=1)
    b.query("commit")
    p.wait_pool("p1", sv_active=0, sv_idle=0)
    con.query("resume")
    assert a.recv_until().rows == [["a"]]


def test_kill_server(pooler):
    """its client is told; who waits gets another"""
    p = pooler(default_pool_size=1)
    a, b, con = p.raw(), p.raw(), p.console()
    a.query("begin")
    pid = a.value("select pg_backend_pid()")
    b.send(pq.query("select pg_backend_pid()"))
    p.wait_pool(cl_waiting=1)
    sv = p.servers()[0]
    assert con.query("kill_server " + sv["id"]).tags == ["KILL_SERVER"]
    err = a.recv_all().errors[0]
    assert (err.severity, err.message) == ("FATAL",
                                           "admin forced disconnect")
    assert b.recv_until().rows[0][0] != pid
    new = p.servers()[0]
    assert new["id"] != sv["id"] and new["state"] == "idle"
    con.query("kill_server " + new["id"])
    assert p.servers() == []
    for arg, text in ((new["id"], "server not found"),
                      ("x", "invalid server pointer supplied"),
                      ("", "invalid server pointer supplied"),
                      ("99999999999999", "server not found")):
        res = con.try_query("kill_server " + arg)
        assert res.errors[0].message == text


def client_id(p, c):
    return p.show("clients", port=str(c.sock.getsockname()[1]))[0]["id"]


def test_cancel_client(pooler):
    """the query ends as if its client had asked for it, nothing else does"""
    p = pooler(default_pool_size=1)
    a, b, con = p.raw(), p.raw(), p.console()
    ids = client_id(p, a), client_id(p, b)
    a.send(pq.query("select pg_sleep(100)"))
    p.wait_pool(sv_active=1)
    b.send(pq.query("select 'b'"))
    p.wait_pool(cl_waiting=1)
    # the one that waits
    assert con.query("cancel_client " + ids[1]).tags == ["CANCEL_CLIENT"]
    assert b.recv_until().errors[0].code == "57014"
    # and the one that runs: perhaps the server has not begun yet
    def gone():
        if not a.readable(0.2):
            con.try_query("cancel_client " + ids[0])
        return a.readable()
    wait_until(gone)
    res = a.recv_until()
    assert res.errors[0].code == "57014" and res.status == "I"
    wait_until(lambda: p.pool()["sv_being_canceled"] == 0
               and p.pool()["sv_active_cancel"] == 0)
    assert a.value("select 'a'") == "a" and b.value("select 'b'") == "b"
    for i in ids:
        assert con.try_query("cancel_client " + i).errors[0].message == \
            "client runs no query that could be canceled"
    me = p.show("clients", database="pgbouncer")
    assert con.try_query("cancel_client " + me[0]["id"]).errors[0].message \
        == "client is a console: KILL_CLIENT ends it"


def test_log(pooler):
    """a line of the operator's own; nothing can be forged with it"""
    p = pooler()
    con = p.console()
    assert con.query("log Migration 7 begins; at last ;").tags == ["LOG"]
    con.query("log 'it''s'\n")
    con.query("LOG a\n2026-01-01 00:00:00.000 UTC [1] FATAL b")
    p.wait_log(r"LOG C-0x\w+: pgbouncer/admin@[^ ]+ "
               r"Migration 7 begins; at last\n")
    p.wait_log(r"pgbouncer/admin@[^ ]+ it's\n")
    assert "\n2026-01-01" not in p.log and "\n\t2026-01-01" in p.log
    assert con.try_query("log " + "x" * 256).errors[0].message == \
        "bad arguments"


def test_set_persist(pooler):
    """it survives RELOAD and a restart; plain SET does not"""
    p = pooler(default_pool_size=5)
    kept = p.ini + ".persist.ini"
    con = p.console()

    def sizes():
        by = {r["key"]: r["value"] for r in p.admin("show config")}
        return by["default_pool_size"], by["reserve_pool_size"]
    con.query("set reserve_pool_size = 3")
    res = con.query("SET PERSIST default_pool_size = 9;")
    assert res.tags == ["SET default_pool_size=9"]
    assert sizes() == ("9", "3")
    con.query("reload")
    assert sizes() == ("9", "0")
    con.query("set persist default_pool_size to '8'")
    with open(kept) as f:
        text = f.read()
    assert text.endswith("; default_pool_size was set by admin\n"
                         "default_pool_size = 8\n")
    assert os.stat(kept).st_mode & 0o7777 & ~0o640 == 0
    assert text.count("default_pool_size = ") == 1
    assert os.listdir(p.dir).count("pooler.ini.persist.ini.new") == 0
    for cmd, code in (("set persist default_pool_size = 'many'", "22023"),
                      ("set persist no_such = 1", None),
                      ("set persist logfile = 'a\nb = c'", "22023")):
        res = con.try_query(cmd)
        assert res.errors and res.errors[0].code in (code, "22023", "08P01")
    with open(kept) as f:
        assert f.read() == text
    s = p.console("stats")
    assert s.try_query("set persist default_pool_size = 1").errors[0] \
        .message == "admin access needed"
    con.query("reload")
    assert sizes() == ("8", "0")
    # again from the start
    p.signal(3)
    assert p.wait_exit() == 0
    p.launch()
    wait_until(lambda: p.log.count("process up: ") == 2)
    assert sizes() == ("8", "0")
    # what it says can be taken back by hand
    os.remove(kept)
    p.admin("reload")
    assert sizes() == ("5", "0")


def test_set_persist_keeps_nothing_of_the_value_before(pooler):
    """not its line feeds, which were lines of the file, and no secret"""
    p = pooler()
    kept = p.ini + ".persist.ini"
    con = p.console()
    con.query("set login_notify_message = 'a\nlogfile = /x\n[users]'")
    con.query("set persist login_notify_message = 'b'")
    with open(kept) as f:
        assert f.read().splitlines()[1:] == [
            "; login_notify_message was set by admin",
            "login_notify_message = b"]
    con.query("set persist auth_query = 'select hunter2'")
    con.query("set persist auth_query = 'select 1'")
    with open(kept) as f:
        assert "hunter2" not in f.read()
    con.query("reload")
    assert p.show("config", key="login_notify_message")[0]["value"] == "b"
    assert p.show("config", key="logfile")[0]["value"] != "/x"


def test_persisted_value_says_that_it_overrides(pooler):
    """who edits the main file later is told why nothing changes"""
    p = pooler(default_pool_size=5)
    p.admin("set persist default_pool_size = 9")
    p.admin("reload")
    p.wait_log(r"LOG default_pool_size is set by \S+\.persist\.ini:3, which "
               "overrides the main file")


@pytest.mark.setting("console_locked_settings")
def test_locked_settings(pooler):
    """neither SET, nor what SET PERSIST kept, nor the lock itself"""
    p = pooler(default_pool_size=5)
    con = p.console()
    con.query("set persist default_pool_size = 9")
    p.settings.update(default_pool_size=6, console_locked_settings=
                      "auth_*, logfile default_pool_*")
    p.reload()
    p.wait_log("WARNING default_pool_size is locked by "
               "console_locked_settings: ")
    shown = {r["key"]: r for r in p.admin("show config")}
    assert shown["default_pool_size"]["value"] == "6"
    for key, value in (("auth_type", "any"), ("logfile", "x"),
                       ("console_locked_settings", ""),
                       ("default_pool_size", "7")):
        assert shown[key]["changeable"] == "no"
        for cmd in "set %s = '%s'", "set persist %s = '%s'":
            err = con.try_query(cmd % (key, value)).errors[0]
            assert err.code == "42501"
            assert "%s can't be changed from the console" % key in (
                err.message + (err.fields.get("D") or ""))
    assert shown["reserve_pool_size"]["changeable"] == "yes"
    con.query("set reserve_pool_size = 1")
    p.settings["console_locked_settings"] = "auht_*"
    p.write()
    res = con.try_query("reload")
    assert 'no setting is called "auht_*"' in res.errors[0].fields["D"]


def test_set_persist_that_cannot_be_written_changes_nothing(pooler):
    p = pooler(default_pool_size=5)
    os.mkdir(p.ini + ".persist.ini.new")
    res = p.console().try_query("set persist default_pool_size = 9")
    assert res.errors[0].code == "58030"
    assert "could not write" in res.errors[0].message
    assert p.show("config", key="default_pool_size")[0]["value"] == "5"


@pytest.mark.parametrize("key,value,why", [
    ("auth_file", "/nonexistent", "could not open auth_file /nonexistent"),
    ("client_tls_sslmode", "require", "client_tls_key_file"),
    ("server_tls_ca_file", "/nonexistent", "/nonexistent"),
    ("auth_type", "cert", "auth_type=cert requires"),
    ("auth_type", "hba", "hba"),
    ("conffile", "/nonexistent", 'could not load file "/nonexistent"'),
])
def test_set_persist_refuses_what_no_reload_could_take(pooler, key, value,
                                                       why):
    """admin-console.md 4.11: with the reason; nothing is written"""
    p = pooler(server_tls_sslmode="verify-ca"
               if key.startswith("server") else "disable")
    before = p.show("config", key=key)[0]["value"]
    con = p.console()
    err = con.try_query("set persist %s = '%s'" % (key, value)).errors[0]
    assert err.code in ("22023", "F0000")
    assert why in err.message + (err.fields.get("D") or "")
    assert not os.path.exists(p.ini + ".persist.ini")
    assert p.show("config", key=key)[0]["value"] == before
    # the next one counts, and so does a reload
    assert con.query("set persist query_timeout = 77").tags == [
        "SET query_timeout=77"]
    assert con.query("reload").tags == ["RELOAD"]
    assert p.show("config", key="query_timeout")[0]["value"] == "77"


def test_set_persist_takes_its_turn(pooler):
    """each is answered, also while a reload is under way"""
    p = pooler()
    cons = [p.console() for _ in range(12)]
    for i, con in enumerate(cons):
        con.send(pq.query("reload" if i % 4 == 3 else
                          "set persist %s = %d" % (
                              ("query_timeout", "query_wait_timeout",
                               "server_lifetime")[i % 4], 70 + i)))
    for i, con in enumerate(cons):
        res = con.recv_until()
        assert not res.errors and len(res.tags) == 1
    p.admin("reload")
    for i, key in enumerate(("query_timeout", "query_wait_timeout",
                             "server_lifetime")):
        assert p.show("config", key=key)[0]["value"] in [
            str(70 + n) for n in (i, i + 4, i + 8)]


def test_set_persist_whose_console_leaves(pooler):
    """what was asked for is done, and those behind it are answered"""
    p = pooler()
    a, b = p.console(), p.console()
    a.send(pq.query("set persist query_timeout = 71"))
    a.close(polite=False)
    assert b.query("set persist query_wait_timeout = 72").tags == [
        "SET query_wait_timeout=72"]
    assert p.raw().value("select 1") == "1"


def test_wait_close_and_pause_are_answered_each_by_its_own(pooler):
    """admin-console.md 4.7 [Q]: waiters are not mixed"""
    p = pooler(default_pool_size=2)
    a, b = p.raw(), p.raw(database="p1")
    a.query("begin")
    b.query("begin")
    close, pause, one = p.console(), p.console(), p.console()
    p.admin("reconnect p0")
    close.send(pq.query("wait_close p0"))
    wait_until(lambda: "WAIT_CLOSE 'p0' command issued" in p.log)
    one.send(pq.query("pause p1"))
    wait_until(lambda: "PAUSE 'p1' command issued" in p.log)
    pause.send(pq.query("pause"))
    wait_until(lambda: "PAUSE command issued" in p.log)
    assert not any(c.readable() for c in (close, pause, one))
    b.query("commit")
    assert one.recv_until().tags == ["PAUSE"]
    assert not close.readable() and not pause.readable()
    a.query("commit")
    assert close.recv_until().tags == ["WAIT_CLOSE"]
    assert pause.recv_until().tags == ["PAUSE"]


def test_resume_all_undoes_every_pause(pooler):
    """admin-console.md 4.2: also of single databases, and of hosts"""
    p = pooler()
    state = {r["key"]: r["value"] for r in p.admin("show state")}
    assert (state["active"], state["paused"]) == ("yes", "no")
    with p.console() as c:
        c.query("kill p1")
        assert {r["key"]: r["value"] for r in c.query("show state").dicts}[
            "active"] == "yes"
        for db in p.dbs:
            c.try_query("pause " + db)
        c.query("drain host nowhere")
        state = {r["key"]: r["value"] for r in c.query("show state").dicts}
        assert (state["active"], state["paused"]) == ("no", "yes")
        c.query("resume all")
        state = {r["key"]: r["value"] for r in c.query("show state").dicts}
        assert (state["active"], state["paused"]) == ("yes", "no")
        assert "drained" not in state
        assert p.raw(database="p1").value("select 1") == "1"
        with pytest.raises(pq.PgError) as e:
            c.query("resume all")
        assert e.value.message == "pooler is not paused/suspended"
        c.query("pause")
        c.query("resume all")
        assert p.raw(database="p0").value("select 1") == "1"


def test_resume_all_of_a_database_of_that_name_means_it(pooler):
    p = pooler({"all": "dbname=p0", "p0": ""})
    with p.console() as c:
        c.query("pause all")
        c.query("pause p0")
        c.query("resume all")
        assert {r["name"]: r["paused"] for r in p.admin("show databases")
                if r["name"] in ("all", "p0")} == {"all": "0", "p0": "1"}


def test_resume_names_what_stands_still_by_name(pooler):
    """admin-console.md 4.2: RESUME of nothing, after KILL or PAUSE of one"""
    p = pooler()
    with p.console() as c:
        c.query("kill p1")
        c.query("pause p0")
        with pytest.raises(pq.PgError) as e:
            c.query("resume")
        assert e.value.message == "pooler is not paused/suspended"
        assert re.fullmatch(r"Paused or killed by name: (p0, p1|p1, p0); "
                            r"use RESUME <database> or RESUME ALL\.",
                            e.value.fields["D"])
        c.query("resume p1")
        c.query("resume p0")
        with pytest.raises(pq.PgError) as e:
            c.query("resume")
        assert "D" not in e.value.fields
