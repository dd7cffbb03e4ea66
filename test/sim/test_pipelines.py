# test_pipelines.py - what the random programs have found, case by case.
# SPDX-License-Identifier: ISC
import pytest

import pq
from compare import Runner
from harness import REFERENCE, cluster
from programs import Flight

pytestmark = pytest.mark.skipif(REFERENCE, reason="differs")

BAD = [pq.execute("nosuch")]
LONG = "a long name " * 5 + "end"  # 63 bytes: all that count
TRY = [pq.bind("s1"), pq.execute(), pq.sync()]


def one(name="s1"):
    return [pq.parse("select 1", name)]


def two(name="s2"):
    return [pq.parse("select 2", name)]


def run(name):
    return [pq.bind(name), pq.execute()]


# name: flights, each sent in one piece; the client waits behind it if it ends
# in what the server answers
CASES = {
    "name_of_a_failed_parse_is_free_in_the_next_pipeline":
        [[pq.parse("selec", "s1"), pq.sync()] + one() + TRY],
    "parse_behind_an_error_has_not_happened":
        [BAD + one() + [pq.sync()] + one() + TRY],
    "parse_that_is_discarded_frees_its_text":
        [BAD + [pq.flush()], one() + two() + [pq.sync()], one() + TRY],
    "close_behind_an_error_has_not_happened":
        [one() + [pq.sync()],
         BAD + [pq.close("S", "s1"), pq.sync()] + TRY],
    "text_of_a_failed_pipeline_is_prepared_by_the_next":
        [BAD + one("s3") + [pq.sync()] + one() + TRY],
    "eviction_behind_an_error_has_not_happened":
        [one() + [pq.sync()], BAD + two() + [pq.sync()] + TRY
         + run("s1") + [pq.sync()]],
    "eviction_inside_a_discarded_pipeline_ends":
        [one() + [pq.sync()], BAD + [pq.flush()],
         two() + [pq.parse("select 3", "s3"), pq.sync()], TRY],
    "failed_parse_does_not_come_back_by_eviction":
        [BAD + one() + [pq.sync()] + two() + BAD + [pq.sync()]
         + one() + TRY],
    "known_text_in_a_failed_transaction":
        [one("s3") + [pq.sync()], [pq.query("begin"), pq.query("select 1/0")]
         + one() + TRY + [pq.query("rollback")] + one() + TRY],
    "rollback_is_parsed_in_a_failed_transaction":
        [[pq.parse("rollback", "s3"), pq.sync()],
         [pq.query("begin; select 1/0"), pq.parse("rollback", "s1")] + TRY
         + [pq.query("select 1")]],
    "parse_of_a_taken_name_with_a_wrong_text":
        [one() + [pq.sync()], [pq.parse("selec", "s1"), pq.sync()], TRY],
    "taken_name_in_a_failed_transaction":
        [one() + [pq.query("begin; select 1/0")], two("s1") + [pq.sync()],
         [pq.query("rollback")], TRY],
    "unknown_name_behind_an_error_is_not_looked_at":
        [BAD + TRY, BAD + [pq.flush()], [pq.describe("S", "no"), pq.sync()]],
    "unknown_name_is_told_in_order":
        [[pq.query("select 1"), pq.query("select 2")] + TRY],
    "taken_name_is_told_in_order":
        [one() + [pq.query("select 2")] + two("s1") + [pq.sync()]],
    "discard_all_by_execute":
        [one() + [pq.sync(), pq.parse("discard all"), pq.bind(),
                  pq.execute(), pq.sync()] + one() + TRY],
    "discard_all_behind_an_empty_statement":
        [one() + [pq.sync(), pq.parse("select 1"), pq.bind(), pq.execute(),
                  pq.parse("; discard all"), pq.bind(), pq.execute(),
                  pq.sync()] + one() + TRY],
    "discard_all_behind_a_query":
        [one() + [pq.sync(), pq.query("select 1"), pq.query("select 2; ; "
                  "discard all")] + one() + TRY],
    "deallocate_all_by_a_named_statement":
        [one() + [pq.parse("deallocate all", "s2"), pq.sync()],
         [pq.bind("s2"), pq.execute(), pq.sync()] + one() + TRY],
    "discard_all_that_fails":
        [one() + [pq.query("begin"), pq.query("discard all"),
                  pq.query("rollback")] + TRY],
    "error_calls_the_statement_by_the_clients_name":
        [one() + [pq.bind("s1", ("1", "2")), pq.sync()],
         [pq.parse("select $1::int", LONG + "cut" * 1600),
          pq.bind(LONG), pq.sync()]],
    "error_calls_a_closed_statement_by_the_clients_name":
        [one() + [pq.bind("s1", ("1", "2")), pq.close("S", "s1"),
                  pq.sync(), pq.close("S", "s1"), pq.sync()]],
    "hold_without_sync_asks_for_the_answers":
        [BAD + one() + [pq.sync()] + one() + run("s1") + [pq.flush()],
         [pq.sync()]],
}


@pytest.mark.parametrize("cut", [0, 1, 7])
@pytest.mark.parametrize("size", [1, 100])
def test_pipelines(pooler, size, cut):
    """spec pooling.md 14, 16: as PostgreSQL, to the byte"""
    p = pooler({"p0": ""}, default_pool_size=1, query_wait_notify=0,
               max_prepared_statements=size)
    runner = Runner((cluster().port, p.port), "app", "p0", True)
    found = {}
    for name, flights in CASES.items():
        prog = [Flight([f], True, cut) for f in flights]
        why = runner(prog + [Flight([[pq.query("select 'end'")]], True, 0)])
        if why:
            found[name] = why
    assert not found, "\n".join("%s: %s" % i for i in found.items())
