# test_login.py - the start-up dialogue and client authentication.
# SPDX-License-Identifier: ISC
import os
import struct

import psycopg
import pytest

import pq
from harness import REFERENCE, code_of, wait_until


def refused(conn, **kw):
    """Log in, expecting a FATAL; returns its text."""
    with pytest.raises(pq.PgError) as e:
        conn.login(**kw)
    err = e.value
    assert err.severity == "FATAL"
    hint = {"H"} if err.code == "28P01" or \
        err.message.startswith((
            "no such database", "not allowed", "bouncer config error",
            "server login failed",
            "no more connections allowed (max_client_conn)",
            "unsupported startup parameter")) else set()
    assert set(err.fields) == {"S", "V", "C", "M"} | hint or REFERENCE
    assert err.code == code_of(err.message)
    assert conn.at_eof()
    return err.message


def refused_bytes(conn, data):
    """Send bytes, expecting one FATAL and the end; returns its text."""
    conn.send(data)
    res = conn.recv_all()
    assert res.kinds.endswith("E"), res.messages
    assert res.errors[0].severity == "FATAL"
    assert res.errors[0].code == code_of(res.errors[0].message)
    return res.errors[0].message


# --- methods --------------------------------------------------------------

def test_trust_known_user_is_let_in(pooler):
    """authentication.md 3: trust"""
    assert pooler().raw().value("select current_user") == "app"


def test_trust_unknown_user_is_refused(pooler):
    """authentication.md 3, 7"""
    p = pooler()
    assert refused(p.open(), user="nobody_here", database="p0") == \
        '"trust" authentication failed'


def test_any_uses_the_forced_user(pooler):
    """authentication.md 2, 3: any"""
    p = pooler({"p0": "user=app2", "p1": ""}, auth_type="any")
    assert p.raw("whoever").value("select current_user") == "app2"
    assert refused(p.open(), user="app", database="p1") == \
        "bouncer config error"
    assert refused(p.open(), user="app", database="missing") == \
        "bouncer config error"


SECRETS = [("plain", "plain"), ("plain", "md5"), ("plain", "scram"),
           ("md5", "plain"), ("md5", "md5"), ("md5", "scram"),
           ("scram-sha-256", "plain"), ("scram-sha-256", "scram")]


def secret(kind, user="app", pw="s3cret 'é"):
    return {"plain": pw, "md5": pq.md5_secret(user, pw),
            "scram": pq.scram_secret(pw)}[kind]


@pytest.mark.setting("auth_type", "auth_file")
@pytest.mark.parametrize("method,kind", SECRETS)
def test_right_password_is_accepted(pooler, method, kind):
    """authentication.md 3.1, 3.2"""
    # a MD5/SCRAM secret is no password towards the server: force the user
    p = pooler({"p0": "user=app"}, {"app": secret(kind), "admin": "adminpw"},
               auth_type=method)
    c = p.raw("app", password="s3cret 'é")
    assert c.value("select 1") == "1"
    with p.connect(password="s3cret 'é") as c:
        assert c.execute("select 2").fetchone() == (2,)


@pytest.mark.parametrize("method,kind", SECRETS)
def test_wrong_password_and_unknown_user_look_alike(pooler, method, kind):
    """authentication.md 7; client-errors.md 3"""
    p = pooler({"p0": "user=app"}, {"app": secret(kind)}, auth_type=method)
    texts = set()
    for user, db in (("app", "p0"), ("ghost", "p0"), ("app", "nodb")):
        texts.add(refused(p.open(), user=user, password_="wrong",
                          database=db))
    scram = method == "scram-sha-256" or (method, kind) == ("md5", "scram")
    if (method, kind) == ("md5", "scram") and REFERENCE:
        # the ghost has no SCRAM secret: it is asked for MD5
        assert texts == {"SASL authentication failed",
                         "password authentication failed"}
    else:
        assert texts == {"SASL authentication failed" if scram
                         else "password authentication failed"}


UNUSABLE = ["SCRAM-SHA-256$2000000:" + pq.scram_secret("x").split(":", 1)[1],
            "SCRAM-SHA-512$" + pq.scram_secret("x").split("$", 1)[1],
            pq.md5_secret("app", "x").upper(),
            "md5" + pq.md5_secret("app", "x")[3:].upper(),
            pq.scram_secret("x")[:-5]]


@pytest.mark.skipif(REFERENCE, reason="newer than that")
@pytest.mark.parametrize("method", ["plain", "md5", "scram-sha-256"])
def test_secret_that_only_looks_like_a_hash_is_no_password(pooler, method):
    """config-files.md 7: neither its own text nor any other logs in"""
    users = {"u%d" % i: s for i, s in enumerate(UNUSABLE)}
    p = pooler({"p0": "user=app"}, dict(users, app="apppw"),
               auth_type=method)
    wrong = "SASL authentication failed" if method == "scram-sha-256" \
        else "password authentication failed"
    for i, (user, text) in enumerate(users.items()):
        assert "WARNING unusable secret in auth file: it looks like a hash " \
            "but is not valid, so no password matches it (%s:%d)" % (
                p.auth, i + 1) in p.log
        for typed in (text, "x"):
            assert refused(p.open(), user=user, password_=typed,
                           database="p0") == wrong, (text, typed)
    assert p.log.count("the stored secret looks like a hash but is not valid") \
        == 2 * len(users)
    assert p.raw("app").value("select 1") == "1"


@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_unusable_secret_of_auth_query_is_no_password(pooler):
    """authentication.md 6: of any kind from section 1"""
    p = pooler({"p0": "auth_user=postgres auth_query='select $1::text, "
                "''%s''::text'" % UNUSABLE[1]},
               {"postgres": ""}, auth_type="plain")
    for typed in (UNUSABLE[1], "x"):
        assert refused(p.open(), user="app", password_=typed,
                       database="p0") == "password authentication failed"


@pytest.mark.skipif(REFERENCE, reason="newer than that")
@pytest.mark.parametrize("user", ["u_pw", "u_md5", "u_scram"])
def test_unusable_password_is_sent_to_no_server(pooler, user):
    """config-files.md 7: password= of an entry"""
    p = pooler({"p0": "user=%s password=%s" % (user, UNUSABLE[1])})
    assert 'WARNING unusable password of database "p0": ' in p.log
    c = p.open().login("app", "apppw", "p0", wait=False)
    assert "wrong password type" in c.recv_all().errors[0].message


def test_md5_secret_cannot_answer_scram(pooler):
    """authentication.md 3: MD5 fails for scram-sha-256"""
    p = pooler({"p0": "user=app"}, {"app": secret("md5")},
               auth_type="scram-sha-256")
    assert refused(p.open(), user="app", password_="s3cret 'é",
                   database="p0") == "SASL authentication failed"


@pytest.mark.parametrize("method", ["plain", "md5"])
def test_empty_password_message_is_refused(pooler, method):
    """authentication.md 3: rules for password messages"""
    p = pooler(userlist={"app": "x"}, auth_type=method)
    c = p.open().login("app", database="p0", wait=False)
    assert c.recv()[0] == "R"
    assert refused_bytes(c, pq.password("")) == \
        "empty password returned by client"


@pytest.mark.parametrize("method", ["plain", "md5", "scram-sha-256"])
def test_empty_stored_secret_never_authenticates(pooler, method):
    """authentication.md 1"""
    p = pooler(userlist={"app": ""}, auth_type=method)
    c = p.open()
    with pytest.raises(pq.PgError) as e:
        c.login("app", "", "p0")
    assert e.value.severity == "FATAL"


def test_scram_mock_salt_is_stable(pooler):
    """authentication.md 7: the salt of an unknown user does not change"""
    p = pooler(auth_type="scram-sha-256", scram_iterations=
               None if REFERENCE else 5000)
    seen = set()
    for _ in range(2):
        c = p.open().login("ghost", database="p0", wait=False)
        c.recv()
        s = pq.ScramClient("x")
        c.send(pq.msg("p", pq.cstr("SCRAM-SHA-256") + s.first()))
        s.reply(c.recv()[1][4:])
        seen.add((s.fields[b"s"], s.fields[b"i"]))
    assert len(seen) == 1
    assert REFERENCE or seen.pop()[1] == b"5000"


def scram_start(p, user="app"):
    c = p.open().login(user, database="p0", wait=False)
    assert c.recv() == ("R", b"\0\0\0\nSCRAM-SHA-256\0\0")
    return c


@pytest.mark.parametrize("first", [
    b"p=tls-unique,,n=,r=abcdefgh", b"n,a=x,n=,r=abcdefgh",
    b"n,,m=x,n=,r=abcdefgh", b"", b"n", b"n,,",
    b"n,,n=,r=\x01\x02", b"x,,n=,r=abcdefgh"])
def test_scram_bad_client_first_is_refused(pooler, first):
    """authentication.md 3.2 step 2"""
    p = pooler(auth_type="scram-sha-256")
    c = scram_start(p)
    body = pq.cstr("SCRAM-SHA-256") + struct.pack("!i", len(first)) + first
    assert refused_bytes(c, pq.msg("p", body)) == "SASL authentication failed"


def test_scram_other_mechanism_is_refused(pooler):
    """authentication.md 3.2 step 2"""
    c = scram_start(pooler(auth_type="scram-sha-256"))
    body = pq.cstr("SCRAM-SHA-256-PLUS") + pq.ScramClient("x").first()
    assert refused_bytes(c, pq.msg("p", body)) == \
        "client selected an invalid SASL authentication mechanism"


@pytest.mark.parametrize("length", [-2, 0x7fffffff, 9999])
def test_scram_lying_length_is_refused(pooler, length):
    """authentication.md 3.2; CVE-2026-6664: it overruns the message"""
    p = pooler(auth_type="scram-sha-256")
    c = scram_start(p)
    body = pq.cstr("SCRAM-SHA-256") + struct.pack("!i", length) + b"n,,n=,r=a"
    assert refused_bytes(c, pq.msg("p", body)) == "SASL authentication failed"


@pytest.mark.parametrize("how", ["proof", "nonce", "gs2", "y"])
def test_scram_final_is_checked(pooler, how):
    """authentication.md 3.2 step 4"""
    p = pooler(auth_type="scram-sha-256")
    c = scram_start(p)
    s = pq.ScramClient("apppw", b"y,," if how == "y" else b"n,,")
    c.send(pq.msg("p", pq.cstr("SCRAM-SHA-256") + s.first()))
    server_first = c.recv()[1][4:]
    if how == "gs2":
        s.gs2 = b"y,,"
    final = s.reply(server_first, nonce=b"zz" if how == "nonce" else None,
                    spoil=how == "proof")
    c.send(pq.msg("p", final))
    kind, body = c.recv()
    if how == "y":
        assert (kind, body[:4]) == ("R", struct.pack("!i", 12))
        s.final(body[4:])
        return
    assert kind == "E"
    assert pq.fields(body)["M"] == "SASL authentication failed"


def test_scram_first_segment_split_is_put_together(pooler):
    """pooling.md 19: partial messages wait"""
    p = pooler(auth_type="scram-sha-256")
    c = scram_start(p)
    s = pq.ScramClient("apppw")
    c.send_split(pq.msg("p", pq.cstr("SCRAM-SHA-256") + s.first()))
    c.send_split(pq.msg("p", s.reply(c.recv()[1][4:])))
    s.final(c.recv()[1][4:])
    assert c.recv() == ("R", b"\0\0\0\0")


# --- start-up packets -----------------------------------------------------

@pytest.mark.parametrize("code", [pq.SSL_REQUEST, pq.GSSENC_REQUEST])
def test_encryption_requests_are_answered_no(pooler, code):
    """pooling.md 19; the other one may follow"""
    c = pooler().open()
    other = {pq.SSL_REQUEST, pq.GSSENC_REQUEST} - {code}
    for code in [code, *other]:
        c.send(pq.untyped(code))
        assert c.recv_bytes(1) == b"N"
    assert c.login("app", database="p0").value("select 1") == "1"


@pytest.mark.skipif(REFERENCE, reason="it answers them without end")
@pytest.mark.parametrize("code", [pq.SSL_REQUEST, pq.GSSENC_REQUEST])
def test_encryption_request_that_is_repeated_ends_the_connection(pooler, code):
    """as in PostgreSQL"""
    c = pooler().open()
    c.send(pq.untyped(code))
    assert c.recv_bytes(1) == b"N"
    assert refused_bytes(c, pq.untyped(code)).startswith("bad packet header")


@pytest.mark.parametrize("code,text", [
    (pq.SSL_REQUEST, "received unencrypted data after SSL request"),
    (pq.GSSENC_REQUEST,
     "received unencrypted data after GSSAPI encryption request")])
def test_bytes_behind_an_encryption_request_are_refused(pooler, code, text):
    """client-errors.md 2 (CVE-2021-3935)"""
    c = pooler().open()
    data = pq.untyped(code) + pq.startup({"user": "app", "database": "p0"})
    assert refused_bytes(c, data) == text


@pytest.mark.parametrize("data,text", [
    (pq.untyped(131072, b"x" * 288), "old V2 protocol not supported"),
    (pq.untyped(4 << 16, b"user\0app\0\0"),
     "bad packet header: '0000001200040000'"),
    (b"\0\0\0\x04" + pq.untyped(0)[4:],
     "bad packet header: '0000000400000000'"),
    (pq.password("x"), "client password pkt before startup packet"),
    (pq.startup({"database": "p0"}), "no username supplied"),
    (pq.startup({"user": "", "database": "p0"}), "no username supplied"),
    (pq.startup({"user": "u" * 128, "database": "p0"}), "username too long"),
    (pq.startup({"user": "app", "nonsense": "1"}),
     "unsupported startup parameter: nonsense"),
    (pq.startup({"user": "app", "options": "-c nonsense=1"}),
     "unsupported startup parameter in options: nonsense"),
    (pq.startup({"user": "app", "options": "-d 5"}),
     "unsupported options startup parameter: only '-c config=val' and "
     "'--config=val' are allowed"),
    (pq.startup({"user": "app", "options": "-c datestyle"}),
     "unsupported options startup parameter: only '-c config=val' and "
     "'--config=val' are allowed"),
    (pq.untyped(pq.V3_0, b"user\0app\0"),
     "invalid startup packet layout: expected terminator as last byte"),
    (pq.untyped(pq.V3_0, b"user\0app\0\0\0"),
     "invalid startup packet layout: expected terminator as last byte"),
    (pq.untyped(pq.V3_0, b"user\0app\0database"),
     "invalid startup packet layout: expected terminator as last byte"),
], ids=lambda v: v[:40] if isinstance(v, str) else "")
def test_bad_startup_is_refused_with_its_text(pooler, data, text):
    """client-errors.md 2"""
    # regressions: PB#1407, PgP empty user
    p = pooler()
    assert refused_bytes(p.open(), data) == text
    assert p.raw().value("select 1") == "1"


@pytest.mark.parametrize("startup, state, hint", [
    ({"geqo": "1"}, "forget", True), ({"options": "-c geqo=1"}, "forget", True),
    ({"geqo": "1", "database": "nowhere"}, "keep", False),
    ({"geqo": "1", "database": "forgets"}, "keep", True)])
def test_unsupported_parameter_has_a_hint(pooler, startup, state, hint):
    """client-errors.md 2: what has the session take it, or drops it"""
    p = pooler({"p0": "", "forgets": "session_state=forget"},
               session_state=state)
    with pytest.raises(pq.PgError) as e:
        p.raw(**startup)
    assert (e.value.code, "session_state" in e.value.fields["H"],
            "ignore_startup_parameters" in e.value.fields["H"]) == \
        ("08P01", hint, hint)


def test_second_startup_is_refused(pooler):
    """client-errors.md 2: client re-sent startup pkt"""
    p = pooler(auth_type="md5")
    c = p.open()
    pkt = pq.startup({"user": "app", "database": "p0"})
    c.send(pkt)
    assert c.recv()[0] == "R"
    assert refused_bytes(c, pkt) == "client re-sent startup pkt"


@pytest.mark.parametrize("at", [1, 2, 3, 7])
def test_startup_in_pieces_is_put_together(pooler, at):
    """pooling.md 19: partial messages wait"""
    p = pooler()
    c = p.open()
    c.send_split(pq.startup({"user": "app", "database": "p0"}), at)
    assert c.finish_login("app").value("select 1") == "1"


def test_startup_and_query_in_one_segment_are_both_served(pooler):
    """pooling.md 14: pipelining from the first byte"""
    c = pooler().open()
    c.send(pq.startup({"user": "app", "database": "p0"}),
           pq.query("select 5"))
    c.finish_login("app")
    assert c.recv_until().rows == [["5"]]


def test_database_defaults_to_the_user_name(pooler):
    """pooling.md 20; a start without database must not hurt"""
    # regressions: pgagroal#912
    p = pooler({"app": "dbname=p0"})
    c = p.open().login("app")
    assert c.value("select current_database()") == "p0"
    c = p.open().login("app", database="")
    assert c.value("select current_database()") == "p0"


def test_large_startup_packet_is_accepted(pooler):
    """pooling.md 20: larger than pkt_buf, and up to 10,000 bytes"""
    p = pooler(ignore_startup_parameters="big")
    size = 10000 - len(pq.startup({"user": "app", "database": "p0",
                                   "big": ""}))
    c = p.open().login("app", database="p0", big="x" * size)
    assert c.value("select 1") == "1"


@pytest.mark.parametrize("version,extra,spoken", [
    (pq.V3_0 + 1, {}, pq.V3_0), (pq.V3_0 + 99, {}, pq.V3_2),
    (pq.V3_0, {"_pq_.one": "1"}, pq.V3_0),
    (pq.V3_2, {"_pq_.one": "1", "_pq_.two": "2"}, pq.V3_2)])
def test_newer_protocols_are_negotiated_down(pooler, version, extra, spoken):
    """pooling.md 20: NegotiateProtocolVersion, once, before the rest"""
    # regressions: PgP 7bcb55898
    c = pooler().open().login("app", database="p0", version=version, **extra)
    kinds = "".join(k for k, _ in c.login_messages)
    assert kinds[0] == "v" and kinds.count("v") == 1
    body = c.login_messages[0][1]
    assert body == struct.pack("!ii", spoken, len(extra)) + b"".join(
        pq.cstr(k) for k in extra)
    assert len(c.key) == (32 if spoken == pq.V3_2 else 8)
    assert c.value("select 1") == "1"


@pytest.mark.skipif(REFERENCE, reason="newer than that")
@pytest.mark.parametrize("database,user", [("p0", "app"),
                                           ("pgbouncer", "admin")])
def test_protocol_3_2_is_spoken_without_a_word(pooler, database, user):
    """PostgreSQL docs, Message Formats: BackendKeyData"""
    p = pooler()
    new = p.open().login(user, p.userlist[user], database, version=pq.V3_2)
    old = p.raw(user, database)
    assert "v" not in [k for k, _ in new.login_messages]
    assert len(new.key) == 32 and len(old.key) == 8
    assert not new.key[0] & 0x80


@pytest.mark.parametrize("options", [
    "-c datestyle=German", "-cdatestyle=German", "--datestyle=German",
    "-c timezone=UTC -c datestyle=German", "--datestyle=German  ",
    "-c datestyle=Ger\\man"])
def test_options_set_tracked_parameters(pooler, options):
    """pooling.md 20: options"""
    # regressions: Supavisor 9f806338
    c = pooler().raw(options=options)
    assert c.value("show datestyle").startswith("German")


@pytest.mark.setting("ignore_startup_parameters")
def test_options_and_parameters_can_be_ignored(pooler):
    """pooling.md 20: ignore_startup_parameters"""
    p = pooler(ignore_startup_parameters="extra_float_digits, geqo")
    c = p.raw(extra_float_digits="2", options="-c geqo=off")
    assert c.value("select 1") == "1"
    assert refused(p.open(), user="app", database="p0",
                   options="-c jit=off") == \
        "unsupported startup parameter in options: jit"
    p.settings["ignore_startup_parameters"] = "options"
    p.reload()
    assert p.raw(options="-c jit=off").value("select 1") == "1"


def test_startup_parameter_names_ignore_case(pooler):
    """pooling.md 20: tracked parameter"""
    c = pooler().raw(DATESTYLE="German", Client_Encoding="LATIN1")
    assert c.value("show datestyle").startswith("German")
    assert c.value("show client_encoding") == "LATIN1"


@pytest.mark.setting("application_name_add_host")
@pytest.mark.parametrize("unix", [False, True])
def test_application_name_gets_the_host(pooler, unix):
    """pooling.md 20: application_name_add_host"""
    p = pooler(application_name_add_host=1)
    c = p.raw(unix=unix, application_name="my app")
    name = c.value("show application_name")
    if unix:
        assert name.startswith("my app - unix")
        assert name.endswith(":%d" % p.port)
    else:
        assert name == "my app - 127.0.0.1:%d" % c.sock.getsockname()[1]
    assert p.raw().value("show application_name").startswith("app - ")


def test_welcome_has_parameters_key_and_ready(pooler):
    """pooling.md 3: welcome"""
    p = pooler()
    first = p.raw(DateStyle="German")
    second = p.raw()
    for c in (first, second):
        kinds = "".join(k for k, _ in c.login_messages)
        assert kinds.startswith("RS") and kinds.endswith("KZ")
        assert kinds.strip("RKZ") == "S" * (len(kinds) - 3)
        assert c.status == "I" and len(c.key) == 8
        assert REFERENCE or not c.key[0] & 0x80
        assert len(set(c.param_order)) == len(c.param_order)
        for name in ("server_version", "server_encoding", "client_encoding",
                     "DateStyle", "TimeZone", "IntervalStyle",
                     "standard_conforming_strings", "integer_datetimes"):
            assert name in c.params, name
    assert first.key != second.key
    # the client's own value, as the server would spell it, or that of the server
    assert first.params["DateStyle"] == (
        "German" if REFERENCE else "German, DMY")
    assert second.params["DateStyle"] == "ISO, MDY"
    order = [n for n in second.param_order if n in (
        "DateStyle", "client_encoding", "TimeZone",
        "standard_conforming_strings", "application_name")]
    # tracked parameters come last, after all others
    if not REFERENCE:
        assert second.param_order.index(order[0]) > \
            second.param_order.index("server_version")


@pytest.mark.setting("login_notify_message")
@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_login_notice_is_sent_before_ready(pooler):
    """pooling.md 3: login_notify_message"""
    p = pooler(login_notify_message="read the manual")
    c = p.raw()
    assert [n.message for n in c.notices] == ["read the manual"]
    assert "".join(k for k, _ in c.login_messages).endswith("KNZ")
    assert c.notices[0].fields == {
        "S": "NOTICE", "V": "NOTICE", "C": "00000", "M": "read the manual"}
    assert p.console().notices[0].message == "read the manual"


# --- databases ------------------------------------------------------------

def test_unknown_database_is_told_after_authentication(pooler):
    """client-errors.md 3: no such database"""
    p = pooler(auth_type="md5")
    c = p.open()
    c.login("app", database="nodb", wait=False)
    assert c.recv()[0] == "R"
    salt_reply = pq.Conn(port=p.port)
    assert refused(salt_reply, user="app", password_="apppw",
                   database="nodb") == "no such database: nodb"
    assert refused(p.open(), user="app", password_="bad",
                   database="nodb") == "password authentication failed"


def test_fallback_database_is_made_on_demand(pooler):
    """pooling.md 24; config-files.md 3: * entry"""
    # regressions: PB#280
    p = pooler({"one": "dbname=p0", "*": ""})
    assert p.raw(database="p1").value("select current_database()") == "p1"
    assert p.raw(database="one").value("select current_database()") == "p0"
    assert "registered new auto-database: p1" in p.log
    assert [r["name"] for r in p.admin("show databases")] == \
        ["one", "p1", "pgbouncer"]


@pytest.mark.skipif(REFERENCE, reason="newer than that")
@pytest.mark.parametrize("text", ["", "user=app min_pool_size=1"])
def test_strangers_leave_no_databases(pooler, pg, text):
    """an entry for each name that anybody asks for would grow without end"""
    p = pooler({"one": "dbname=p0", "*": text},
               userlist={"app": "right", "admin": "x"}, auth_type="plain")

    def entries():
        return p.mem()["db_cache"]
    before = entries()
    for i in range(100):
        with p.open() as c, pytest.raises(pq.PgError, match="password"):
            c.login(("app", "nobody")[i % 2], "wrong", "stranger%d" % i)
    half_way = p.open()
    half_way.login("app", database="p1", wait=False)
    kind, body = half_way.recv()
    assert kind == "R"
    # what a login still wants stays, and so does what one had
    assert p.raw("app", "p0", "right").value("select 1") == "1"
    wait_until(lambda: entries() <= before + 2, what="the others to go")
    half_way._auth("app", "right", body)
    half_way.finish_login("app")
    assert half_way.value("select current_database()") == "p1"
    assert p.log.count("registered new auto-database") == 2
    assert "stranger" not in "".join(
        n for n in p.log.splitlines() if "login" not in n
        and "closing" not in n and "error" not in n)
    for c in p.conns:
        c.close()
    assert "dropping database" not in p.log
    assert entries() >= before + 2


@pytest.mark.parametrize("name", ["d" * 63, "d" * 64, "d" * 5000])
def test_overlong_database_name_is_only_an_error(pooler, name):
    """pooling.md 20 (CVE-2012-4575)"""
    # regressions: CVE-2012-4575
    p = pooler({"*": ""})
    with pytest.raises(pq.PgError):
        p.raw(database=name)
    assert p.raw(database="p0").value("select 1") == "1"


def test_missing_server_database_reaches_the_client(pooler):
    """client-errors.md 4: the server's message and SQLSTATE"""
    # regressions: pgagroal#746, pgagroal#875
    p = pooler({"p0": "dbname=not_there"})
    with pytest.raises(pq.PgError) as e:
        p.raw()
    assert (e.value.severity, e.value.code) == ("FATAL", "3D000")
    assert e.value.message == 'database "not_there" does not exist'


# --- limits ---------------------------------------------------------------

@pytest.mark.setting("max_client_conn")
def test_max_client_conn_is_kept(pooler):
    """pooling.md 3: client-count limits"""
    # regressions: Ody #146
    p = pooler(max_client_conn=3)
    keep = [p.raw() for _ in range(3)]
    assert refused(p.open(), user="app", database="p0") == \
        "no more connections allowed (max_client_conn)"
    p.console().close()
    keep.pop().close()

    def room():
        # the place may still be counted for a moment
        with p.open() as c:
            try:
                return c.login("app", database="p0").value("select 1")
            except pq.PgError:
                return None
    assert wait_until(room) == "1"


@pytest.mark.setting("max_db_client_connections",
                     "max_user_client_connections")
@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_client_limits_per_database_and_user(pooler):
    """pooling.md 3: max_db_client_connections, max_user_client_..."""
    # regressions: PB#1238
    p = pooler({"p0": "max_db_client_connections=2", "p1": ""},
               users={"app2": "max_user_client_connections=1"})
    keep = [p.raw(), p.raw("u0")]
    assert refused(p.open(), user="u1", database="p0") == \
        "client connections exceeded (max_db_client_connections)"
    keep.append(p.raw("app2", "p1"))
    assert refused(p.open(), user="app2", database="p1") == \
        "client connections exceeded (max_user_client_connections)"
    keep[0].close()
    wait_until(lambda: p.show("databases", name="p0")[0]
               ["current_client_connections"] == "1")
    assert p.raw("u1", "p0").value("select 1") == "1"


@pytest.mark.setting("client_login_timeout")
@pytest.mark.parametrize("data", [
    b"", b"\0\0", pq.startup({"user": "app", "database": "p0"})])
def test_unfinished_login_times_out(pooler, data):
    """pooling.md 12: client_login_timeout"""
    # regressions: PgDog#762
    p = pooler(client_login_timeout=1, auth_type="md5", tcp_defer_accept=0)
    c = p.open()
    c.send(data)
    res = c.recv_all()
    assert res.errors[-1].message == "client_login_timeout"


def test_login_with_server_down_times_out(pooler):
    """client-errors.md 2: client_login_timeout (server down)"""
    p = pooler({"p0": "host=127.0.0.1 port=1"}, client_login_timeout=1)
    c = p.open()
    c.login("app", database="p0", wait=False)
    err, = c.recv_all().errors
    assert (err.severity, err.code, err.message) == (
        "FATAL", "08P01", "client_login_timeout (server down)")


def test_slow_login_does_not_hold_up_others(pooler):
    """architecture: one loop, nothing blocks"""
    p = pooler()
    slow = p.open()
    slow.send(pq.startup({"user": "app", "database": "p0"})[:10])
    assert p.raw().value("select 1") == "1"
    slow.send(pq.startup({"user": "app", "database": "p0"})[10:])
    assert slow.finish_login("app").value("select 2") == "2"


# --- towards the server ---------------------------------------------------

@pytest.mark.parametrize("user", ["u_pw", "u_md5", "u_scram"])
def test_plain_secret_answers_every_server_method(pooler, user):
    """authentication.md 5"""
    from harness import PASSWORDS
    p = pooler(userlist={user: PASSWORDS[user], "admin": "x"})
    assert p.raw(user).value("select current_user") == user
    with p.connect(user=user) as c:
        assert c.execute("select 1").fetchone() == (1,)


@pytest.mark.database("password")
def test_forced_user_logs_in_with_its_own_password(pooler):
    """authentication.md 5: password= of the entry, else auth_file"""
    p = pooler({"p0": "user=u_scram password=pw_three",
                "p1": "user=u_md5"},
               {"app": "x", "u_md5": "pw-two"}, auth_type="scram-sha-256")
    c = p.raw("app", password="x")
    assert c.value("select current_user") == "u_scram"
    c = p.raw("app", "p1", password="x")
    assert c.value("select current_user") == "u_md5"


def test_md5_secret_logs_in_to_an_md5_server(pooler, pg):
    """authentication.md 5"""
    p = pooler(userlist={"u_md5": pg.secret("u_md5")}, auth_type="md5")
    c = p.raw("u_md5", password="pw-two")
    assert c.value("select current_user") == "u_md5"


@pytest.mark.parametrize("method", ["scram-sha-256", "md5"])
def test_scram_keys_are_passed_through(pooler, pg, method):
    """authentication.md 3.3, 5: verifier identical to the server's"""
    p = pooler(userlist={"u_scram": pg.secret("u_scram"), "admin": ""},
               auth_type=method)
    c = p.raw("u_scram", password="pw_three")
    assert c.value("select current_user") == "u_scram"
    # the keys stay good for further servers, and after all are gone
    d = p.raw("u_scram", password="pw_three")
    c.query("begin")
    assert d.value("select 1") == "1"
    c.query("commit")


def test_scram_keys_survive_loss_of_the_servers(pooler, pg):
    """authentication.md 3.3: keys stay valid across reconnects"""
    p = pooler(userlist={"u_scram": pg.secret("u_scram")},
               auth_type="scram-sha-256")
    c = p.raw("u_scram", password="pw_three")
    pid = int(c.value("select pg_backend_pid()"))
    pg.terminate(pid)
    wait_until(lambda: pid not in pg.backends())
    wait_until(lambda: "closing because" in p.log)
    for _ in range(3):
        d = p.raw("u_scram", password="pw_three")
        assert d.value("select current_user") == "u_scram"


def test_scram_secret_without_client_keys_fails(pooler, pg):
    """authentication.md 5: wrong password type"""
    p = pooler(userlist={"u_scram": pg.secret("u_scram")}, auth_type="trust")
    with pytest.raises(pq.PgError) as e:
        p.raw("u_scram")
    assert e.value.message == "server login failed: wrong password type"
    assert e.value.code == "08P01"


@pytest.mark.parametrize("user", ["u_pw", "u_md5", "u_scram"])
def test_wrong_server_password_text_reaches_the_client(pooler, user):
    """client-errors.md 4: server's message and SQLSTATE"""
    p = pooler(userlist={user: "wrong"})
    with pytest.raises(pq.PgError) as e:
        p.raw(user)
    assert (e.value.code, e.value.severity) == ("28P01", "FATAL")
    assert e.value.message == \
        'password authentication failed for user "%s"' % user


def test_secrets_are_never_logged(pooler, pg):
    """logging.md 4: pgsluice must not write secrets at any level"""
    p = pooler({"p0": "user=u_scram password=pw_three"},
               {"app": "topsecretvalue"}, auth_type="plain", verbose=2)
    p.raw("app", password="topsecretvalue").value("select 1")
    if not REFERENCE:
        assert "topsecretvalue" not in p.log
        assert "pw_three" not in p.log


def test_psycopg_sees_the_failure_text(pooler):
    """client-errors.md 3"""
    p = pooler(auth_type="md5")
    with pytest.raises(psycopg.OperationalError) as e:
        p.connect(password="wrong")
    assert "password authentication failed" in str(e.value)


def test_unix_socket_login(pooler):
    """config-files.md 17"""
    p = pooler()
    assert p.raw(unix=True).value("select 1") == "1"
    with p.connect(host=p.dir) as c:
        assert c.execute("select 3").fetchone() == (3,)
    path = os.path.join(p.dir, ".s.PGSQL.%d" % p.port)
    assert os.stat(path).st_mode & 0o777 == 0o777
