# test_environment.py - settings in the environment.
# SPDX-License-Identifier: ISC
"""config-files.md 23"""
import subprocess

import pytest

from harness import REFERENCE, binary, free_port, process_env
from test_ctl import ctl

pytestmark = pytest.mark.skipif(REFERENCE, reason="pgsluice only")


@pytest.fixture
def with_env(pooler):
    """Starts a pooler with these variables."""
    def start(env, dbs=None, **settings):
        p = pooler(start=False, dbs=dbs, **settings)
        p.env.update(env)
        return p.start()
    return start


def setting(p, key):
    with p.raw("admin", "pgbouncer", password="adminpw") as c:
        rows = c.query("show config extended").dicts
    row = [r for r in rows if r["key"] == key][0]
    return row["value"], row["source"]


def line_of(p, start):
    with open(p.ini) as f:
        lines = f.read().split("\n")
    return "%s:%d" % (p.ini, [i for i, line in enumerate(lines, 1)
                              if line.startswith(start)][0])


def check(p, env):
    p.write()
    out = subprocess.run([binary(), "--check", p.ini],
                         env={**process_env(), **env}, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return out.returncode, out.stdout


def test_variable_is_a_default_and_the_file_overrides_it(with_env):
    p = with_env({"PGSLUICE_DEFAULT_POOL_SIZE": "7",
                  "PGSLUICE_POOL_MODE": "session"}, pool_mode="statement")
    assert setting(p, "default_pool_size") == (
        "7", "environment (PGSLUICE_DEFAULT_POOL_SIZE)")
    assert setting(p, "pool_mode") == ("statement", line_of(p, "pool_mode"))
    assert setting(p, "min_pool_size") == ("0", "default")
    p.reload()
    assert setting(p, "default_pool_size")[0] == "7"
    p.settings["default_pool_size"] = 3
    p.reload()
    assert setting(p, "default_pool_size") == (
        "3", line_of(p, "default_pool_size"))


def test_second_main_section_goes_back_to_the_environment(with_env):
    """as it goes back to the defaults without one"""
    p = with_env({"PGSLUICE_MAX_USER_CONNECTIONS": "9"},
                 max_user_connections=4)
    with open(p.ini) as f:
        text = f.read()
    main = text[text.index("[pgbouncer]"):].replace(
        "max_user_connections = 4\n", "")
    p._put(p.ini, text + main)
    p.admin("reload")
    assert setting(p, "max_user_connections") == (
        "9", "environment (PGSLUICE_MAX_USER_CONNECTIONS)")


def test_forced_variable_overrides_the_file_and_what_was_persisted(with_env):
    p = with_env({"PGSLUICE_FORCE_RESERVE_POOL_SIZE": "2"},
                 reserve_pool_size=5)
    want = ("2", "environment (PGSLUICE_FORCE_RESERVE_POOL_SIZE)")
    assert setting(p, "reserve_pool_size") == want
    p.admin("set reserve_pool_size = 4")
    assert setting(p, "reserve_pool_size") == ("4", "SET")
    p.admin("reload")
    assert setting(p, "reserve_pool_size") == want


def test_keys_of_the_environment_stand_before_those_of_each_line(with_env):
    p = with_env({"PGSLUICE_DATABASE_KEYS": "pool_size=3 min_pool_size=1"},
                 dbs={"p0": "", "p1": "pool_size=5", "*": ""})
    sizes = {r["name"]: (r["pool_size"], r["min_pool_size"])
             for r in p.show("databases")}
    assert sizes["p0"] == ("3", "1") and sizes["p1"] == ("5", "1")
    p.raw(database="postgres").query("select 1")
    assert {r["name"]: r["pool_size"] for r in p.show("databases")}[
        "postgres"] == "3"


def test_unknown_variable_gets_a_warning_with_the_one_that_was_meant(with_env):
    p = with_env({"PGSLUICE_DEFUALT_POOL_SIZE": "7",
                  "PGSLUICE_FORCE_POOL_MOD": "session"})
    p.wait_log("WARNING PGSLUICE_DEFUALT_POOL_SIZE in the environment is not "
               r'a setting \(did you mean "PGSLUICE_DEFAULT_POOL_SIZE"\?\)')
    p.wait_log("WARNING PGSLUICE_FORCE_POOL_MOD in the environment is not "
               r'a setting \(did you mean "PGSLUICE_FORCE_POOL_MODE"\?\)')


def test_variables_of_a_kubernetes_service_are_no_settings(with_env):
    service = {"SERVICE_HOST": "10.0.0.1", "SERVICE_PORT": "6432",
               "SERVICE_PORT_POSTGRES": "6432", "PORT": "tcp://10.0.0.1:6432",
               "PORT_6432_TCP": "tcp://10.0.0.1:6432",
               "PORT_6432_TCP_PROTO": "tcp", "PORT_6432_TCP_PORT": "6432",
               "PORT_6432_TCP_ADDR": "10.0.0.1"}
    env = {"PGSLUICE_" + name + k: v for k, v in service.items()
           for name in ("", "RW_", "LISTEN_")}
    p = with_env(env)
    assert "WARNING" not in p.log
    assert setting(p, "listen_port") == (
        str(p.port), line_of(p, "listen_port"))


@pytest.mark.parametrize("env,text", [
    ({"PGSLUICE_POOL_MODE": "often"}, "invalid value for parameter pool_mode "
     "in the environment (PGSLUICE_POOL_MODE)"),
    ({"PGSLUICE_FORCE_POOL_MODE": "often"}, "invalid value for parameter "
     "pool_mode in the environment (PGSLUICE_FORCE_POOL_MODE)"),
    ({"PGSLUICE_DATABASE_KEYS": "pool_sise=3"},
     "invalid PGSLUICE_DATABASE_KEYS in the environment")])
def test_bad_value_in_the_environment_is_a_problem(pooler, env, text):
    p = pooler(start=False)
    code, out = check(p, env)
    assert code == 1 and text in out


def test_control_program_knows_the_environment(with_env):
    """where the console is"""
    port = free_port()
    p = with_env({"PGSLUICE_FORCE_LISTEN_PORT": str(port)})
    p.port = port
    out = ctl("status", "-c", p.ini, PGSLUICE_FORCE_LISTEN_PORT=str(port))
    assert out.stdout.endswith("well\n"), out.stderr
