# test_ctl.py - pgsluicectl, the companion command.
# SPDX-License-Identifier: ISC
import os
import pty
import re
import select
import shutil
import stat
import subprocess

import pytest

import harness
from harness import REFERENCE, as_user, make_tmp, process_env, run
from test_login import refused

pytestmark = pytest.mark.skipif(REFERENCE, reason="pgsluice only")

SCRAM = re.compile(r'"SCRAM-SHA-256\$4096:[A-Za-z0-9+/]{22}==\$'
                   r'[A-Za-z0-9+/]{43}=:[A-Za-z0-9+/]{43}="')


def binary():
    return os.path.join(os.path.dirname(harness.binary()), "pgsluicectl")


def ctl(*args, password=None, cwd="/", **kw):
    return subprocess.run([binary()] + list(args), input=password, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(process_env(), **kw), timeout=60, cwd=cwd,
                          **as_user())


@pytest.fixture
def path():
    """Of a file that is not there yet, in a folder of the test user's."""
    folder = make_tmp()
    yield os.path.join(folder, "userlist.txt")
    shutil.rmtree(folder)


def put(path, text, mode=0o600):
    with open(path, "w") as f:
        f.write(text)
    harness.give(path)
    os.chmod(path, mode)


def text_of(path):
    with open(path) as f:
        return f.read()


def ok(out):
    assert (out.returncode, out.stderr) == (0, ""), out
    return out.stdout


# --- userlist -------------------------------------------------------------

def test_added_user_logs_in(pooler, path):
    """userlist add, RELOAD, login by every method"""
    ok(ctl("userlist", "add", path, "app", password="pässword 1\n"))
    ok(ctl("userlist", "add", "-n", path, "admin"))
    lines = text_of(path).splitlines()
    assert re.fullmatch('"app" ' + SCRAM.pattern, lines[0])
    assert lines[1] == '"admin" ""'
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    p = pooler({"p0": "user=app2"}, auth_file=path,
               auth_type="scram-sha-256")
    assert p.raw("app", password="pässword 1").value("select 1") == "1"
    assert refused(p.open(), user="app", password_="other",
                   database="p0") == "SASL authentication failed"


def test_list_tells_name_and_kind(path):
    """userlist list"""
    ok(ctl("userlist", "add", path, "ann", password="x"))
    put(path, text_of(path) + '"bob" "md5%s"\n"carl" "secret"\n"d" ""\n'
        '"e ""f""\t" "x"\n"g\x9b31m\u202e" "x"\n' % ("0" * 32))
    out = ok(ctl("userlist", "list", path))
    assert out == ("scram-sha-256 ann\nmd5           bob\n"
                   "plain         carl\nnone          d\n"
                   'plain         e "f"\\t\n'
                   'plain         g\\xc2\\x9b31m\\xe2\\x80\\xae\n')
    assert "secret" not in out.replace("scram", "")


def test_comments_and_other_users_stay(path):
    """userlist add, remove: what is not meant stays as it is"""
    put(path, '; the crew\n"ann" "a" trailing\n\n  "bob" "b"\n'
        '"ann" "old"\n; end', 0o640)
    out = ctl("userlist", "add", path, "ann", password="new")
    assert out.returncode == 0 and "mode 0640" in out.stderr
    assert SCRAM.sub("S", text_of(path)) == \
        '; the crew\n"ann" S\n\n  "bob" "b"\n; end'
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640
    os.chmod(path, 0o600)
    ok(ctl("userlist", "add", path, "carl", password="new"))
    assert SCRAM.sub("S", text_of(path)) == \
        '; the crew\n"ann" S\n\n  "bob" "b"\n; end\n"carl" S\n'
    ok(ctl("userlist", "remove", path, "ann", "carl"))
    assert text_of(path) == '; the crew\n\n  "bob" "b"\n; end\n'


@pytest.mark.parametrize("name", ['a"b', '""', "with space", "; c", "ü" * 60])
def test_names_are_quoted_right(path, name):
    """config-files.md 7: quote inside a field"""
    put(path, '"other" "x"\n')
    ok(ctl("userlist", "add", path, name, password="p"))
    ok(ctl("userlist", "add", path, name, password="q"))
    want = '"%s" S\n' % name.replace('"', '""')
    assert SCRAM.sub("S", text_of(path)) == '"other" "x"\n' + want
    ok(ctl("userlist", "remove", path, name))
    assert text_of(path) == '"other" "x"\n'


def test_iterations_can_be_chosen(path):
    """--iterations"""
    ok(ctl("userlist", "add", "-i", "10000", path, "ann", password="x"))
    assert "SCRAM-SHA-256$10000:" in text_of(path)


@pytest.mark.parametrize("args,password,text", [
    (["add", "F", ""], "x", "the name is empty"),
    (["add", "F", "n" * 128], "x", "the name is too long"),
    (["add", "F", '"' * 64], "x", "the name is too long"),
    (["add", "F", "new\nline"], "x", "the name or the secret has a line end"),
    (["add", "F", "ann"], "", "no password was given"),
    (["add", "F", "ann"], "\n", "the password is empty"),
    (["add", "F", "ann"], "x" * 70000, "the password is too long"),
    (["add", "/nonexistent/f", "ann"], "x", "could not"),
    (["add", "/etc", "ann"], "x", "could not"),
    (["remove", "F", "bob", "ghost"], None, 'there is no user "ghost"'),
    (["remove", "F", "ghost", "bob"], None, 'there is no user "ghost"'),
    (["list", "/nonexistent"], None, 'could not read "/nonexistent": '
     "No such file"),
    (["import", "host=127.0.0.1 port=1", "F"], None, "could not connect: "),
    (["import", "nonsense=1", "F"], None, "could not connect: "),
])
def test_failure_changes_nothing(path, args, password, text):
    """exit code 1"""
    put(path, '"bob" "b"\n')
    args = [path if a == "F" else a for a in args]
    out = ctl("userlist", *args, password=password)
    assert out.returncode == 1 and out.stdout == ""
    assert out.stderr.startswith("pgsluicectl: " + text), out.stderr
    assert text_of(path) == '"bob" "b"\n'
    assert os.listdir(os.path.dirname(path)) == ["userlist.txt"]


BROKEN = ', a line is "user" "password", with the quotes'


@pytest.mark.parametrize("text,why", [
    ('"bob" "b"\nbroken\n', "broken auth file (%s:2)" + BROKEN),
    ('"bob" "b"\n"x\n', "broken auth file (%s:2)" + BROKEN),
    ('"bob" "b"\n\0"x" "y"\n', "NUL byte in auth file (%s:2)")])
def test_file_with_a_mistake_is_left_alone(path, text, why):
    """what follows a mistake does not count: nobody may be added there"""
    put(path, text)
    for args in (["add", path, "ann"], ["remove", path, "bob"],
                 ["list", path]):
        out = ctl("userlist", *args, password="x")
        assert out.returncode == 1
        assert out.stderr == "pgsluicectl: %s\n" % (why % path)
    assert text_of(path) == text


@pytest.mark.parametrize("args,text", [
    ([], "no command specified"), (["userlist"], "no command specified"),
    (["userlist", "frob", "x"], 'unknown command "frob"\n'),
    (["userlist", "lisst", "x"], 'unknown command "lisst", did you mean "list"?'),
    (["stauts"], 'unknown command "stauts", did you mean "status"?'),
    (["userlist", "add", "x"], "an argument is missing"),
    (["userlist", "list"], "an argument is missing"),
    (["userlist", "list", "x", "y"], "too many arguments"),
    (["-i", "0", "userlist", "list", "x"], "bad number of iterations"),
    (["-i", "9999999", "userlist", "list", "x"],
     "bad number of iterations"), (["--frob"], "wrong options")])
def test_wrong_usage_is_told(args, text):
    """exit code 2"""
    out = ctl(*args)
    assert (out.returncode, out.stdout) == (2, "")
    assert text in out.stderr
    assert '--help" for more information' in out.stderr


def test_help_and_version():
    """--help, --version"""
    out = ok(ctl("--help"))
    for word in ("userlist add FILE USER", "userlist remove",
                 "userlist list FILE", "userlist import CONNINFO FILE"):
        assert word in out
    assert re.match(r"pgsluicectl \d+\.\d+", ok(ctl("-V")))


def test_links_and_owner_stay(path):
    """the file that a link names is replaced, not the link"""
    real = os.path.join(os.path.dirname(path), "real")
    put(real, '"bob" "b"\n')
    os.symlink("real", path)
    ok(ctl("userlist", "add", path, "ann", password="x"))
    assert os.path.islink(path)
    assert '"ann"' in text_of(real)
    if os.getuid() != 0:
        return
    # root edits the file of another: it stays his
    subprocess.run([binary(), "userlist", "remove", path, "ann"], check=True,
                   env=process_env())
    st = os.stat(real)
    assert (st.st_uid, st.st_gid) == (harness.USER.pw_uid,
                                      harness.USER.pw_gid)
    assert text_of(real) == '"bob" "b"\n'


def test_many_at_once_lose_nobody(path):
    """each edit sees those before it"""
    procs = [subprocess.Popen([binary(), "userlist", "add", "-n", path,
                               "u%d" % i], env=process_env(), **as_user())
             for i in range(12)]
    assert [p.wait(60) for p in procs] == [0] * 12
    assert sorted(text_of(path).split()[::2]) == sorted(
        '"u%d"' % i for i in range(12))


def talk(args, answers):
    """Run ctl on a terminal; returns its exit code and what it showed."""
    pid, fd = pty.fork()
    if pid == 0:
        if harness.USER is not None:
            os.setgroups([])
            os.setgid(harness.USER.pw_gid)
            os.setuid(harness.USER.pw_uid)
        os.execve(binary(), [binary()] + args, process_env())
    shown = b""
    for prompt, answer in answers:
        while prompt not in shown:
            assert select.select([fd], [], [], 60)[0], shown
            shown += os.read(fd, 1000)
        shown = shown.split(prompt)[1]
        os.write(fd, answer)
    while True:
        try:
            data = os.read(fd, 1000)
        except OSError:
            data = b""
        if not data:
            break
        shown += data
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def test_terminal_is_asked_twice_and_shows_nothing(path):
    """password prompted without echo"""
    args = ["userlist", "add", path, "ann"]
    code, shown = talk(args, [(b"Password of ann: ", b"sesame\n"),
                              (b"Again: ", b"sesame\n")])
    assert code == 0, shown
    assert "sesame" not in shown and "pgsluicectl userlist import" in shown
    assert '"ann" "SCRAM' in text_of(path)
    code, shown = talk(args, [(b"Password of ann: ", b"one\n"),
                              (b"Again: ", b"two\n")])
    assert code == 1 and "the passwords differ" in shown
    assert "one" not in shown and "two" not in shown


def test_interrupt_at_the_prompt_ends_it(path):
    """^C leaves file and terminal as they were"""
    code, shown = talk(["userlist", "add", path, "ann"],
                       [(b"Password of ann: ", b"\x03")])
    assert code == 1 and "no password: Interrupted" in shown
    assert not os.path.exists(path)


# --- import ---------------------------------------------------------------

def conninfo(pg, user="postgres"):
    return "host=%s port=%d user=%s dbname=postgres" % (pg.dir, pg.port, user)


def test_imported_users_log_in(pooler, pg, path):
    """userlist import: to the pooler, and on to the server"""
    put(path, '; kept\n"app" "x"\n"u_md5" "old"\n')
    ok(ctl("userlist", "import", conninfo(pg), path))
    text = text_of(path)
    assert text.startswith('; kept\n"app" "x"\n"u_md5" "md5')
    assert '"u_scram" "%s"\n' % pg.secret("u_scram") in text
    p = pooler(auth_file=path, auth_type="md5", admin_users="app")
    for user in ("u_scram", "u_md5"):
        c = p.raw(user, password=harness.PASSWORDS[user])
        assert c.value("select current_user") == user


def test_import_takes_those_who_are_named(pg, path):
    """userlist import ... USER"""
    ok(ctl("userlist", "import", conninfo(pg), path, "u_md5"))
    assert text_of(path) == '"u_md5" "%s"\n' % pg.secret("u_md5")
    out = ctl("userlist", "import", conninfo(pg), path, "u_pw", "app")
    assert out.returncode == 1
    assert 'the server has no user "app" with a password' in out.stderr
    assert "u_pw" not in text_of(path)


def test_import_leaves_expired_passwords_out(pg, path):
    """CVE-2025-2291, by another way"""
    # regressions: CVE-2025-2291
    pg.sql("create role \"u_gone\x1b\" login password 'x' valid until "
           "'2001-01-01'",
           "create role u_nologin password 'x'")
    try:
        out = ctl("userlist", "import", conninfo(pg), path)
        assert out.returncode == 0
        assert ('the password of "u_gone\\x1b" has expired, left out'
                in out.stderr)
        assert "u_gone" not in text_of(path)
        assert "u_nologin" not in text_of(path)
    finally:
        pg.sql('drop role "u_gone\x1b"', "drop role u_nologin")


def test_import_without_rights_says_so(pg, path):
    """pg_authid, else pg_shadow, else the server's words"""
    out = ctl("userlist", "import", conninfo(pg, "app"), path)
    assert out.returncode == 1
    assert "could not read the users: ERROR:  permission denied for view " \
        "pg_shadow" in out.stderr
    assert not os.path.exists(path)
    pg.sql("grant select on pg_shadow to app")
    try:
        ok(ctl("userlist", "import", conninfo(pg, "app"), path, "u_pw"))
        assert '"u_pw" "%s"\n' % pg.secret("u_pw") == text_of(path)
    finally:
        pg.sql("revoke select on pg_shadow from app")


def test_import_asks_for_the_password(pg, path):
    """a server that wants one"""
    pg.sql("grant select on pg_shadow to u_pw")
    try:
        info = "host=127.0.0.1 port=%d user=u_pw dbname=postgres" % pg.port
        out = ctl("userlist", "import", info, path, "u_md5",
                  password="pw one\n")
        assert out.returncode == 0, out.stderr
        assert text_of(path).startswith('"u_md5" "md5')
        ok(ctl("userlist", "import", info, path, "u_md5",
               PGPASSWORD="pw one"))
        out = ctl("userlist", "import", info, path, password="bad\n")
        assert out.returncode == 1
        assert "password authentication failed" in out.stderr
    finally:
        pg.sql("revoke select on pg_shadow from u_pw")


def test_import_is_not_led_astray_by_search_path(pg, path):
    """CVE-2018-1058: objects of others are not called"""
    pg.sql("create schema trap", "create function trap.now() returns "
           "timestamptz language sql as $$ select 'infinity'::timestamptz $$",
           "create table trap.pg_authid (rolname name)",
           "alter role postgres set search_path = trap, pg_catalog")
    try:
        ok(ctl("userlist", "import", conninfo(pg), path, "u_md5"))
    finally:
        pg.sql("alter role postgres reset search_path",
               "drop schema trap cascade")


def test_no_secret_is_shown_in_messages(pg, path):
    """logging.md 4"""
    put(path, '"ann" "topsecret"\nbroken "topsecret"\n')
    out = ctl("userlist", "list", path)
    assert "topsecret" not in out.stdout + out.stderr
    assert run([binary(), "--help"]).returncode == 0
