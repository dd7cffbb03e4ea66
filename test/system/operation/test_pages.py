# test_pages.py - README, guides and manual pages: their examples work, too.
# SPDX-License-Identifier: ISC
"""The book says in each fence how it is run (book.py). Elsewhere a page is read
by people who want an example, not a course, so the table of this file says what
is done with each block, in the order of the page."""
import os
import re

import pytest
import yaml

import book
import harness
from harness import REFERENCE
from test_book import reader  # noqa: F401 (a fixture)

pytestmark = pytest.mark.skipif(REFERENCE, reason="has another manual")
FENCE = re.compile(r"^ *```[^\n]*\n(.*?)^ *```$", re.M | re.S)
START = """[pgbouncer]
listen_addr = 127.0.0.1
listen_port = 6432
unix_socket_dir =
auth_type = scram-sha-256
auth_file = userlist.txt
admin_users = alice
"""


def elsewhere(path):
    """The block is run by another test, which has to be there."""
    return lambda who, text: os.path.exists(os.path.join(harness.ROOT, path)) \
        or pytest.fail("there is no " + path)


def shown(why):
    """Nothing that could be run."""
    return lambda who, text: why


def local(who, text):
    """With this reader's folder, and a password that PostgreSQL knows."""
    text = re.sub(r"/(etc|run)/(pgsluice|pgbouncer)\b", who.dir, text)
    return text.replace("her password", "secret")


def check(who, text):
    who.put("checked.ini", who.here(local(who, text)))
    code, out = who.shell("pgsluice --check checked.ini")
    assert code == 0, out


def whole(who, text):
    who.put("userlist.txt", '"alice" "secret"\n', 0o600)
    check(who, text)


def part(section):
    """Lines of one section."""
    def run(who, text):
        who.put("mock_secret", "0123456789abcdef\n", 0o600)
        kept = "\n".join(line for line in text.splitlines()
                         if " = " in line and not line.startswith("("))
        whole(who, START + kept if section == "pgbouncer" else
              "%s\n[%s]\n%s\n" % (START, section, kept))
    return run


def sections(who, text):
    """Some sections of a file, which [pgbouncer] may be one of."""
    whole(who, text.replace("[pgbouncer]\n", START) if "[pgbouncer]" in text
          else START + text)


def file(name):
    return lambda who, text: who.put(name, who.here(local(who, text)), 0o600)


def unescaped(text):
    """scdoc has a backslash before what it would take for markup."""
    return re.sub(r"\\(.)", r"\1", text)


def rules(who, text):
    """HBA rules count with the map that follows."""
    who.put("hba.conf", unescaped(text))
    who.put("shop_users", "alice, bob\n")


def ident(who, text):
    who.put("ident.conf", unescaped(text))
    assert r"\1" in unescaped(text)
    whole(who, START.replace("scram-sha-256", "hba") +
          "auth_hba_file = hba.conf\nauth_ident_file = ident.conf\n")


def userlist(who, text):
    for old, new in (("<32 hexadecimal digits>", 32 * "0"),
                     ("<salt>", 22 * "A" + "=="),
                     ("<stored key>", 43 * "A" + "="),
                     ("<server key>", 43 * "A" + "=")):
        assert old in text
        text = text.replace(old, new)
    who.put("userlist.txt", text, 0o600)
    code, out = who.shell("pgsluicectl userlist list userlist.txt")
    assert code == 0
    assert out.split() == ["scram-sha-256", "ann", "md5", "bob", "plain",
                           "carol", "none", "dave"], out


def run(who, text, *swaps):
    for old, new in swaps:
        assert old in text, old
        text = text.replace(old, new)
    code, out = who.shell(local(who, text))
    assert code == 0, out + who.log()


def lines(text, *without):
    """The commands that do not begin with one of these."""
    kept = [line for line in text.splitlines(True)
            if not line.startswith(without)]
    assert len(kept) < len(text.splitlines())
    return "".join(kept)


def running(who):
    who.put("pgsluice.ini", who.here(
        START + "logfile = pgsluice.log\npidfile = pgsluice.pid\n"
        "[databases]\nshop = host=127.0.0.1 port=5432\n"))
    who.put("userlist.txt", '"alice" "secret"\n', 0o600)
    run(who, "pgsluice -d pgsluice.ini\n"
        "pgsluicectl -c pgsluice.ini wait-ready\n")


def quick_start(who, text):
    """All but the end, which the next block needs running."""
    run(who, lines(text, "kill"))


def quick_control(who, text):
    """top wants a terminal, profile perf: test_ctl_top, test_profile"""
    run(who, lines(text, *("pgsluicectl -c pgsluice.ini " + word
                           for word in ("top", "profile"))))
    # and what ends the block before this one
    run(who, "pgsluice -d pgsluice.ini\nkill -INT $(cat pgsluice.pid)")


def beside_the_old_one(who, text):
    who.put("pgbouncer.ini", who.here(
        START.replace("unix_socket_dir =", "unix_socket_dir = " + who.dir) +
        "logfile = pgsluice.log\npidfile = pgsluice.pid\n"
        "[databases]\nshop = host=127.0.0.1 port=5432\n"))
    who.put("userlist.txt", '"alice" "secret"\n', 0o600)
    run(who, text, ("-u postgres ", ""), ("/tmp/try.ini", "try.ini"),
        (" &\n", " >try.log 2>&1 &\n pgsluicectl -c try.ini wait-ready\n"))


def one_check(who, text):
    who.put("pgbouncer.ini", START + "[databases]\nshop =\n")
    who.put("userlist.txt", '"alice" "secret"\n', 0o600)
    run(who, text)


def admin_start(who, text):
    running(who)
    run(who, text)


def console(who, text):
    for query in text.splitlines():
        code, out = who.shell('psql -h 127.0.0.1 -p 6432 -U alice '
                              'pgbouncer -c "%s"' % query)
        assert code == 0, out


def control(who, text):
    """Not: top, --watch (test_ctl_top, test_ctl), profile (test_profile)."""
    running(who)
    who.put("new.ini", harness.read(os.path.join(
        who.dir, "pgsluice.ini")).decode())
    text = re.sub(r"^.* (top|--watch 2|profile .*)\n", "", text, flags=re.M)
    text = re.sub(r" \|\|? .*", "", text)
    for command in ("show", "reload", "status", "drain", "set", "do"):
        text = text.replace("pgsluicectl " + command,
                            "pgsluicectl -c pgsluice.ini " + command)
    run(who, text)


def users(who, text):
    """Passwords come from a terminal otherwise; PostgreSQL has alice and bob."""
    text = text.replace("pwgen 24 1", "echo generated")
    text = re.sub(r"^(pgsluicectl userlist add)", r"echo secret | \1", text,
                  flags=re.M)
    run(who, text.replace("ann bob", "alice bob"),
        ("host=db1 user=postgres", "host=127.0.0.1 port=5432 user=postgres "
         "dbname=postgres"))


def grace(who, text):
    assert yaml.safe_load(text)["terminationGracePeriodSeconds"] == 75


def pooler(who, text):
    """No operator is run here: the settings are ours, at least."""
    spec = yaml.safe_load(text)["spec"]
    assert spec["template"]["spec"]["containers"][0]["name"] == "pgbouncer"
    told = spec["pgbouncer"]
    part("pgbouncer")(who, "pool_mode = %s\n" % told["poolMode"] + "".join(
        "%s = %s\n" % it for it in told["parameters"].items()))


def haproxy(who, text):
    """The fleet's own, but for its addresses."""
    theirs = harness.read(os.path.join(
        harness.ROOT, "test/fleet/run")).decode()
    for line in text.splitlines():
        word = line.strip().replace("9127", "{http}")
        assert word in theirs or word.startswith("server h"), line


PROBES = elsewhere("test/lint/probes.py")
AUTH_QUERY = elsewhere("test/system/login/test_auth_query_trust.py")
KERBEROS = elsewhere("test/system/login/test_gss.py")
PAGES = {
    "README.md": [
        elsewhere("test/package/newcomer"),     # bootstrap itself, and check
        elsewhere("test/package/newcomer"),
        file("pgsluice.ini"), file("userlist.txt"), quick_start,
        quick_control],
    "doc/container.md": [elsewhere("test/package/image"),
                         elsewhere("test/package/image"),    # arm64
                         elsewhere("test/package/container"),
                         pooler, sections],
    "doc/fleet.md": [haproxy, sections, sections],
    "doc/migrating.md": [one_check, beside_the_old_one,
                         elsewhere("test/system/operation/test_systemd.py"),
                         elsewhere("test/package/install")],
    "doc/serverless.md": [whole, elsewhere("test/study/run")],
    "doc/where-does-the-time-go.md": [PROBES, PROBES],
    "doc/pgsluice.1.scd": [
        grace, elsewhere("test/system/operation/test_systemd.py")],
    "doc/pgsluice-admin.7.scd": [admin_start, console, console],
    "doc/pgsluicectl.1.scd": [control, users],
    "doc/userlist.txt.5.scd": [userlist, users],
    "doc/pgsluice.ini.5.scd": [
        whole, shown("the form of a line"), part("databases"),
        part("databases"), part("databases"), part("users"), part("peers"),
        part("pgbouncer"), shown("ldap may not be built in: test_ldap"),
        KERBEROS, KERBEROS, KERBEROS, KERBEROS, KERBEROS,
        shown("it needs an issuer: test_oauth"), AUTH_QUERY, AUTH_QUERY,
        sections, rules, ident],
}


def blocks(page):
    path = os.path.join(harness.ROOT, page)
    if not os.path.exists(path):
        pytest.skip("this tree has no " + page)
    with open(path, encoding="utf-8") as f:
        return FENCE.findall(f.read())


@pytest.mark.parametrize("page", sorted(PAGES))
def test_page(reader, page):  # noqa: F811
    found = blocks(page)
    assert len(found) == len(PAGES[page]), \
        "%s: the table has another number of blocks" % page
    for n, (what, text) in enumerate(zip(PAGES[page], found)):
        try:
            what(reader, text)
        except AssertionError as e:
            raise AssertionError("%s, block %d: %s" % (
                page, n + 1, e)) from None


def test_no_page_is_left_out():
    """With an example of ours in it."""
    folder = os.path.join(harness.ROOT, "doc")
    for name in sorted(os.listdir(folder)):
        page = "doc/" + name
        if not name.endswith((".md", ".scd")) or page in PAGES:
            continue
        text = harness.read(os.path.join(folder, name)).decode()
        assert not re.search(r"^ *```(sh|ini|console)", text, re.M), page
    assert len(book.blocks(os.path.join(book.FOLDER, "operations.md"))) > 10
