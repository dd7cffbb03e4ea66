# test_client_errors.py - every error and notice the pooler itself can send.
# SPDX-License-Identifier: ISC
"""spec/client-errors.md, a scene for each row of its tables.

Of each error: severity, SQLSTATE and text, that there is no other field, and
that nothing follows but the end of the connection. Rows that have no scene
say why.
"""
import glob
import os
import re
import signal
import socket
import struct
import sys

import pytest

import pq
from harness import HERE, REFERENCE, ROOT, code_of, wait_until

sys.path.append(os.path.join(os.path.dirname(HERE), "sim"))
import fakepg  # noqa: E402
from fakepg import Gone  # noqa: E402

pytestmark = pytest.mark.skipif(REFERENCE, reason="differs in details")

# --- the tables -----------------------------------------------------------

START = """
bad packet header: '<hex>'
received unencrypted data after SSL request
received unencrypted data after GSSAPI encryption request
old V2 protocol not supported
SSL required
GSSAPI encryption required
client re-sent startup pkt
client password pkt before startup packet
invalid startup packet layout: expected terminator as last byte
no username supplied
username too long
unsupported startup parameter: <name>
unsupported startup parameter in options: <name>
unsupported options startup parameter: only '-c config=val' and '--config=val' are allowed
too many startup parameters
no more connections allowed (max_client_conn)
client connections exceeded (max_db_client_connections)
client connections exceeded (max_user_client_connections)
client_login_timeout
client_login_timeout (server down)
PROXY protocol header expected
broken PROXY protocol header
not one of proxy_trusted_nets
"""
LOGIN = """
password authentication failed
SASL authentication failed
client selected an invalid SASL authentication mechanism
empty password returned by client
"trust" authentication failed
certificate authentication failed
unix socket login rejected
PAM authentication failed
LDAP authentication failed
GSSAPI authentication failed
auth_ldap_options is null
ldap is not supported by this build
no authentication method is found
login rejected
not allowed
no such database: <name>
database "<name>" is disabled
authentication database "<name>" is disabled
pooler is shutting down
bouncer config error
bouncer resources exhaustion
no memory for pool
failed to prepare welcome message
failed to send welcome message
password too long
channel binding is required
too many logins wait to be checked
"""
SERVER = """
server login failed
<server's message>
server login failed: wrong password type
server login failed: none of the server's SASL authentication mechanisms are supported
server login failed: invalid server signature
server login failed: failed to verify server signature
server login has been failing, cached error: <reason> (server_login_retry)
server is down or cannot be reached (server_down_timeout)
login failed
query_wait_timeout
query_timeout
server shutting down
invalid server parameter
host does not meet target_session_attrs
"""
WORK = """
server conn crashed?
server connection closed
query timeout
idle transaction timeout
transaction timeout
client_idle_timeout
transaction blocks not allowed in statement pooling mode
PQexec disallowed
failed to parse packet
broken Parse packet
broken Bind packet
broken Describe packet
broken Close packet
broken Flush packet
server is idle, but has not answered all requests
unknown pkt
bad pkt header
broken ParameterStatus packet
database configuration changed
database removed
admin forced disconnect
terminating connection due to administrator command
pin_timeout
too many sessions keep a server (max_pinned)
too many notifications wait to be read
COPY failed, and the state of the messages after it is unknown
pause failed
pause cancel request failed
out of memory
"""
NOTICES = """
No server connection available in postgres backend, client being queued
<login_notify_message>
Console usage
SET ignored
TLS settings could not be applied, still using old configuration
"""
CONSOLE = """
invalid command '<query>', use SHOW HELP;
bad arguments
admin access needed
SET failed
already suspended/paused
cannot suspend with paused databases
pooler is not paused/suspended
pooler is shutting down
no such database: <db>
database <db> is not paused
cannot pause admin db: <db>
cannot kill admin db: <db>
cannot reconnect admin db: <db>
cannot wait in admin db: <db>
cannot disable admin db: <db>
cannot enable admin db: <db>
a database is required
invalid client pointer supplied
client not found
RELOAD failed, see logs for additional details
extended query protocol not supported by admin console
unsupported packet type for admin console: <n>
"""

# Rows without a scene here, and why.
NOT_HERE = {
    ("start", "PROXY protocol header expected"): "test_proxy_protocol.py",
    ("start", "broken PROXY protocol header"): "test_proxy_protocol.py",
    ("start", "not one of proxy_trusted_nets"): "test_proxy_protocol.py",
    ("login", "channel binding is required"): "test_tls_binding.py",
    ("login", "too many logins wait to be checked"):
        "needs PAM: test_pam.py",
    ("server", "host does not meet target_session_attrs"):
        "needs two hosts: sim/test_session_attrs.py",
    ("work", "terminating connection due to administrator command"):
        "test_shutdown_drain.py",
    ("work", "pin_timeout"): "test_state_keep.py",
    ("work", "too many sessions keep a server (max_pinned)"):
        "test_state_keep.py",
    ("work", "too many notifications wait to be read"): "test_listen.py",
    ("work", "server is idle, but has not answered all requests"):
        "sim/test_lost_answers.py",
    ("work", "COPY failed, and the state of the messages after it is unknown"): "sim/test_copy_sync.py",
    ("login", "PAM authentication failed"): "needs PAM: test_pam.py",
    ("login", "LDAP authentication failed"): "needs LDAP: test_ldap.py",
    ("start", "GSSAPI encryption required"): "needs a KDC: test_gss.py",
    ("login", "GSSAPI authentication failed"): "needs a KDC: test_gss.py",
    ("login", "auth_ldap_options is null"): "needs LDAP: test_ldap.py",
    ("login", "ldap is not supported by this build"): "depends on the build",
    ("login", "bouncer resources exhaustion"): "no memory",
    ("login", "no memory for pool"): "no memory",
    ("login", "failed to prepare welcome message"): "no memory",
    ("login", "failed to send welcome message"):
        "the connection is closed instead: nothing could be sent",
    ("login", "password too long"): "takeover",
    ("server", "server login failed: failed to verify server signature"):
        "no memory",
    ("work", "pause failed"): "internal to the reference",
    ("work", "pause cancel request failed"): "internal to the reference",
    ("work", "out of memory"): "no memory",
    ("console", "cannot suspend with paused databases"):
        "SUSPEND: test_takeover.py",
    ("console", "extended query protocol not supported by admin console"):
        "it is supported here, see test_console_extended",
}

TABLES = {"start": START, "login": LOGIN, "server": SERVER, "work": WORK,
          "notices": NOTICES, "console": CONSOLE}
SCENES = []


def scene(table, row, text=None, code=None, severity=None):
    """Register fn(env), which provokes the row and returns the messages."""
    code = code or code_of(text or row)
    severity = severity or {"notices": "NOTICE", "console": "ERROR"}.get(
        table, "FATAL")

    def add(fn):
        SCENES.append(pytest.param(
            fn, text or row, code, severity, marks=(),
            id="%s-%s" % (table, fn.__name__)))
        fn.rows = getattr(fn, "rows", []) + [(table, row)]
        return fn
    return add


class Env:
    """What a scene may ask for."""

    def __init__(self, request, pooler):
        self.request, self.make, self.fakes = request, pooler, []

    def pooler(self, *args, **kw):
        return self.make(*args, **kw)

    def fake(self, **kw):
        self.fakes.append(fakepg.FakePg(**kw))
        return self.fakes[-1]

    @property
    def certs(self):
        return self.request.getfixturevalue("certs")

    @property
    def pg(self):
        return self.request.getfixturevalue("pg")


@pytest.fixture
def env(request, pooler):
    e = Env(request, pooler)
    yield e
    for f in e.fakes:
        f.close()


# --- connection start -----------------------------------------------------

def sent(env, *data, **settings):
    c = env.pooler(**settings).open()
    c.send(*data)
    return c


OK = {"user": "app", "database": "p0"}
ASK = pq.untyped(pq.SSL_REQUEST)


@scene("start", "bad packet header: '<hex>'",
       "bad packet header: '0000000800040000'")
def protocol_four(env):
    return sent(env, pq.untyped(4 << 16))


@scene("start", "bad packet header: '<hex>'",
       "bad packet header: '5100000003'")
def short_length_after_login(env):
    c = env.pooler().raw()
    c.send(b"Q\0\0\0\3")
    return c


@scene("start", "received unencrypted data after SSL request")
def data_behind_ssl_request(env):
    return sent(env, ASK + pq.startup(OK))


@scene("start", "received unencrypted data after GSSAPI encryption request")
def data_behind_gss_request(env):
    return sent(env, pq.untyped(pq.GSSENC_REQUEST) + b"x")


@scene("start", "old V2 protocol not supported")
def protocol_two(env):
    return sent(env, pq.untyped(2 << 16, b"app\0"))


@scene("start", "SSL required")
def plain_where_tls_is_required(env):
    return sent(env, pq.startup(OK), **env.certs.accept("require"))


@scene("start", "client re-sent startup pkt")
def second_startup(env):
    c = sent(env, pq.startup(OK), auth_type="plain")
    assert c.recv()[0] == "R"
    c.send(pq.startup(OK))
    return c


@scene("start", "client password pkt before startup packet")
def password_first(env):
    """CVE-2015-4054"""
    return sent(env, pq.password("x"))


@scene("start", "invalid startup packet layout: expected terminator as last "
       "byte")
def startup_without_terminator(env):
    return sent(env, pq.untyped(pq.V3_0, b"user\0app\0"))


@scene("start", "no username supplied")
def startup_without_user(env):
    return sent(env, pq.startup({"database": "p0"}))


@scene("start", "no username supplied")
def startup_with_empty_user(env):
    return sent(env, pq.startup({"user": "", "database": "p0"}))


@scene("start", "username too long")
def long_user(env):
    return sent(env, pq.startup({"user": "u" * 128, "database": "p0"}))


@scene("start", "unsupported startup parameter: <name>",
       "unsupported startup parameter: geqo")
def unknown_parameter(env):
    return sent(env, pq.startup({**OK, "geqo": "off"}))


@scene("start", "unsupported startup parameter in options: <name>",
       "unsupported startup parameter in options: geqo")
def unknown_parameter_in_options(env):
    return sent(env, pq.startup({**OK, "options": "-c geqo=off"}))


@scene("start", "too many startup parameters", code="53400")
def too_many_parameters(env):
    more = {"a.p%d" % i: "x" for i in range(201)}
    return sent(env, pq.startup({**OK, **more}), session_state="keep")


@scene("start", "unsupported options startup parameter: only '-c config=val' "
       "and '--config=val' are allowed")
def other_switch_in_options(env):
    return sent(env, pq.startup({**OK, "options": "-d 3"}))


@scene("start", "no more connections allowed (max_client_conn)")
def too_many_clients(env):
    p = env.pooler(max_client_conn=1)
    p.raw()
    c = p.open()
    c.send(pq.startup(OK))
    return c


@scene("start", "client connections exceeded (max_db_client_connections)")
def too_many_clients_of_a_database(env):
    p = env.pooler({"p0": "max_db_client_connections=1"})
    p.raw()
    c = p.open()
    c.send(pq.startup({**OK, "user": "app2"}))
    return c


@scene("start", "client connections exceeded (max_user_client_connections)")
def too_many_clients_of_a_user(env):
    p = env.pooler(users={"app": "max_user_client_connections=1"})
    p.raw()
    c = p.open()
    c.send(pq.startup({**OK, "database": "p1"}))
    return c


@scene("start", "client_login_timeout")
def slow_login(env):
    p = env.pooler(auth_type="plain")
    c = p.open()
    c.send(pq.startup(OK))
    assert c.recv()[0] == "R"
    change(p, client_login_timeout=0.3)
    return c


@scene("start", "client_login_timeout (server down)")
def login_without_a_server(env):
    p = env.pooler({"p0": "host=127.0.0.1 port=1"}, client_login_timeout=0.3,
                   server_down_timeout=0)
    return p.open().login("app", database="p0", wait=False)


# --- authentication, choice of database ------------------------------------

def logging_in(p, user="app", password="wrong", database="p0", **params):
    """Log in as far as the server lets us."""
    c = p.open().login(user, database=database, wait=False, **params)
    while True:
        kind, body = c.recv()
        if kind != "R":
            c.buf[:0] = pq.msg(kind, body)
            return c
        code = struct.unpack_from("!i", body)[0]
        if code == 0:
            return c
        c._auth(user, password, body)


def wrong(method, user="app", secret="apppw"):
    def fn(env):
        return logging_in(env.pooler(
            auth_type=method, userlist={"app": secret}), user)
    fn.__name__ = "%s_%s_%s" % (method, user, secret[:3])
    return fn


for _method in ("plain", "md5"):
    for _user in ("app", "nobody"):
        scene("login", "password authentication failed")(
            wrong(_method, _user))
for _user in ("app", "nobody"):
    scene("login", "SASL authentication failed")(
        wrong("scram-sha-256", _user))
scene("login", "SASL authentication failed")(
    wrong("scram-sha-256", secret=pq.md5_secret("app", "x")))


@scene("login", "client selected an invalid SASL authentication mechanism")
def unknown_mechanism(env):
    c = sent(env, pq.startup(OK), auth_type="scram-sha-256")
    assert c.recv()[0] == "R"
    c.send(pq.msg("p", b"SCRAM-MD5\0\xff\xff\xff\xff"))
    return c


@scene("login", "empty password returned by client")
def empty_password(env):
    return logging_in(env.pooler(auth_type="plain"), password="")


@scene("login", '"trust" authentication failed')
def trusted_nobody(env):
    return logging_in(env.pooler(auth_type="trust"), "nobody")


def hba(env, rules, **kw):
    p = env.pooler(start=False, auth_type="hba", **kw)
    p.settings["auth_hba_file"] = p.put("hba.conf", rules)
    return p.start()


@scene("login", "certificate authentication failed")
def no_certificate(env):
    return logging_in(hba(env, "host all all 127.0.0.1/32 cert\n",
                          **env.certs.accept("prefer")))


@scene("login", "unix socket login rejected")
def other_unix_user(env):
    p = hba(env, "local all all peer\n")
    return p.open(unix=True).login("app", database="p0", wait=False)


@scene("login", "no authentication method is found")
def no_rule(env):
    return logging_in(hba(env, "host p1 all 127.0.0.1/32 trust\n"))


@scene("login", "login rejected")
def reject_rule(env):
    return logging_in(hba(env, "host all all 127.0.0.1/32 reject\n"))


@scene("login", "not allowed")
def console_of_others(env):
    return logging_in(env.pooler(), database="pgbouncer")


AUTH = "select usename::text, 'x' from pg_user where usename = $1"


@scene("login", "no such database: <name>", "no such database: nowhere")
def unknown_database(env):
    return logging_in(env.pooler(), database="nowhere")


def told(env, *commands, **kw):
    p = env.pooler(**kw)
    for cmd in commands:
        p.admin(cmd)
    return p


@scene("login", 'database "<name>" is disabled', 'database "p0" is disabled')
def disabled_database(env):
    return logging_in(told(env, "disable p0"))


@scene("login", 'authentication database "<name>" is disabled',
       'authentication database "p1" is disabled')
def disabled_auth_database(env):
    return logging_in(told(env, "disable p1", auth_user="postgres",
                           auth_query=AUTH, auth_dbname="p1",
                           auth_type="md5"), "nobody")


@scene("login", "pooler is shutting down")
def login_during_shutdown(env):
    p = env.pooler(auth_type="plain")
    p.raw().query("begin")
    c = p.open().login("app", database="p0", wait=False)
    assert c.recv()[0] == "R"
    p.admin("shutdown wait_for_servers")
    c.send(pq.password("apppw"))
    return c


@scene("login", "bouncer config error")
def any_without_forced_user(env):
    return logging_in(env.pooler(auth_type="any"))


@scene("login", "bouncer config error")
def broken_auth_query(env):
    return logging_in(env.pooler(auth_user="postgres", auth_type="md5",
                                 auth_query="select $1::text"), "nobody")


# --- getting a server -----------------------------------------------------

def refused_by_server(env, error, **kw):
    def on_login(sess):
        sess.send(error)
        raise Gone
    f = env.fake(on_login=on_login)
    return logging_in(env.pooler({"p0": f.conn}, **kw))


@scene("server", "<server's message>", "no room", "53300")
def server_refuses(env):
    return refused_by_server(env, fakepg.error("no room", "53300", "FATAL"))


@scene("server", "<server's message>", "no code", "08P01")
def server_refuses_without_code(env):
    """CVE-2026-6666"""
    return refused_by_server(env, fakepg.error("no code", None, "FATAL"))


@scene("server", "<server's message>", "x" * 900, "XX000")
def server_refuses_at_length(env):
    return refused_by_server(env, fakepg.error("x" * 900, "XX000", "FATAL"))


@scene("server", "server login failed")
def server_refuses_auth_user(env):
    def on_login(sess):
        sess.send(fakepg.error("no room", "53300", "FATAL"))
        raise Gone
    p = env.pooler({"p0": env.fake(on_login=on_login).conn}, auth_user="app",
                   auth_type="plain", userlist={"app": ""})
    return p.open().login("ghost", database="p0", wait=False)


@scene("server", "server login failed: wrong password type")
def no_password_for_the_server(env):
    f = env.fake(auth="scram", password="x")
    return logging_in(env.pooler({"p0": f.conn}, userlist={
        "app": pq.md5_secret("app", "x")}))


def sasl_server(env, *answers):
    """A server that says these things of SASL, one for each answer."""
    def on_login(sess):
        sess.send(answers[0])
        for a in answers[1:]:
            _, body = sess.read_msg()
            sess.send(a(body) if callable(a) else a)
        sess.read(1)
    f = env.fake(on_login=on_login)
    return logging_in(env.pooler({"p0": f.conn}))


@scene("server", "server login failed: none of the server's SASL "
       "authentication mechanisms are supported")
def unknown_server_mechanism(env):
    return sasl_server(env, pq.msg("R", struct.pack("!i", 10)
                                   + b"SCRAM-MD5\0\0"))


@scene("server", "server login failed: invalid server signature")
def wrong_server_signature(env):
    def first(body):
        srv = pq.ScramServer(pq.scram_secret("apppw"))
        return pq.msg("R", struct.pack("!i", 11) + srv.challenge(
            body[body.index(b"\0") + 5:]))
    return sasl_server(
        env, pq.msg("R", struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0"),
        first, pq.msg("R", struct.pack("!i", 12) + b"v=" + b"A" * 43 + b"="))


@scene("server", "server login has been failing, cached error: <reason> "
       "(server_login_retry)", "server login has been failing, cached error: "
       "connect failed (server_login_retry)")
def failing_logins(env):
    f = env.fake()
    p = env.pooler({"p0": f.conn}, server_login_retry=60)
    c, d = p.raw(), p.raw()
    c.query("select 1")
    f.close()
    p.wait_pool(sv_idle=0)
    d.send(pq.query("select 1"))
    p.wait_log("closing because: connect failed")
    c.send(pq.query("select 1"))
    return c


@scene("server", "server is down or cannot be reached (server_down_timeout)",
       code="57P03")
def down_server(env):
    p = env.pooler({"p0": "host=127.0.0.1 port=1"}, server_down_timeout=0.2)
    return p.open().login("app", database="p0", wait=False)


@scene("server", "login failed")
def refused_replication(env):
    p = env.pooler()
    return p.open().login("app2", database="p0", wait=False,
                          replication="true")


def in_queue(env, **later):
    p = env.pooler(default_pool_size=1)
    h = p.raw()
    h.query("begin")
    c = p.raw()
    c.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=1)
    change(p, **later)
    return p, h, c


def change(p, **settings):
    """Time-outs come last: until then a test may take any time."""
    for name, value in settings.items():
        p.admin("set %s = '%s'" % (name, value))


@scene("server", "query_wait_timeout")
def long_wait(env):
    return in_queue(env, query_wait_timeout=0.5)[2]


@scene("server", "query_timeout")
def long_wait_by_the_other_name(env):
    return in_queue(env, query_timeout=0.5)[2]


@scene("server", "server shutting down")
def queued_at_shutdown(env):
    p, h, c = in_queue(env)
    p.admin("shutdown wait_for_servers")
    return c


@scene("server", "invalid server parameter")
def refused_parameter(env):
    p = env.pooler()
    p.raw().query("select 1")
    c = p.raw(TimeZone="No/Where")
    c.send(pq.query("select 1"))
    return c


# --- logged in ------------------------------------------------------------

def at_work(env, *data, handler=None, **later):
    """A client of a scripted server; it has asked for something."""
    f = env.fake(handler=handler)
    p = env.pooler({"p0": f.conn})
    c = p.raw()
    c.query("begin")
    change(p, **later)
    c.send(*(data or [pq.query("go")]))
    return c


def answers(*parts, end=False):
    def handler(sess, kind, body):
        if body.startswith(b"go"):
            sess.send(*parts)
            if end:
                raise Gone
            return True
    return handler


@scene("work", "server conn crashed?")
def server_leaves(env):
    return at_work(env, handler=answers(end=True))


def is_stopped(p):
    with open("/proc/%d/stat" % p.proc.pid) as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "T"


@scene("work", "server connection closed")
def server_takes_no_more(env):
    """it has gone, which is not seen before something is written to it"""
    f = env.fake()
    p = env.pooler({"p0": f.conn})
    p.raw().query("select 1")
    c = p.raw(TimeZone="Asia/Tokyo")
    p.signal(signal.SIGSTOP)
    wait_until(lambda: is_stopped(p))
    c.send(pq.query("select 1"))
    s = f.sessions[0]
    s.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                      struct.pack("ii", 1, 0))
    s.sock.shutdown(socket.SHUT_RD)
    s.sock.close()
    wait_until(lambda: s.ended)
    p.signal(signal.SIGCONT)
    return c


@scene("work", "query timeout")
def long_query(env):
    return at_work(env, handler=answers(), query_timeout=0.3)


@scene("work", "idle transaction timeout")
def idle_in_transaction(env):
    return at_work(env, b"", idle_transaction_timeout=0.3)


@scene("work", "transaction timeout")
def long_transaction(env):
    return at_work(env, handler=answers(), transaction_timeout=0.3)


@scene("work", "client_idle_timeout")
def idle_client(env):
    return env.pooler(client_idle_timeout=0.3).raw()


@scene("work", "transaction blocks not allowed in statement pooling mode")
def transaction_in_statement_mode(env):
    c = env.pooler(pool_mode="statement").raw()
    c.send(pq.query("begin"))
    return c


@scene("work", "PQexec disallowed")
def simple_query_disallowed(env):
    c = env.pooler(disable_pqexec=1).raw()
    c.send(pq.query("select 1"))
    return c


def malformed(table_row, data, name):
    @scene("work", table_row)
    def fn(env):
        c = env.pooler().raw()
        c.query("begin")
        c.send(data)
        return c
    fn.__name__ = name


malformed("failed to parse packet", pq.msg("P", b"name"), "parse_no_nul")
malformed("broken Parse packet", pq.msg("P", b"name\0select"), "parse_broken")
malformed("broken Bind packet", pq.msg("B", b"\0name"), "bind_broken")
malformed("broken Describe packet", pq.msg("D", b"Sname"), "describe_broken")
malformed("broken Close packet", pq.msg("C", b"Sname"), "close_broken")
malformed("broken Flush packet", pq.msg("H", b"x"), "flush_broken")
malformed("unknown pkt", pq.msg("y", b""), "client_message_unknown")


@scene("work", "unknown pkt")
def server_message_unknown(env):
    return at_work(env, handler=answers(pq.msg("y")))


@scene("work", "bad pkt header")
def server_header_bad(env):
    return at_work(env, handler=answers(b"D\0\0\0\1"))


@scene("work", "broken ParameterStatus packet")
def server_parameter_broken(env):
    return at_work(env, handler=answers(pq.msg("S", b"TimeZone\0UTC")))


@scene("work", "database configuration changed")
def reconnect_with_fast_close(env):
    p = env.pooler(pool_mode="session", server_fast_close=1)
    c = p.raw()
    c.query("select 1")
    p.admin("reconnect p0")
    return c


@scene("work", "database configuration changed")
def reconnect_of_replication(env):
    p = env.pooler()
    c = p.raw("postgres", replication="database")
    c.query("select 1")
    p.admin("reconnect p0")
    return c


@scene("work", "database removed")
def killed_database(env):
    p = env.pooler()
    c = p.raw()
    p.admin("kill p0")
    return c


@scene("work", "database removed")
def database_out_of_the_configuration(env):
    p = env.pooler()
    c = p.raw()
    c.query("begin")
    del p.dbs["p0"]
    p.reload()
    return c


@scene("work", "admin forced disconnect")
def killed_client(env):
    p = env.pooler()
    c = p.raw()
    p.admin("kill_client " + p.show("clients", database="p0")[0]["id"])
    return c


# --- notices --------------------------------------------------------------

@scene("notices", "No server connection available in postgres backend, "
       "client being queued", code="00000")
def notice_of_waiting(env):
    p, h, c = in_queue(env, query_wait_notify=1)
    kind, body = c.recv()
    h.query("commit")
    return [(kind, body)]


@scene("notices", "<login_notify_message>", "welcome, all", code="00000")
def notice_at_login(env):
    c = env.pooler(login_notify_message="welcome, all").raw()
    return [m for m in c.login_messages if m[0] == "N"]


@scene("notices", "Console usage", code="00000")
def notice_of_help(env):
    msgs = console(env, "show help")
    fields = pq.fields(msgs[0][1])
    assert fields.pop("D")
    return [("N", b"".join(k.encode() + pq.cstr(v)
                           for k, v in fields.items()))]


@scene("notices", "SET ignored", code="00000")
def notice_of_fake_key(env):
    return console(env, "set datestyle = 'iso'")


@scene("notices", "TLS settings could not be applied, still using old "
       "configuration", code="00000")
def notice_of_tls_that_stays(env):
    return console(env, "set client_tls_key_file = '/nonexistent'",
                   **env.certs.accept("require"))


# --- the console ----------------------------------------------------------

def console(env, *commands, user="admin", pooler=None, **kw):
    """The errors and notices of the last command; the console lives on."""
    p = pooler or env.pooler(**kw)
    with p.console(user) as c:
        for cmd in commands:
            c.send(pq.query(cmd))
            res = c.recv_until()
        assert res.status == "I"
        c.query("show version")
    return [m for m in res.messages if m[0] in "EN"]


def says(row, *commands, name, text=None, code="08P01", **kw):
    def fn(env):
        return console(env, *commands, **kw)
    fn.__name__ = name
    scene("console", row, text, code)(fn)


says("invalid command '<query>', use SHOW HELP;", "frobnicate", name="bad",
     text="invalid command 'frobnicate', use SHOW HELP;")
says("bad arguments", "pause " + "x" * 600, name="long_word")
says("admin access needed", "reload", name="stats_user", user="stats")
says("SET failed", "set nonsense = 1", name="set_unknown")
says("SET failed", "set default_pool_size = 'x'", name="set_bad_value")
says("already suspended/paused", "pause", "pause", name="paused_twice")
says("pooler is not paused/suspended", "resume", name="not_paused")
for _cmd in ("pause", "resume", "disable", "enable", "kill", "reconnect",
             "wait_close"):
    says("no such database: <db>", _cmd + " nowhere", name=_cmd + "_nowhere",
         text="no such database: nowhere")
says("database <db> is not paused", "resume p0", name="resume_not_paused",
     text="database p0 is not paused")
for _cmd, _text in (("pause", "pause"), ("kill", "kill"),
                    ("reconnect", "reconnect"), ("wait_close", "wait in"),
                    ("disable", "disable"), ("enable", "enable")):
    says("cannot %s admin db: <db>" % _text, _cmd + " pgbouncer",
         name=_cmd + "_console",
         text="cannot %s admin db: pgbouncer" % _text)
for _cmd in ("disable", "enable"):
    says("a database is required", _cmd, name=_cmd + "_nothing")
says("invalid client pointer supplied", "kill_client x", name="no_pointer")
says("client not found", "kill_client 0x1234", name="no_such_client")


@scene("console", "pooler is shutting down")
def resume_while_shutting_down(env):
    p = env.pooler()
    p.raw().query("begin")
    c = p.console()
    c.query("shutdown wait_for_servers")
    return [m for m in c.try_query("resume").messages if m[0] in "EN"]


@scene("console", "RELOAD failed, see logs for additional details",
       code="F0000")
def failed_reload(env):
    p = env.pooler()
    p.settings["pool_mode"] = "nonsense"
    p.write()
    return console(env, "reload", pooler=p)


@scene("console", "unsupported packet type for admin console: <n>",
       "unsupported packet type for admin console: 70")
def function_call_at_the_console(env):
    c = env.pooler().console()
    c.send(pq.function_call(1, []))
    msgs = c.recv_all().messages
    assert pq.fields(msgs[-1][1])["S"] == "FATAL"
    assert pq.fields(msgs[-1][1])["M"] == "bad packet"
    return msgs[:1]


# --- the tests ------------------------------------------------------------

# They say why, and which setting to look at: see test_waits.py.
# Those that end a session and say what to do, without a DETAIL.
HINTED = ["no more connections allowed (max_client_conn)",
          "bouncer config error", "server login failed", "not allowed",
          "no such database: nowhere",
          'database "p0" is disabled', "no room",
          "server login failed: wrong password type",
          "server login failed: none of the server's SASL authentication "
          "mechanisms are supported",
          "server login failed: invalid server signature",
          "server login has been failing, cached error: connect failed "
          "(server_login_retry)", "unsupported startup parameter: geqo",
          "unsupported startup parameter in options: geqo"]
UNPROVED = "Check the user name and the password. The pooler's log says " \
    "what was wrong with them."
EXPLAINED = ["query_wait_timeout", "query_timeout",
             "client_login_timeout (server down)",
             "server is down or cannot be reached (server_down_timeout)",
             "No server connection available in "
             "postgres backend, client being queued"]


@pytest.mark.parametrize("fn,text,code,severity", SCENES)
def test_error_is_as_it_should(env, fn, text, code, severity):
    """client-errors.md 1: S, V, C and M, and then the end"""
    got = fn(env)
    if not isinstance(got, list):
        # replies to what came before may stand in front
        got = got.recv_all().messages
        got = [m for m in got if m[0] in "EN"]
    assert got, "nothing was said"
    said = pq.fields(got[-1][1])
    if text in EXPLAINED:
        assert said.pop("D") and said.pop("H")
    elif code == "28P01" and severity == "FATAL":
        # one for all: it does not tell whether there is such a user
        assert said.pop("H") == UNPROVED
    elif text in HINTED and severity == "FATAL":
        assert said.pop("H")
    elif code == "F0000" or text == "SET failed":
        assert said.pop("D")  # all that is wrong with the files
    assert said == {"S": severity, "V": severity, "C": code, "M": text}
    assert len(got) == 1


def test_every_row_has_a_scene():
    """nothing is forgotten, nothing is there twice or made up"""
    rows = {(t, row) for t, text in TABLES.items()
            for row in text.strip().splitlines()}
    seen = {r for s in SCENES for r in s.values[0].rows}
    assert rows - seen == set(NOT_HERE)
    assert seen <= rows
    for (_, row), why in NOT_HERE.items():
        m = re.search(r"test_\w+\.py", why)
        if m:
            path, = glob.glob(os.path.join(
                ROOT, "test", "s*", "**", m.group()), recursive=True)
            with open(path) as f:
                # lines of code are short, and may divide it
                text = re.sub(r'"[\s\\]*"', "", f.read())
            assert row.split("<")[0] in text, (row, why)


# --- silence --------------------------------------------------------------

def inside_tls(env):
    p = env.pooler(**env.certs.accept("require"))
    c = p.open().start_tls(env.certs.client_context())
    c.send(ASK)
    return c


SILENT = {
    "unexpected message in login": lambda env: sent(
        env, pq.startup(OK), pq.query("select 1"), auth_type="plain"),
    "typed message first": lambda env: sent(env, pq.query("select 1")),
    "SSLRequest inside TLS": inside_tls,
    "unknown cancel key": lambda env: sent(env, pq.untyped(
        pq.CANCEL_REQUEST, b"12345678")),
    "cancel key of odd length": lambda env: sent(env, pq.untyped(
        pq.CANCEL_REQUEST, b"123")),
}


@pytest.mark.parametrize("name", SILENT)
def test_end_without_a_word(env, name):
    """client-errors.md 6"""
    got = SILENT[name](env).recv_all().messages
    assert [k for k, _ in got if k != "R"] == []


@pytest.mark.parametrize("how", ["shutdown", signal.SIGQUIT, signal.SIGTERM])
def test_process_exits_without_a_word(pooler, how):
    """client-errors.md 6: SHUTDOWN, SIGQUIT, second SIGTERM"""
    p = pooler()
    c = p.raw()
    c.query("begin")
    if how == "shutdown":
        with p.console() as admin:
            admin.send(pq.query("shutdown"))
            admin.recv_all()
    else:
        p.signal(how)
    if how == signal.SIGTERM:
        p.wait_log("got SIGTERM")
        p.signal(how)
    assert c.at_eof()
    p.wait_exit()
