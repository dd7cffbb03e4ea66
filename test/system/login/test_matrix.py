# test_matrix.py - every method, with every TLS mode on either side.
# SPDX-License-Identifier: ISC
"""What is right is let in and what is wrong is not, by psycopg and by psql.
`pytest -s -n 0 -k matrix system/login` prints the tables."""
import os
import shutil
import subprocess

import psycopg
import pytest

import harness
import pq
from harness import BIG, REFERENCE, process_env
from ldapd import SLAPD, Slapd
from test_hba import OS_USER
from test_pam import pam

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]
PW = "right pw"
RULES = """
local all all trust
host all admin all trust
host all m_trust all trust
host all m_plain all password
host all m_md5 all md5
host all m_scram all scram-sha-256
host all m_reject all reject
host all app all cert
"""
METHODS = {"trust": "m_trust", "plain": "m_plain", "md5": "m_md5",
           "scram-sha-256": "m_scram", "reject": "m_reject", "cert": "app",
           "ldap": "m_ldap", "no rule": "m_nobody"}


# --- clients --------------------------------------------------------------

class Client:
    """psycopg and psql with a certificate, and what they are told."""

    def __init__(self, p, certs):
        self.p, self.certs, self.calls = p, certs, 0
        if not os.path.exists(certs.crt("nobody")):
            certs.make("nobody", "/CN=nobody")
        self.keys = {}
        for name in ("client", "nobody"):
            # libpq wants the key to be that of who runs it
            self.keys[name] = os.path.join(certs.dir, name + ".own")
            shutil.copy(certs.key(name), self.keys[name])
            os.chmod(self.keys[name], 0o600)

    def conninfo(self, user, password, sslmode, cert):
        return psycopg.conninfo.make_conninfo(
            host="localhost", hostaddr="127.0.0.1", port=self.p.port,
            user=user, dbname="p0", password=password, sslmode=sslmode,
            sslrootcert=self.certs.crt("ca"), sslcert=self.certs.crt(cert),
            sslkey=self.keys[cert], gssencmode="disable")

    def is_let_in(self, *args):
        """By psycopg; and now and then by psql, too."""
        conninfo = self.conninfo(*args)
        try:
            with psycopg.connect(conninfo) as c:
                ok = c.execute("select 1").fetchone() == (1,)
        except psycopg.OperationalError:
            ok = False
        self.calls += 1
        if BIG or self.calls % 11 == 0:
            out = subprocess.run(
                ["psql", "-XAtw", conninfo, "-c", "select 1"],
                env=process_env(), stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, timeout=60)
            assert (out.returncode == 0) == ok, (args, out.stderr)
        return ok


def reaches(mode, sslmode):
    """The ways that libpq gets to a login: "plain", "tls"."""
    first, second = {"disable": ("plain", None), "allow": ("plain", "tls"),
                     "prefer": ("tls", "plain")}.get(sslmode, ("tls", None))
    can = {"disable": ["plain"], "allow": ["plain", "tls"],
           "prefer": ["plain", "tls"]}.get(mode, ["tls"])
    return [way for way in (first, second) if way in can]


def expected(method, mode, sslmode, right):
    ways = reaches(mode, sslmode)
    if method in ("reject", "no rule"):
        return False
    if method == "cert":
        return right and "tls" in ways
    if method in ("trust", "any"):
        return bool(ways)
    return right and bool(ways)


def table(title, method_rows):
    print("\n%s\n| method        | given | %s |\n|---|---|%s" % (
        title, " | ".join("%-11s" % m for m in MODES), "---|" * len(MODES)))
    for (method, given), cells in method_rows:
        print("| %-13s | %-5s | %s |" % (method, given, " | ".join(
            "%-11s" % ("in" if c else "refused") for c in cells)))


def walk(client, mode, methods):
    rows = []
    for method, user in methods.items():
        for given in ("right", "wrong"):
            cert = "nobody" if method == "cert" and given == "wrong" \
                else "client"
            cells = []
            for sslmode in MODES:
                got = client.is_let_in(
                    user, PW if given == "right" else "wrong", sslmode, cert)
                assert got == expected(method, mode, sslmode,
                                       given == "right"), \
                    (method, given, mode, sslmode)
                cells.append(got)
            rows.append(((method, given), cells))
    table("client_tls_sslmode=%s; libpq's sslmode:" % mode, rows)


@pytest.fixture(scope="module")
def directory():
    if SLAPD is None or not harness.built_with("ldap"):
        yield None
        return
    d = Slapd([("m_ldap", PW)])
    yield d
    d.stop()


@pytest.mark.setting("client_tls_sslmode")
@pytest.mark.parametrize("mode", MODES)
def test_matrix_of_rules(pooler, certs, directory, mode):
    methods = dict(METHODS)
    rules = RULES
    if directory is None:
        del methods["ldap"]
    else:
        rules += ('host all m_ldap all ldap ldapserver=127.0.0.1 ldapport=%d '
                  'ldapprefix="uid=" ldapsuffix=",ou=people,dc=test"\n'
                  % directory.port)
    p = pooler({"p0": "user=app"}, {u: PW for u in methods.values()},
               auth_type="hba", start=False, **certs.accept(mode))
    p.settings["auth_hba_file"] = p.put("hba.conf", rules)
    p.start()
    walk(Client(p, certs), mode, methods)


@pytest.mark.parametrize("mode", MODES)
def test_matrix_of_any(pooler, certs, mode):
    p = pooler({"p0": "user=app"}, auth_type="any", **certs.accept(mode))
    walk(Client(p, certs), mode, {"any": "whoever"})


@pytest.mark.parametrize("mode", MODES)
def test_matrix_of_pam(pooler, certs, mode):
    if not harness.built_with("pam"):
        pytest.skip("this build has no PAM")
    p = pam(pooler, dbs={"p0": "user=app"}, **certs.accept(mode))
    p.put("passwords", "m_pam:%s\n" % PW)
    walk(Client(p, certs), mode, {"pam": "m_pam"})


@pytest.mark.parametrize("mode", MODES)
def test_matrix_of_peer(pooler, certs, mode):
    """Unix sockets know no TLS, and ask for none"""
    p = pooler({"p0": "user=app"}, {OS_USER: "", "app": "", "admin": ""},
               auth_type="hba", start=False, **certs.accept(mode))
    p.settings["auth_hba_file"] = p.put("hba.conf", "local all all peer\n")
    p.start()
    for sslmode in ("disable", "prefer"):
        for user, ok in ((OS_USER, True), ("app", False)):
            out = harness.run(["psql", "-XAtc", "select 1",
                               "host=%s port=%d user=%s dbname=p0 sslmode=%s"
                               % (p.dir, p.port, user, sslmode)], cwd="/tmp")
            assert (out.returncode == 0) == ok, out.stderr
            assert ok or "unix socket login rejected" in out.stderr


# --- servers --------------------------------------------------------------

SECRETS = {
    "plain": lambda user, pw: pw,
    "wrong": lambda user, pw: "wrong",
    "md5": lambda user, pw: pq.md5_secret(user, pw),
    "wrong md5": lambda user, pw: pq.md5_secret(user, "wrong"),
    "scram": lambda user, pw: pq.scram_secret(pw),
    "none": lambda user, pw: "",
}
SERVERS = {          # what the server asks for: user, what answers it
    "trust": ("app", set(SECRETS)),
    "password": ("u_pw", {"plain"}),
    "md5": ("u_md5", {"plain", "md5"}),
    "scram-sha-256": ("u_scram", {"plain"}),
}


@pytest.mark.setting("server_tls_sslmode")
@pytest.mark.database("password")
@pytest.mark.parametrize("mode", MODES)
def test_matrix_of_servers(pooler, certs, tls_pg, mode):
    dbs = {}
    for method, (user, _) in SERVERS.items():
        pw = harness.PASSWORDS.get(user, "any")
        for kind, make in SECRETS.items():
            dbs["%s, %s" % (method, kind)] = (
                "host=localhost port=%d dbname=p0 user=%s" % (
                    tls_pg.port, user))
            if kind != "none":
                dbs["%s, %s" % (method, kind)] += \
                    " password='%s'" % make(user, pw)
    p = pooler({"'%s'" % k: v for k, v in dbs.items()},
               **certs.connect(mode))
    tls = "f" if mode == "disable" else "t"
    print("\nserver_tls_sslmode=%s; stored secret:\n| server asks   | %s |"
          "\n|---|%s" % (mode, " | ".join("%-9s" % k for k in SECRETS),
                         "---|" * len(SECRETS)))
    for method, (_, good) in SERVERS.items():
        cells = []
        for kind in SECRETS:
            try:
                with p.raw(database="%s, %s" % (method, kind)) as c:
                    got = c.value("select ssl from pg_stat_ssl where pid = "
                                  "pg_backend_pid()") == tls
            except pq.PgError:
                got = False
            assert got == (kind in good), (method, kind)
            cells.append("in" if got else "refused")
        print("| %-13s | %s |" % (method, " | ".join(
            "%-9s" % c for c in cells)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cert", ["client", "nobody"])
def test_matrix_of_certificates_for_servers(pooler, certs, tls_pg, mode,
                                            cert):
    if not os.path.exists(certs.crt("nobody")):
        certs.make("nobody", "/CN=nobody")
    p = pooler({"p0": "host=localhost port=%d user=app2" % tls_pg.port},
               **certs.connect(mode, cert=cert))
    if cert == "client" and mode != "disable":
        assert p.raw().value("select current_user") == "app2"
    else:
        with pytest.raises(pq.PgError):
            p.raw()
