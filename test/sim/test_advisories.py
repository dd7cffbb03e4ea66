# test_advisories.py - the newest advisories about poolers, by number.
# SPDX-License-Identifier: ISC
import struct

import pytest

import pq
from harness import REFERENCE
from test_login import refused_bytes, scram_start

pytestmark = pytest.mark.skipif(REFERENCE, reason="they concern it")

# 1 GB is where PostgreSQL ends; an int of 32 bits ends at 2 GB
UP, DOWN = 0x3ffffffe, 0x40000002
LENGTHS = [0x80000000, 0x80000001, 0x80000004, 0x80000005, 0xfffffffc,
           0xffffffff]
LONGEST = 4294967295
FAILED = "SASL authentication failed"


def in_peace(p, database="p1"):
    """Others are served, and nothing is left of what went wrong."""
    with p.open() as c:
        c.login("app", p.userlist["app"], database)
        assert c.value("select 1") == "1"
    assert p.proc.poll() is None


# --- lengths above 2^31 ----------------------------------------------------

@pytest.mark.setting("max_packet_size")
@pytest.mark.parametrize("kind", list("QPBDECHSXdcf") + ["\0", "\xff"])
def test_length_of_a_client_above_the_sign_bit(pooler, kind):
    """an int of 32 bits makes it negative, and past every check"""
    # regressions: CVE-2026-6668, CVE-2026-107348
    p = pooler(max_packet_size=LONGEST)
    for length in [UP + 1] + LENGTHS:
        with p.raw() as c:
            head = kind.encode("latin-1") + struct.pack("!I", length)
            text = refused_bytes(c, head + b"select 1\0")
            assert "bad packet header" in text or "unknown pkt" in text
    in_peace(p)
    p.wait_pool(cl_waiting=0, sv_active=0)


@pytest.mark.parametrize("kind", ["T", "D", "C", "Z", "E", "N", "S", "d"])
def test_length_of_a_server_above_the_sign_bit(pooler, fakepg, kind):
    """the same from the other side: its client hears of it, and it is gone"""
    # regressions: CVE-2026-6668, CVE-2026-107348
    def handler(sess, tag, body):
        if tag != "Q":
            return False
        sess.send(kind.encode() + struct.pack("!I", length) + b"x" * 64)
        return True
    for length in (DOWN + 1, LENGTHS[0], LENGTHS[3], LENGTHS[-1]):
        f = fakepg(handler=handler)
        p = pooler({"p0": f.conn, "p1": ""}, max_packet_size=LONGEST)
        with p.raw() as c:
            c.send(pq.query("select 1"))
            assert c.recv_all().errors[-1].severity == "FATAL"
        in_peace(p)
        p.wait_pool(sv_active=0)


# --- SCRAM -----------------------------------------------------------------

def test_server_that_asks_for_all_iterations(pooler, fakepg):
    """2^31 - 1 of them are half an hour of a processor"""
    # regressions: CVE-2026-6669
    def on_login(sess):
        sess.send(pq.msg("R", struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0"))
        body = sess.read_msg()[1]
        nonce = body[body.index(b"r=") + 2:]
        sess.send(pq.msg("R", struct.pack("!i", 11) + b"r=" + nonce +
                         b"x,s=c2FsdA==,i=2147483647"))
        sess.read_msg()
    f = fakepg(on_login=on_login)
    p = pooler({"p0": f.conn, "p1": ""}, client_login_timeout=3)
    with pytest.raises((pq.PgError, pq.Closed)):
        p.raw()
    assert "bad iteration count in SCRAM challenge" in p.log
    in_peace(p)


@pytest.mark.parametrize("final", [
    b"", b"\0", b",", b",,", b"=", b"c=", b"c=biws", b"c=biws,", b"c=biws,r=",
    b"r=%s", b"p=%p", b"c=biws,p=%p", b"r=%s,p=%p", b"c=biws,r=%s",
    b"c=biws,r=%s,", b"c=biws,r=%s,p=", b"c=biws,r=%s,p", b"c=biws,r=%s,p=\0",
    b"c=biws,r=%s\0,p=%p", b"c=biws\0,r=%s,p=%p", b"\0c=biws,r=%s,p=%p",
    b"c=biws,r=%s,p=%p\0", b"c=biws,r=%s,p=%p,", b"c=biws,r=%s,x=1",
    b"c,r,p", b"p=%p,c=biws,r=%s", b"c=biws,r=%s,x\0=1,p=%p"])
def test_client_final_message_without_its_parts(pooler, final):
    """a NULL pointer for each part that is missing"""
    # regressions: CVE-2026-19888
    p = pooler(auth_type="scram-sha-256")
    c = scram_start(p)
    s = pq.ScramClient("apppw")
    c.send(pq.msg("p", pq.cstr("SCRAM-SHA-256") + s.first()))
    right = s.reply(c.recv()[1][4:])
    _, nonce, proof = [f[2:] for f in right.split(b",", 2)]
    final = final.replace(b"%s", nonce).replace(b"%p", proof)
    assert final != right
    assert refused_bytes(c, pq.msg("p", final)) == FAILED
    in_peace(p)


# --- start-up packets ------------------------------------------------------

@pytest.mark.setting("ignore_startup_parameters")
@pytest.mark.parametrize("ignored", ["", "options", "options,", ",", "=",
                                     "extra_float_digits"])
@pytest.mark.parametrize("options", [
    "-c=", "-c =", "-c", "--", "--=", "-c=x", "--=x", "-c  =", "-c\t=",
    "-c x=1 -c=", "-c=\\", "\\", "-c \\==1"])
def test_option_without_a_name(pooler, options, ignored):
    """an empty name, looked up in the list of those to ignore"""
    # regressions: CVE-2026-107349
    p = pooler(ignore_startup_parameters=ignored)
    text = refused_bytes(p.open(), pq.startup(
        {"user": "app", "database": "p0", "options": options}))
    assert "options" in text
    in_peace(p)


@pytest.mark.parametrize("second", [
    {"user": "app"}, {"user": "app", "database": "p0"}, {"user": "admin"},
    {"database": "p0"}, {}])
@pytest.mark.parametrize("step", ["asked", "challenged"])
def test_second_startup_in_the_exchange(pooler, step, second):
    """the first had named no database, and the second freed what it left"""
    # regressions: CVE-2026-107350
    p = pooler({"app": "dbname=p0", "p0": "", "p1": ""},
               auth_type="scram-sha-256")
    c = p.open()
    c.send(pq.startup({"user": "app"}))
    assert c.recv()[0] == "R"
    if step == "challenged":
        c.send(pq.msg("p", pq.cstr("SCRAM-SHA-256") +
                      pq.ScramClient("apppw").first()))
        assert c.recv()[0] == "R"
    assert refused_bytes(c, pq.startup(second)) == \
        "client re-sent startup pkt"
    in_peace(p)
