# test_auth.py - who gets in and who does not: all methods, and closed holes.
# SPDX-License-Identifier: ISC
"""`pytest -s -k matrix` prints what each method makes of each secret."""
import os
import struct
import time

import psycopg
import pytest

import pq
from harness import PASSWORDS, REFERENCE, code_of, process_env, wait_until
from test_login import refused, refused_bytes

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

PW = "s3cret 'é"
METHODS = ["trust", "plain", "md5", "scram-sha-256"]
WRONG = "password authentication failed"
SASL = "SASL authentication failed"


# --- the matrix -----------------------------------------------------------

def secrets():
    return {"plain": PW, "md5": pq.md5_secret("k_md5", PW),
            "scram": pq.scram_secret(PW), "none": ""}


def expected(method, kind, given):
    """What the client is told; "" = it is let in."""
    if method == "trust":
        return '"trust" authentication failed' if kind == "unknown" else ""
    if given == "empty" and method == "plain":
        return "empty password returned by client"
    scram = method == "scram-sha-256" or (method, kind) == ("md5", "scram")
    good = {"plain": ("plain", "md5", "scram"),
            "md5": ("plain", "md5", "scram"),
            "scram-sha-256": ("plain", "scram")}[method]
    if given == "right" and kind in good:
        return ""
    return SASL if scram else WRONG


def raw_login(p, certs, user, password, tls):
    with p.open() as c:
        if tls:
            c.start_tls(certs.client_context())
        try:
            return "" if c.login(user, password, "p0").value(
                "select 1") == "1" else "?"
        except pq.PgError as e:
            assert (e.severity, e.code) == ("FATAL", code_of(e.message))
            return e.message


def message_of(told):
    """What libpq tells of an error is more: hosts that were tried, the hint."""
    return told.split("FATAL:  ")[-1].splitlines()[0].strip()


def psycopg_login(p, certs, user, password, tls):
    try:
        with psycopg.connect(
                host="127.0.0.1", port=p.port, user=user, dbname="p0",
                password=password, sslmode="require" if tls else "disable",
                sslrootcert=certs.crt("ca"), gssencmode="disable") as c:
            return "" if c.execute("select 1").fetchone() == (1,) else "?"
    except psycopg.OperationalError as e:
        return message_of(str(e))


def psql_login(p, certs, user, password, tls):
    import subprocess
    out = subprocess.run(
        ["psql", "-XAtw", "host=127.0.0.1 port=%d user=%s dbname=p0 "
         "sslmode=%s gssencmode=disable" % (
             p.port, user, "require" if tls else "disable"),
         "-c", "select 1"], env=dict(process_env(), PGPASSWORD=password),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=60)
    if out.returncode == 0:
        return "" if out.stdout == "1\n" else "?"
    return message_of(out.stderr)


CLIENTS = {"raw": raw_login, "psycopg": psycopg_login, "psql": psql_login}
GIVEN = {"right": PW, "wrong": "wrong", "empty": ""}


@pytest.mark.setting("auth_type")
@pytest.mark.parametrize("method", METHODS)
def test_matrix_of_methods_and_secrets(pooler, certs, method):
    """authentication.md 3: method x stored secret x password x TLS x client;
    PgP CVE-2025-46801: no combination lets a stranger in"""
    # regressions: CVE-2025-46801
    stored = secrets()
    p = pooler({"p0": "user=app"}, {"k_" + k: s for k, s in stored.items()},
               auth_type=method, **certs.accept("prefer"))
    lines = []
    for kind in list(stored) + ["unknown"]:
        cells = []
        for given, password in GIVEN.items():
            want = expected(method, kind, given)
            for name, login in CLIENTS.items():
                # libpq sends no empty password
                if given == "empty" and name != "raw":
                    continue
                if name == "psql" and given == "wrong" and kind == "none":
                    continue
                for tls in (False, True):
                    got = login(p, certs, "k_" + kind, password, tls)
                    assert got == want, (kind, given, name, tls)
            cells.append("refused" if want else "let in")
        lines.append("| %-13s | %-7s | %s |" % (
            method, kind, " | ".join("%-7s" % c for c in cells)))
    print("\n| method        | stored  | right   | wrong   | empty   |\n"
          "|---|---|---|---|---|\n" + "\n".join(lines))


# --- mock authentication --------------------------------------------------

def shape(data, code):
    """A message of an exchange without what is random in it."""
    kind, body = data
    if kind != "R" or code != 11:
        return kind, len(body), body[:4]
    fields = dict(f.split(b"=", 1) for f in body[4:].split(b","))
    return kind, sorted((k, len(v)) for k, v in fields.items()), fields[b"i"]


def dialogue(p, user, password, db="p0"):
    """The shapes of all that the pooler says to a login that fails."""
    c = p.open().login(user, database=db, wait=False)
    out, s = [], None
    while True:
        data = c.recv()
        code = struct.unpack("!i", data[1][:4])[0]
        out.append(shape(data, code))
        if data[0] == "E":
            assert c.at_eof()
            return out + [data[1]]
        if code == 3:
            c.send(pq.password(password))
        elif code == 5:
            c.send(pq.password(pq.md5_password(user, password, data[1][4:])))
        elif code == 10:
            s = pq.ScramClient(password)
            c.send(pq.msg("p", pq.cstr("SCRAM-SHA-256") + s.first()))
        elif code == 11:
            c.send(pq.msg("p", s.reply(data[1][4:])))


@pytest.mark.parametrize("method", METHODS[1:])
def test_unknown_user_sees_what_a_known_one_sees(pooler, method):
    """authentication.md 7: message by message"""
    stored = secrets()
    if method == "md5":
        del stored["scram"]	# is asked for SCRAM, which tells (section 3)
    p = pooler({"p0": "user=app"}, {"k_" + k: s for k, s in stored.items()},
               auth_type=method)
    want = dialogue(p, "ghost", "wrong")
    for kind in stored:
        for _ in range(2):
            assert dialogue(p, "k_" + kind, "wrong") == want, kind
    assert dialogue(p, "ghost", "wrong", "nodb") == want
    assert dialogue(p, "k_plain", "wrong", "nodb") == want


def time_of_refusal(p, user):
    with p.open() as c:
        begin = time.perf_counter()
        with pytest.raises(pq.PgError):
            c.login(user, "wrong", "p0")
        return time.perf_counter() - begin


@pytest.mark.parametrize("method,kind", [
    ("plain", "plain"), ("plain", "md5"), ("plain", "scram"),
    ("md5", "plain"), ("md5", "md5"), ("scram-sha-256", "plain"),
    ("scram-sha-256", "scram")])
def test_unknown_user_takes_as_long_as_a_known_one(pooler, method, kind):
    """authentication.md 7; Supavisor c9499446, PgDog #1032: no telling by
    time. A derivation takes milliseconds, the rest of a login much less."""
    # regressions: PgDog#1032, Supavisor c9499446
    p = pooler({"p0": "user=app"}, {"known": secrets()[kind]
                                    if kind != "md5" else
                                    pq.md5_secret("known", PW)},
               auth_type=method, scram_iterations=40000 if kind != "scram"
               else None)
    time_of_refusal(p, "known")
    times = {"known": [], "ghost": []}
    # whatever else happens on the machine only adds to a time: the least is
    # what the login itself takes
    for n in range(200):
        for user in times:
            times[user].append(time_of_refusal(p, user))
        known, ghost = map(min, times.values())
        if n >= 8 and abs(known - ghost) < 0.25 * max(known, ghost):
            return
    raise AssertionError("times differ: %r" % ((known, ghost),))


# --- closed holes ---------------------------------------------------------

@pytest.mark.parametrize("method", ["trust", "plain", "md5",
                                    "scram-sha-256"])
def test_user_removed_from_the_file_is_unknown(pooler, method):
    """authentication.md 2: not by a verifier that was derived before, nor
    with an empty password, nor by trust"""
    # regressions: PB verifier of a removed user
    p = pooler({"p0": "user=app2"}, {"app": "x", "admin": "y"},
               auth_type=method)
    p.raw("app", password="x").value("select 1")
    del p.userlist["app"]
    p.reload()
    text = {"trust": '"trust" authentication failed',
            "scram-sha-256": SASL}.get(method, WRONG)
    assert refused(p.open(), user="app", password_="x",
                   database="p0") == text
    if method == "scram-sha-256":
        assert refused(p.open(), user="app", password_="",
                       database="p0") == SASL
    assert "no such user: app\n" in p.log


def test_changed_secret_counts_at_once(pooler):
    """authentication.md 3.2: verifiers until the file is read again"""
    p = pooler({"p0": "user=app2"}, {"app": "x", "admin": "y"},
               auth_type="scram-sha-256")
    p.raw("app", password="x").close()
    p.userlist["app"] = "z"
    p.reload()
    assert refused(p.open(), user="app", password_="x",
                   database="p0") == SASL
    p.raw("app", password="z").close()


def test_keys_of_a_client_stay_away_from_the_forced_user(pooler, pg):
    """authentication.md 3.3: pass-through keys only without user="""
    # regressions: PB keys of a forced user
    other = pq.scram_secret("another")
    p = pooler({"p0": "user=u_scram password=pw_three", "p1": "user=u_scram"},
               {"app": other, "u_scram": "pw_three", "admin": "y"},
               auth_type="scram-sha-256", admin_users="admin")
    for db in ("p0", "p1"):
        for _ in range(3):
            c = p.raw("app", db, "another")
            assert c.value("select current_user") == "u_scram"
            # the next needs a new connection
            pg.terminate(int(c.value("select pg_backend_pid()")))
            wait_until(lambda: not p.servers(db))
    assert p.raw("u_scram", "p1", "pw_three").value(
        "select current_user") == "u_scram"


@pytest.mark.parametrize("method", ["plain", "md5", "scram-sha-256"])
@pytest.mark.parametrize("user", ["admin", "stats"])
def test_console_wants_the_right_password(pooler, method, user):
    """PgDog #1053: the admin database accepted any"""
    # regressions: PgDog#1053
    p = pooler(auth_type=method)
    for password in ("wrong", p.userlist["app"]):
        assert "authentication failed" in refused(
            p.open(), user=user, password_=password, database="pgbouncer")
    assert refused(p.open(), user="app", password_="apppw",
                   database="pgbouncer") == "not allowed"
    assert p.raw(user, "pgbouncer", p.userlist[user]).query(
        "show version").rows


@pytest.mark.parametrize("size", [65536, 1 << 20, 0x7fffffff])
@pytest.mark.parametrize("method", ["plain", "md5", "scram-sha-256"])
def test_message_before_login_is_bounded(pooler, method, size):
    """authentication.md 1: 65535; PB#1215, pgagroal #942"""
    # regressions: PB#1215
    c = pooler(auth_type=method).open().login("app", database="p0",
                                              wait=False)
    c.recv()
    head = b"p" + struct.pack("!I", size)
    assert refused_bytes(c, head + b"x" * 3) == \
        "bad packet header: '%s'" % (head + b"x" * 3).hex()


@pytest.mark.parametrize("size", [10001, 65535, 65536, 1 << 20])
def test_startup_is_bounded(pooler, size):
    """authentication.md 1; PB#1058, PB#1407"""
    c = pooler().open()
    data = struct.pack("!II", size, pq.V3_0)
    assert refused_bytes(c, data) == "bad packet header: '%s'" % data.hex()


@pytest.mark.parametrize("method", ["plain", "scram-sha-256"])
def test_longest_password_is_accepted(pooler, method):
    """PB#1520, pgagroal #942: larger than pkt_buf"""
    # regressions: PB#1215, pgagroal#942
    text = "p" * 65530
    p = pooler({"p0": "user=app2"}, {"app": text}, auth_type=method)
    assert p.raw("app", password=text).value("select 1") == "1"
    assert "authentication failed" in refused(
        p.open(), user="app", password_=text[:-1] + "q", database="p0")


@pytest.mark.setting("client_login_timeout")
@pytest.mark.parametrize("method", ["plain", "md5", "scram-sha-256"])
def test_slow_message_meets_the_login_timeout(pooler, method):
    """pooling.md 12: a byte now and then does not help"""
    p = pooler(auth_type=method, client_login_timeout=1)
    c = p.open().login("app", database="p0", wait=False)
    c.recv()
    c.send(b"p" + struct.pack("!I", 65535))
    begin = time.monotonic()
    while time.monotonic() - begin < 30 and not c.readable(0.1):
        c.send(b"x")
    assert c.recv_all().errors[0].message == "client_login_timeout"


def test_startup_split_at_every_byte(pooler):
    """PB#1058; bugs of others, family 1"""
    p = pooler(auth_type="trust")
    data = pq.startup({"user": "app", "database": "p0",
                       "application_name": "x"})
    for at in range(1, len(data)):
        c = p.open()
        c.send(data[:at])
        c.send(data[at:])
        c.finish_login("app")
        c.close()


@pytest.mark.parametrize("method", ["plain", "md5", "scram-sha-256"])
def test_password_messages_split_at_every_byte(pooler, method):
    """pgagroal #834: a SCRAM message in several segments"""
    # regressions: pgagroal#834
    p = pooler({"p0": "user=app"}, {"app": "pw"}, auth_type=method)

    def answer(c, body, s):
        code = struct.unpack("!i", body[:4])[0]
        if code == 3:
            return pq.password("pw")
        if code == 5:
            return pq.password(pq.md5_password("app", "pw", body[4:]))
        if code == 10:
            return pq.msg("p", pq.cstr("SCRAM-SHA-256") + s.first())
        return pq.msg("p", s.reply(body[4:]))
    step = 1 if method != "scram-sha-256" else 3
    for at in range(1, 130, step):
        c = p.open().login("app", database="p0", wait=False)
        s = pq.ScramClient("pw")
        longest = 0
        while True:
            kind, body = c.recv()
            assert kind == "R", pq.fields(body)
            code = struct.unpack("!i", body[:4])[0]
            if code == 0:
                break
            if code == 12:
                s.final(body[4:])
                continue
            data = answer(c, body, s)
            longest = max(longest, len(data))
            c.send(data[:at])
            c.send(data[at:])
        c.close()
        if at > longest:
            break


@pytest.mark.parametrize("value", [
    "'", "''; drop table tab; --", "\\'", "a\"b", "\\", "$$", "ü'ß"])
def test_parameter_values_are_data(pooler, value):
    """PgDog #698: a quote in a parameter of the StartupMessage"""
    # regressions: PgDog#698
    p = pooler()
    for _ in range(2):
        c = p.raw(application_name=value)
        assert c.value("show application_name") == "".join(
            ch if ord(ch) < 128 else "?" * len(ch.encode()) for ch in value
        ) or c.value("show application_name") == value
        assert c.value("select count(*) from tab") == "1000"


def test_search_path_in_options_is_data(pooler):
    """PgDog #698: in options, too"""
    p = pooler()
    c = p.raw(options="-c application_name=a'b\\ ''c")
    assert c.value("show application_name") == "a'b ''c"


@pytest.mark.parametrize("data", [
    pq.password("x"), pq.password(""), pq.msg("p"), pq.password("x" * 60000),
    b"p\0\0\0\3", pq.msg("p", b"SCRAM-SHA-256\0\xff\xff\xff\xff")])
def test_password_before_startup_is_harmless(pooler, data):
    """CVE-2015-4054: invalid packet order"""
    # regressions: CVE-2015-4054
    p = pooler()
    c = p.open()
    c.send(data)
    res = c.recv_all()
    assert [e.message for e in res.errors] in (
        ["client password pkt before startup packet"], [])
    assert p.raw().value("select 1") == "1"


@pytest.mark.parametrize("params", [
    {"user": ""}, {"user": "", "database": "p0"}, {"database": "p0"}, {}])
def test_startup_without_a_user_is_refused(pooler, params):
    """Pgpool-II: psql -U ''; client-errors.md 2"""
    # regressions: PgP -U ''
    p = pooler({"p0": "", "*": ""}, auth_type="plain")
    assert refused_bytes(p.open(), pq.startup(params)) == \
        "no username supplied"


@pytest.mark.parametrize("method", METHODS)
def test_startup_without_a_database(pooler, method):
    """pgagroal #912: as HAProxy's pgsql-check sends it"""
    p = pooler({"p0": "user=app"}, {"app": "x"}, auth_type=method)
    assert refused(p.open(), user="app", password_="x") == \
        "no such database: app"
    assert p.raw("app", password="x").value("select 1") == "1"


def test_length_that_overflows_a_scram_message(pooler):
    """CVE-2026-6664: before any login"""
    # regressions: CVE-2026-6664
    p = pooler(auth_type="scram-sha-256")
    for length in (0xffffffff, 0x80000000, 0x7fffffff, 0xfffffff0, 1 << 16):
        c = p.open().login("app", database="p0", wait=False)
        c.recv()
        body = pq.cstr("SCRAM-SHA-256") + struct.pack("!I", length) + \
            b"n,,n=,r=abcdefghijkl"
        assert refused_bytes(c, pq.msg("p", body)) == SASL


def test_bad_password_for_the_server_is_not_tried_for_ever(pooler, pg):
    """PgDog #959: one attempt a login, then server_login_retry"""
    # regressions: PgDog#959
    p = pooler({"p0": "user=u_scram password=bad"}, {"app": "x"},
               auth_type="plain", server_login_retry=2)
    for _ in range(3):
        with pytest.raises(pq.PgError):
            p.raw("app", password="x")
    assert p.log.count("server login failed: FATAL") <= 3
    assert PASSWORDS["u_scram"] not in p.log


def test_secrets_are_not_on_the_console(pooler):
    """Pgpool CVE-2023-22332: no SHOW prints one"""
    # regressions: CVE-2023-22332
    p = pooler({"p0": "user=app password=dbsecret"},
               {"app": "appsecret", "admin": "adminpw", "stats": "statspw"},
               auth_type="plain")
    p.raw("app", password="appsecret").value("select 1")
    for user in ("admin", "stats"):
        con = p.console(user)
        for topic in ("users", "databases", "clients", "servers", "pools",
                      "config", "sockets", "lists", "stats", "mem"):
            res = con.try_query("show " + topic)
            for secret in ("appsecret", "dbsecret"):
                assert secret not in str(res.rows), topic
            assert "adminpw" not in str(res.rows), topic
    assert "secret" not in p.log
    assert os.path.exists(p.auth)
