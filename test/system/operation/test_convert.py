# test_convert.py - pgsluicectl convert: the files of PgCat and Odyssey.
# SPDX-License-Identifier: ISC
import os
import shutil
import stat

import pytest

from harness import HERE, REFERENCE, give, make_tmp
from test_ctl import ctl, put, text_of

pytestmark = pytest.mark.skipif(REFERENCE, reason="pgsluice only")
SAMPLES = os.path.join(HERE, "convert")


@pytest.fixture
def folder():
    path = make_tmp()
    yield give(path)
    shutil.rmtree(path)


def convert(folder, text, name="file"):
    path = os.path.join(folder, name)
    put(path, text)
    return ctl("convert", path, folder)


def made(folder, out):
    """Remarks and both files, as they stand in the folder of samples."""
    return "".join(
        "# %s\n%s" % (name, text.replace(folder, "FOLDER")) for name, text in (
            ("remarks", out.stderr),
            ("pgsluice.ini", text_of(os.path.join(folder, "pgsluice.ini"))),
            ("userlist.txt", text_of(os.path.join(folder, "userlist.txt"))),
            ("hba.conf", text_of(os.path.join(folder, "hba.conf")))))


@pytest.mark.parametrize("name", ["pgcat.toml", "odyssey.conf"])
def test_sample_is_converted_as_recorded(folder, name):
    """what is made passes the check; all that is left out is told"""
    sample = os.path.join(SAMPLES, name)
    out = convert(folder, text_of(sample), name)
    assert out.returncode == 0, out
    assert made(folder, out) == text_of(sample + ".out")
    ini = os.path.join(folder, "pgsluice.ini")
    assert "no problems found" in ctl("check", ini).stdout
    for made_one in ("pgsluice.ini", "userlist.txt", "hba.conf"):
        path = os.path.join(folder, made_one)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


@pytest.mark.parametrize("text,why", [
    ("[general]\nport = \n", "line 2: Invalid value"),
    ("listen {\n", "line 2: a { without a }"),
    ("[general]\nport = 1\n", "has no pool"),
    ("daemonize no\n", "has no pool"),
    ('database "default" {\n}\n', "line 1: a name that without its quotes"),
    ('[pools.a.shards.0]\nservers = ["db1", 5432]\n',
     "line 2: servers are not [host, port, role]"),
    ('[pools.a.shards.0]\nservers = [["h", 1, "primary"]]\n'
     'database = "a\\nb"\n', "line 3: a control character"),
    ('[pools."*".shards.0]\nservers = [["h", 1, "primary"]]\n',
     'line 2: no entry can have the name "*"'),
    ('[pools.a.shards.0]\nservers = [["h", 1, "primary"]]\n'
     '[pools.a.shards.1]\nservers = [["i", 1, "primary"]]\n'
     '[pools.a_1.shards.0]\nservers = [["j", 1, "primary"]]\n',
     'line 6: no entry can have the name "a_1"')])
def test_what_cannot_be_read_makes_no_file(folder, text, why):
    out = convert(folder, text)
    assert out.returncode == 1 and why in out.stderr
    assert os.listdir(folder) == ["file"]


def test_a_file_that_is_there_stays(folder):
    path = os.path.join(folder, "pgsluice.ini")
    put(path, "mine")
    out = convert(folder, text_of(os.path.join(SAMPLES, "pgcat.toml")))
    assert out.returncode == 1 and "File exists" in out.stderr
    assert text_of(path) == "mine"
    assert sorted(os.listdir(folder)) == ["file", "pgsluice.ini"]


def test_no_password_is_needed_by_no_choice_of_ours(folder):
    """authentication "none" lets in nobody until its owner writes a rule"""
    text = text_of(os.path.join(SAMPLES, "odyssey.conf"))
    out = convert(folder, 'unix_socket_dir "/run"\n' + text.replace(
        '"md5"', '"none"').replace('"scram-sha-256"', '"none"'))
    assert out.returncode == 0
    rules = text_of(os.path.join(folder, "hba.conf")).splitlines()[1:]
    assert 'local "shop" "alice" reject' in rules
    assert {rule.split()[-1] for rule in rules} == {"reject"}


STORAGE = """storage "s" { type "remote" host "h" port 1 }
storage "l" { type "local" }
database "a" { user "ann" { authentication "md5" password "x" storage "s" } }
"""
ASKED = 'auth_query "select" auth_query_user "u" storage "s"'


@pytest.mark.parametrize("text,rule", [
    # ann's password is that of a, and of no other database
    ('database default { user default { authentication "md5" %s } }' % ASKED,
     'host all "ann" all reject'),
    ('database "b" { user default { authentication "md5" %s } }' % ASKED,
     'host "b" "ann" all reject'),
    # another's auth_query lets in nobody else
    ('database "b" { user "bob" { authentication "md5" %s }\n'
     'user default { authentication "md5" storage "s" } }' % ASKED,
     'host "b" all all reject'),
    ('database "b" { user "bob" { authentication "md5" %s }\n'
     'user default { authentication "md5" password "x" storage "s" } }'
     % ASKED, 'host "b" all all reject'),
    ('database "b" { user "bob" { authentication "md5" %s }\n'
     'user "carl" { authentication "md5" storage "s" } }' % ASKED,
     'host "b" "carl" all reject'),
    # whose certificate it is
    ('database "b" { user "bob" { authentication "cert" storage "s"\n'
     'auth_common_name "carl" } }', 'host "b" "bob" all reject'),
    ('database "b" { user "bob" { authentication "cert" storage "s"\n'
     'auth_common_name default } }', 'host "b" "bob" all cert'),
    # what the console lets do
    ('database "c" { user "ann" { authentication "md5" password "x"\n'
     'role "notallow" storage "l" } }', 'host "pgbouncer" all all reject'),
])
def test_nobody_gets_more_than_he_had(folder, text, rule):
    assert convert(folder, STORAGE + text).returncode == 0
    rules = text_of(os.path.join(folder, "hba.conf")).splitlines()
    assert rule in rules
    assert 'host "a" "ann" all md5' in rules
    assert 'host "pgbouncer" "ann" all md5' not in rules


def test_who_may_only_look_becomes_no_admin(folder):
    out = convert(folder, STORAGE + 'database "c" { user "ann" { '
                  'authentication "md5" password "x" role "stat" '
                  'storage "l" } }')
    assert out.returncode == 0
    ini = text_of(os.path.join(folder, "pgsluice.ini"))
    assert "stats_users = ann" in ini and "admin_users" not in ini


def test_a_port_that_was_off_stays_closed(folder):
    text = text_of(os.path.join(SAMPLES, "pgcat.toml"))
    out = convert(folder, text.replace("exporter = true", "exporter = false"))
    assert out.returncode == 0
    assert "http" not in text_of(os.path.join(folder, "pgsluice.ini"))


def test_what_is_missing_is_told(folder):
    """the program, or Python"""
    out = ctl("convert", "a", "b", PGSLUICECTL_LIBEXEC=folder)
    assert out.returncode == 1 and "convert is not installed: could not " \
        f"read {folder}/convert/__main__.py" in out.stderr
    out = ctl("convert", "a", "b", PATH=folder)
    assert out.returncode == 1
    assert "convert needs Python 3.11 or newer" in out.stderr
    out = ctl("convert", "a")
    assert out.returncode == 2 and "an argument is missing" in out.stderr
    out = ctl("convert", "--json", "a", "b")
    assert out.returncode == 2 and "no such option" in out.stderr


@pytest.mark.parametrize("text,why", [
    (None, "could not read FOLDER/file: No such file or directory"),
    (b"a {\0", "FOLDER/file has a NUL byte in it"),
    (b"[a]\n\xff = 1", "FOLDER/file: line 2: "),
    (b'a\xe2\x80\xae 1', "no pool, and no database with a storage"),
], ids=["none", "nul", "latin1", "direction"])
def test_file_that_is_none_is_told(folder, text, why):
    path = os.path.join(folder, "file")
    if text is not None:
        with open(path, "wb") as f:
            f.write(text)
        give(path)
    out = ctl("convert", path, folder)
    assert out.returncode == 1 and why.replace("FOLDER", folder) in out.stderr
    assert "\u202e" not in out.stderr
    out = ctl("convert", folder, folder)
    assert out.returncode == 1 and "Is a directory" in out.stderr
