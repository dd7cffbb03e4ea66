# fixtures.py - fixtures shared by test/system, test/sim and test/clients.
# SPDX-License-Identifier: ISC
"""Whoever imports this finds the test files of all folders of test/system,
too: some lend helpers to others."""
import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys

import pytest

import certs as certs_module
import harness

for name in ("login", "pooling", "state", "operation", "console"):
    sys.path.append(os.path.join(harness.HERE, name))

LIMIT = 600 if not harness.BIG else 1200


# What release 1.18 of the reference lacks or does wrong: these tests are
# skipped there, so that the harness can be checked against it.
OLD = """
test_overlong_words_are_refused test_pause_under_load
test_empty_stored_secret_never_authenticates[scram
test_scram_lying_length_is_refused test_options_
test_fallback_database_is_made_on_demand
test_missing_server_database_reaches_the_client
test_startup_parameter_follows_its_client[application_name
test_parameter_follows_its_client[application_name
test_slow_login_does_not_hold_up_others
test_wrong_server_password_text_reaches_the_client
test_pool_size_is_taken_from_database_or_user
test_min_pool_size_is_filled_without_clients
test_query_behind_a_failed_batch_is_discarded
test_function_call_behind_a_failed_batch test_copy_in_all_in_one_write
test_scram_first_segment_split_is_put_together
test_bad_startup_is_refused_with_its_text
test_large_startup_packet_is_accepted
test_newer_protocols_are_negotiated_down test_failing_logins_fail_fast
""".split()


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("root") and harness.USER is None:
            item.add_marker(pytest.mark.skip(reason="needs root"))
    if not harness.REFERENCE:
        return
    for item in items:
        if any(item.name.startswith(n) for n in OLD):
            item.add_marker(pytest.mark.skip(reason="newer than that"))


def pytest_configure(config):
    """What a test shows the effect of; see test/lint/covered.py."""
    for kind in ("setting", "database", "user", "peer", "option"):
        config.addinivalue_line("markers", kind + "(*names): what the test "
                                "shows the effect of")
    config.addinivalue_line("markers", "root: processes of several users")


@contextlib.contextmanager
def preloadable(name):
    """For LD_PRELOAD: what the C file of this name does."""
    compiler = shutil.which("cc") or shutil.which("gcc") or \
        shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = harness.make_tmp()
    path = os.path.join(folder, name + ".so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          name + ".c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", path, source,
                    "-ldl"], check=True)
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def slow_disk():
    """Files that do not come, see hang.c."""
    with preloadable("hang") as path:
        yield harness.preload_file(path)


@pytest.fixture(scope="session")
def stops():
    """A process that stops before it says a certain word, see stop.c."""
    with preloadable("stop") as path:
        yield harness.preload_file(path)


@pytest.fixture(scope="session")
def wall():
    """A wall clock that can be set, see wall.c."""
    with preloadable("wall") as path:
        yield harness.preload_file(path)


@pytest.fixture(scope="session")
def turn_clock():
    """How long turns are, see turn_clock.c."""
    with preloadable("turn_clock") as path:
        yield harness.preload_file(path)


@pytest.fixture(scope="session")
def names():
    """A resolver for programs other than ours, see names.c."""
    with preloadable("names") as path:
        yield path


@pytest.fixture(autouse=True)
def deadline(request):
    """No test may hang: an alarm breaks whatever it waits for."""
    def ring(*_):
        raise AssertionError("test exceeded %d s" % LIMIT)
    old = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LIMIT)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)


@pytest.fixture
def pg():
    """The scratch PostgreSQL of this test process."""
    return harness.cluster()


@pytest.fixture
def latch(pg):
    """Lets queries of database p0 last as long as the test wants."""
    held = harness.Latch(pg)
    yield held
    held.open()


@pytest.fixture
def many_files():
    """The test may have as many open as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def certs():
    """Authorities and certificates, see certs.py."""
    return certs_module.certs()


@pytest.fixture
def tls_pg(certs):
    """A PostgreSQL of its own that speaks TLS and offers SCRAM-PLUS."""
    return harness.tls_cluster(certs)


@pytest.fixture
def pooler(pg):
    """Starts poolers; each must have ended well when the test is over."""
    made = []

    def make(*args, **kw):
        start = kw.pop("start", True)
        p = harness.Pooler(*args, start=False, **kw)
        made.append(p)
        if start:
            p.start()
        return p
    yield make
    errors = []
    for p in made:
        try:
            p.stop()
        except AssertionError as e:
            errors.append(str(e))
    harness.expel()
    assert not errors, "\n".join(errors)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failing test shows the end of its poolers' logs."""
    rep = (yield).get_result()
    if rep.when != "call" or not rep.failed:
        return
    fn = item.funcargs.get("pooler")
    for cell in getattr(fn, "__closure__", None) or ():
        if isinstance(cell.cell_contents, list):
            for p in cell.cell_contents:
                if isinstance(p, harness.Pooler):
                    rep.sections.append(("pooler log", p.log[-5000:]))


_told = set()


def pytest_runtest_logreport(report):
    """A run that is cut short has named its failures by then."""
    key = report.nodeid, report.when
    if report.failed and key not in _told \
            and "PYTEST_XDIST_WORKER" not in os.environ:
        _told.add(key)		# we are a part of several conftest.py
        print("\nFAILED %s (%s)" % key, flush=True)


def pytest_unconfigure(config):
    harness.shutdown()
    certs_module.shutdown()
