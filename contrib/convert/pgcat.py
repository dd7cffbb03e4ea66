# pgcat.py - what pgcat.toml says, in our words.
# SPDX-License-Identifier: ISC
#
# By what PgCat's documents say of its settings. Where they leave it open what a
# setting means exactly, it is left out with a remark.
import itertools

import tables
from conversion import (AUTH, BY_CODE, DATABASES, LEFT_OUT, SETTINGS, TO_ENTRY,
                        TO_SETTING, USERS, Conversion, Login, Rule, is_entry,
                        is_one_word, is_user)
from facts import fail, fits

GENERAL = ("general",)
POOL = ("pools", "*")
USER = (*POOL, "users", "*")
SHARD = (*POOL, "shards", "*")
SCRAM = "scram-sha-256"
NO_ROUTING = ("no query is read to choose a server: the application takes the "
              "entry for writing or the one for reading")

RULES = [
    Rule(GENERAL, "host", TO_SETTING, "listen_addr"),
    Rule(GENERAL, "port", TO_SETTING, "listen_port"),
    Rule(GENERAL, "worker_threads", LEFT_OUT,
         "one worker serves about what one core can; see workers"),
    Rule(GENERAL, "connect_timeout", TO_SETTING,
         "server_connect_timeout", "ms"),
    Rule(GENERAL, "idle_timeout", TO_SETTING, "server_idle_timeout", "ms"),
    Rule(GENERAL, "server_lifetime", TO_SETTING, "server_lifetime", "ms"),
    Rule(GENERAL, "idle_client_in_transaction_timeout", TO_SETTING,
         "idle_transaction_timeout", "ms"),
    Rule(GENERAL, "healthcheck_delay", TO_SETTING, "server_check_delay", "ms"),
    Rule(GENERAL, "healthcheck_timeout", LEFT_OUT,
         "the check has server_connect_timeout"),
    Rule(GENERAL, "shutdown_timeout", TO_SETTING,
         "shutdown_drain_timeout", "ms"),
    Rule(GENERAL, "ban_time", LEFT_OUT,
         "a server that failed is tried again after server_login_retry"),
    Rule(GENERAL, "log_client_connections", TO_SETTING, "log_connections"),
    Rule(GENERAL, "log_client_disconnections", TO_SETTING,
         "log_disconnections"),
    Rule(GENERAL, "tls_certificate", TO_SETTING, "client_tls_cert_file"),
    Rule(GENERAL, "tls_private_key", TO_SETTING, "client_tls_key_file"),
    Rule(GENERAL, "server_tls", BY_CODE),
    Rule(GENERAL, "verify_server_certificate", BY_CODE),
    Rule(GENERAL, "admin_username", BY_CODE),
    Rule(GENERAL, "admin_password", BY_CODE),
    Rule(GENERAL, "tcp_keepalives_idle", TO_SETTING, "tcp_keepidle"),
    Rule(GENERAL, "tcp_keepalives_count", TO_SETTING, "tcp_keepcnt"),
    Rule(GENERAL, "tcp_keepalives_interval", TO_SETTING, "tcp_keepintvl"),
    Rule(GENERAL, "enable_prometheus_exporter", LEFT_OUT,
         "metrics are there where http_listen_port is set"),
    Rule(GENERAL, "prometheus_exporter_port", BY_CODE),
    Rule(GENERAL, "autoreload", LEFT_OUT,
         "the files are read again by RELOAD"),
    Rule(POOL, "pool_mode", TO_ENTRY, "pool_mode"),
    Rule(POOL, "prepared_statements_cache_size", LEFT_OUT,
         "for all pools there is max_prepared_statements"),
    Rule(POOL, "load_balancing_mode", LEFT_OUT,
         "hosts take turns; see load_balance_hosts"),
    Rule(POOL, "default_role", LEFT_OUT, NO_ROUTING),
    Rule(POOL, "query_parser_enabled", LEFT_OUT, NO_ROUTING),
    Rule(POOL, "query_parser_read_write_splitting", LEFT_OUT, NO_ROUTING),
    Rule(POOL, "primary_reads_enabled", LEFT_OUT, NO_ROUTING),
    Rule(POOL, "sharding_function", LEFT_OUT,
         "the application takes the entry of the shard"),
    Rule(USER, "username", BY_CODE),
    Rule(USER, "password", BY_CODE),
    Rule(USER, "pool_size", TO_ENTRY, "pool_size"),
    Rule(USER, "min_pool_size", TO_ENTRY, "min_pool_size"),
    Rule(USER, "pool_mode", TO_ENTRY, "pool_mode"),
    Rule(USER, "server_lifetime", TO_ENTRY, "server_lifetime", "ms"),
    Rule(USER, "server_username", TO_ENTRY, "user"),
    Rule(USER, "server_password", TO_ENTRY, "password"),
    Rule(USER, "statement_timeout", BY_CODE),
    Rule(SHARD, "servers", BY_CODE),
    Rule(SHARD, "database", TO_ENTRY, "dbname"),
]


# --- servers: three facts for each ---

def hosts_of(cv, servers):
    for server in servers:
        if server[1].value != servers[0][1].value:
            cv.remark(server[0],
                      "all hosts of an entry have the port of the first")
    return ",".join(host.value for host, _, _ in servers)


def add_entry(cv, name, servers, hosts, attrs):
    """attrs: None for a list that needs none."""
    first, port, _ = servers[0]
    scope = (DATABASES, name)
    if not is_entry(name) or cv.out.get(scope, "host"):
        fail(first.line, f'no entry can have the name "{name}", or another '
             "one has it")
    cv.say(scope, "host", first._replace(value=hosts))
    cv.say(scope, "port", first._replace(value=port.value))
    if attrs:
        cv.say(scope, "target_session_attrs", first._replace(value=attrs))
    cv.route(first, name)


def has_shards(cv, pool):
    return len({f.scope for f in cv.facts if f.key == "servers"
                and fits(f.scope, SHARD) and f.scope[1] == pool}) > 1


def convert_shard(cv, facts):
    first = facts[0]
    if len(facts) % 3 != 0:
        fail(first.line, "servers are not [host, port, role]")
    servers = list(zip(facts[::3], facts[1::3], facts[2::3]))
    roles = {role.value for _, _, role in servers}
    _, name, _, number = first.scope
    if has_shards(cv, name):
        name += f"_{number}"
        cv.remark(first, "each shard is an entry of its own")
    hosts = hosts_of(cv, servers)
    add_entry(cv, name, servers, hosts, None if len(servers) == 1 else
              "primary" if "primary" in roles else "prefer-standby")
    if {"primary", "replica"} <= roles:
        add_entry(cv, f"{name}_ro", servers, hosts, "prefer-standby")


def convert_servers(cv):
    for (key, scope), facts in itertools.groupby(
            cv.facts, lambda f: (f.key, f.scope)):
        if key == "servers" and fits(scope, SHARD):
            convert_shard(cv, list(facts))


# --- users ---

def names(cv):
    return [f for f in cv.facts
            if f.key == "username" and fits(f.scope, USER)]


def keep_timeout(cv, name):
    """Of the user whose name stands beside it."""
    f = cv.facts.get(name.scope, "statement_timeout")
    if f and f.value != "0":
        cv.say((USERS, name.value), "query_timeout",
               f._replace(value=f"{f.value}ms"))


def keep_password(cv, name, key):
    f = cv.facts.get(name.scope, key)
    if f is None:
        cv.remark(name, "no password: add the user to the auth file")
    else:
        cv.say(AUTH, name.value, f)


def admit(cv, f, database, method, key):
    """f is the name, and key that of its password."""
    if not is_user(f.value):
        cv.remark(f, "not let in: no rule has such a name")
        return
    cv.admit(f, Login(database, f.value, method,
                      cv.facts.value(f.scope, key)))


def keep_admin(cv):
    f = cv.facts.get(GENERAL, "admin_username")
    if f is None:
        return
    if not is_one_word(f.value):    # the name is a list here
        cv.remark(f, "not let in: a name with a comma or a space cannot be "
                  "one of admin_users")
        return
    keep_password(cv, f, "admin_password")
    admit(cv, f, "pgbouncer", SCRAM, "admin_password")
    cv.say(SETTINGS, "admin_users", f)


def keep_users(cv):
    for f in names(cv):
        keep_password(cv, f, "password")
        keep_timeout(cv, f)


def admit_user(cv, f, entry):
    same = cv.agrees(f, entry, USER, ("server_username", "server_password"))
    admit(cv, f, entry, SCRAM if same else None, "password")
    if same:
        cv.route(f, entry)


def admit_users(cv):
    """users.0 is not below shards.0: its settings are those of the pool."""
    entries = [(scope[1], entry) for scope, entry, _ in cv.routes]
    for f in names(cv):
        for pool, entry in entries:
            if pool == f.scope[1]:
                admit_user(cv, f, entry)


# --- settings ---

def is_on(f):
    return f is not None and f.value == "true"


def convert_tls(cv):
    on = cv.facts.get(GENERAL, "server_tls")
    verify = cv.facts.get(GENERAL, "verify_server_certificate")
    cert = cv.facts.get(GENERAL, "tls_certificate")
    if is_on(on):
        mode = "verify-full" if is_on(verify) else "require"
        cv.say(SETTINGS, "server_tls_sslmode", on._replace(value=mode))
    if cert:
        cv.say(SETTINGS, "client_tls_sslmode", cert._replace(value="allow"))


def convert_exporter(cv):
    """A port that is not used there is not opened here."""
    on = cv.facts.get(GENERAL, "enable_prometheus_exporter")
    port = cv.facts.get(GENERAL, "prometheus_exporter_port")
    if is_on(on) and port:
        cv.say(SETTINGS, "http_listen_port", port)


def read(text):
    return Conversion(tables.read(text))


def convert(cv):
    convert_servers(cv)
    keep_admin(cv)
    keep_users(cv)
    admit_users(cv)
    convert_tls(cv)
    convert_exporter(cv)
    cv.by_rules(RULES)
