# test_shapes_1_18.py - what a script for PgBouncer 1.18 (Debian 12) will notice.
# SPDX-License-Identifier: ISC
"""The columns of Debian's pgbouncer 1.18, asked for each topic; the table of
doc/migrating.md names each that is new, and each that is gone."""
import os
import re

import pytest

from harness import ROOT

SOCKET = ("type user database state addr port local_addr local_port"
          " connect_time request_time wait wait_us close_needed ptr link"
          " remote_pid tls application_name")
BUFFERS = (" recv_pos pkt_pos pkt_remain send_pos send_remain pkt_avail"
           " send_avail")
SUMS = ("database xact_count query_count bytes_received bytes_sent xact_time"
        " query_time wait_time")
OLD = {
    "CLIENTS": SOCKET, "SERVERS": SOCKET, "SOCKETS": SOCKET + BUFFERS,
    "ACTIVE_SOCKETS": SOCKET + BUFFERS,
    "CONFIG": "key value default changeable",
    "DATABASES": "name host port database force_user pool_size min_pool_size"
                 " reserve_pool pool_mode max_connections current_connections"
                 " paused disabled",
    "DNS_HOSTS": "hostname ttl addrs", "DNS_ZONES": "zonename serial count",
    "LISTS": "list items", "MEM": "name size used free memtotal",
    "POOLS": "database user cl_active cl_waiting cl_active_cancel_req"
             " cl_waiting_cancel_req sv_active sv_active_cancel"
             " sv_being_canceled sv_idle sv_used sv_tested sv_login maxwait"
             " maxwait_us pool_mode",
    "STATS": "database total_xact_count total_query_count total_received"
             " total_sent total_xact_time total_query_time total_wait_time"
             " avg_xact_count avg_query_count avg_recv avg_sent avg_xact_time"
             " avg_query_time avg_wait_time",
    "STATS_AVERAGES": SUMS, "STATS_TOTALS": SUMS, "TOTALS": "name value",
    "USERS": "name pool_mode", "VERSION": "version",
}


def now():
    path = os.path.join(ROOT, "doc", "spec", "show-shapes-1.25.2.txt")
    with open(path, encoding="utf-8") as f:
        lines = [line.split() for line in f]
    return {line[0]: [c.partition(":")[0] for c in line[1:]] for line in lines
            if line and line[0].isupper()}


def rows():
    """{topic: the rest of its row}"""
    path = os.path.join(ROOT, "doc", "migrating.md")
    with open(path, encoding="utf-8") as f:
        part = f.read().partition("### Scripts for older releases")[2]
    found = {}
    for line in part.partition("\n### ")[0].split("\n"):
        cells = line.split(" | ")
        for topic in re.findall(r"`SHOW (\w+)`", cells[0]):
            found[topic] = line[len(cells[0]):]
    return found


@pytest.mark.parametrize("topic", sorted(now()))
def test_table_names_each_difference(topic):
    old, new = OLD.get(topic, "").split(), now()[topic]
    told = rows()
    if old == new:
        assert topic not in told
        return
    if topic not in OLD:
        assert "is new" in told[topic]
        return
    named = set(re.findall(r"`(\w+)`", told[topic]))
    assert set(old) ^ set(new) <= named, sorted(set(old) ^ set(new) - named)


def test_order_of_the_old_columns_is_kept():
    for topic, columns in OLD.items():
        if topic == "DATABASES":
            columns = columns.replace("reserve_pool ", "reserve_pool_size ")
        kept = [c for c in now()[topic] if c in columns.split()]
        assert kept == columns.split(), topic
