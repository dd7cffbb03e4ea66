# odyssey.py - what odyssey.conf says, in our words.
# SPDX-License-Identifier: ISC
#
# By what Odyssey's documents say of its settings. Where they leave it open what a
# setting means exactly, it is left out with a remark.
import braces
from conversion import (ALL, AUTH, BY_CODE, DATABASES, LEFT_OUT, SETTINGS,
                        TO_ENTRY, TO_LIMIT, TO_SETTING, Conversion, Login, Rule,
                        is_entry, is_one_word, is_user)
from facts import fits

LISTEN = ("listen",)
STORAGE = ("storage", "*")
ROUTE = ("database", "*", "user", "*")
NO_SECRET = ("not let in: the user has no password of its own, and no "
             "auth_query")
NO_THREADS = "there is nothing to choose here"
DEFAULT = "default"     # the name of all others

RULES = [
    Rule((), "daemonize", LEFT_OUT, "pgsluice -d goes to the background"),
    Rule((), "pid_file", TO_SETTING, "pidfile"),
    Rule((), "unix_socket_dir", TO_SETTING, "unix_socket_dir"),
    Rule((), "unix_socket_mode", TO_SETTING, "unix_socket_mode"),
    Rule((), "log_file", TO_SETTING, "logfile"),
    Rule((), "log_to_stdout", LEFT_OUT,
         "the log goes to stderr, unless a setting says otherwise"),
    Rule((), "log_format", LEFT_OUT, "log_format is text or json"),
    Rule((), "log_syslog", TO_SETTING, "syslog"),
    Rule((), "log_syslog_ident", TO_SETTING, "syslog_ident"),
    Rule((), "log_syslog_facility", TO_SETTING, "syslog_facility"),
    Rule((), "log_debug", LEFT_OUT, "verbose, or pgsluice -v"),
    Rule((), "log_session", TO_SETTING, "log_connections"),
    Rule((), "log_stats", TO_SETTING, "log_stats"),
    Rule((), "stats_interval", TO_SETTING, "stats_period"),
    Rule((), "workers", BY_CODE),
    Rule((), "resolvers", LEFT_OUT, NO_THREADS),
    Rule((), "readahead", LEFT_OUT, NO_THREADS),
    Rule((), "cache_coroutine", LEFT_OUT, NO_THREADS),
    Rule((), "coroutine_stack_size", LEFT_OUT, NO_THREADS),
    Rule((), "keepalive", TO_SETTING, "tcp_keepidle"),
    Rule((), "keepalive_keep_interval", TO_SETTING, "tcp_keepintvl"),
    Rule((), "keepalive_probes", TO_SETTING, "tcp_keepcnt"),
    Rule((), "keepalive_usr_timeout", TO_SETTING, "tcp_user_timeout"),
    Rule((), "client_max", TO_SETTING, "max_client_conn"),
    Rule((), "server_login_retry", TO_SETTING, "server_login_retry", "ms"),
    Rule((), "hba_file", LEFT_OUT, "set auth_type = hba, and auth_hba_file"),
    Rule((), "include", LEFT_OUT, "this file is not read"),
    Rule(LISTEN, "host", TO_SETTING, "listen_addr"),
    Rule(LISTEN, "port", TO_SETTING, "listen_port"),
    Rule(LISTEN, "backlog", TO_SETTING, "listen_backlog"),
    Rule(LISTEN, "client_login_timeout", TO_SETTING,
         "client_login_timeout", "ms"),
    Rule(LISTEN, "tls", BY_CODE),
    Rule(LISTEN, "tls_ca_file", TO_SETTING, "client_tls_ca_file"),
    Rule(LISTEN, "tls_key_file", TO_SETTING, "client_tls_key_file"),
    Rule(LISTEN, "tls_cert_file", TO_SETTING, "client_tls_cert_file"),
    Rule(STORAGE, "type", BY_CODE),
    Rule(STORAGE, "host", BY_CODE),
    Rule(STORAGE, "port", BY_CODE),
    Rule(STORAGE, "tls", BY_CODE),
    Rule(STORAGE, "tls_ca_file", BY_CODE),
    Rule(STORAGE, "tls_key_file", BY_CODE),
    Rule(STORAGE, "tls_cert_file", BY_CODE),
    Rule(ROUTE, "authentication", BY_CODE),
    Rule(ROUTE, "password", BY_CODE),
    Rule(ROUTE, "auth_common_name", BY_CODE),
    Rule(ROUTE, "role", BY_CODE),
    Rule(ROUTE, "storage", BY_CODE),
    Rule(ROUTE, "storage_db", TO_ENTRY, "dbname"),
    Rule(ROUTE, "storage_user", TO_ENTRY, "user"),
    Rule(ROUTE, "storage_password", TO_ENTRY, "password"),
    Rule(ROUTE, "auth_query", TO_ENTRY, "auth_query"),
    Rule(ROUTE, "auth_query_user", TO_ENTRY, "auth_user"),
    Rule(ROUTE, "auth_query_db", TO_ENTRY, "auth_dbname"),
    Rule(ROUTE, "pool", TO_ENTRY, "pool_mode"),
    Rule(ROUTE, "pool_size", TO_LIMIT, "pool_size"),
    Rule(ROUTE, "min_pool_size", TO_ENTRY, "min_pool_size"),
    Rule(ROUTE, "pool_timeout", TO_ENTRY, "query_wait_timeout", "ms"),
    Rule(ROUTE, "pool_ttl", LEFT_OUT,
         "for all pools there is server_idle_timeout"),
    Rule(ROUTE, "server_lifetime", TO_ENTRY, "server_lifetime"),
    Rule(ROUTE, "client_max", LEFT_OUT,
         "max_db_client_connections of the database, or "
         "max_user_client_connections of the user"),
    Rule(ROUTE, "pool_discard", LEFT_OUT,
         "in session pooling server_reset_query, in transaction pooling "
         "session_state"),
    Rule(ROUTE, "pool_cancel", LEFT_OUT,
         "a query whose client has gone is cancelled by "
         "server_rollback_on_disconnect or ended"),
    Rule(ROUTE, "pool_rollback", LEFT_OUT,
         "for all pools there is server_rollback_on_disconnect"),
    Rule(ROUTE, "pool_reserve_prepared_statement", LEFT_OUT,
         "max_prepared_statements needs no word"),
    Rule(ROUTE, "client_fwd_error", LEFT_OUT,
         "the errors of servers reach clients"),
    Rule(ROUTE, "application_name_add_host", LEFT_OUT,
         "for all pools there is application_name_add_host"),
    Rule(ROUTE, "log_debug", LEFT_OUT, "verbose, or pgsluice -v"),
]

# What a storage says of its server, and the key of an entry for it.
OF_STORAGE = {"host": "host", "port": "port", "tls": "server_tls_sslmode",
              "tls_ca_file": "server_tls_ca_file",
              "tls_key_file": "server_tls_key_file",
              "tls_cert_file": "server_tls_cert_file"}

# What an entry has for all its users.
QUERY = ("auth_query", "auth_query_user", "auth_query_db")
SAME = ("storage", "storage_db", "storage_user", "storage_password", *QUERY)

RIGHTS = {"admin": "admin_users", "stat": "stats_users"}


def say_dashed(cv, scope, key, f):
    """verify_full is verify-full here."""
    cv.say(scope, key, f._replace(value=f.value.replace("_", "-")))


def use_storage(cv, f, name):
    """It goes to each entry that names it."""
    for theirs, ours in OF_STORAGE.items():
        said = cv.facts.get(("storage", f.value), theirs)
        if said and theirs == "tls":
            say_dashed(cv, (DATABASES, name), ours, said)
        elif said:
            cv.say((DATABASES, name), ours, said)


def is_local(cv, storage):
    return cv.facts.value(("storage", storage), "type") == "local"


# --- how a user logs in ---

def takes_own_certificate(cv, route, user):
    """Here the certificate must have the name of the user."""
    return any(f.key == "auth_common_name" and f.scope == route.scope
               and (f.value == DEFAULT or (user != ALL and f.value == user))
               for f in cv.facts)


def has_secret(cv, route, user):
    """auth_query of another user of the same entry must not stand in."""
    query = cv.facts.get(route.scope, "auth_query") is not None
    password = cv.facts.get(route.scope, "password") is not None
    return query and not password if user == ALL else query or password


METHODS = {     # theirs: (ours, whether it fits, why not)
    "clear_text": ("password", has_secret, NO_SECRET),
    "md5": ("md5", has_secret, NO_SECRET),
    "scram-sha-256": ("scram-sha-256", has_secret, NO_SECRET),
    "cert": ("cert", takes_own_certificate,
             "not let in: auth_common_name is neither default nor this user"),
}


def find_method(cv, route, user):
    """None: it lets in nobody, or without a password: its owner must say."""
    f = cv.facts.get(route.scope, "authentication")
    ours, fits_user, why = METHODS.get(f.value if f else None, (
        None, lambda *_: False, "not let in: write a rule of auth_hba_file for "
        "it"))
    if fits_user(cv, route, user):
        return ours
    cv.remark(f or route, why)
    return None


def login_of(cv, f, database, user, same=True):
    return Login(database, user, find_method(cv, f, user) if same else None,
                 cv.facts.value(f.scope, "password"))


# --- routes ---

def admit(cv, f, name, user):
    """Into the database of this name here."""
    same = cv.agrees(f, name, ROUTE, SAME, QUERY)
    database = ALL if name == "*" else name
    cv.admit(f, login_of(cv, f, database, user, same))
    if same:
        use_storage(cv, f, name)
        cv.route(f, name)


def use_console(cv, f, user):
    """A user of the database that is the console."""
    rights = RIGHTS.get(cv.facts.value(f.scope, "role"))
    cv.remark(f, "the console is the database pgbouncer here")
    if rights is None:
        cv.remark(f, "not let in: the roles admin and stat are known")
    if rights is None or user == ALL or not is_one_word(user):
        return
    cv.admit(f, login_of(cv, f, "pgbouncer", user))
    cv.say(SETTINGS, rights, f._replace(value=user))


def convert_route(cv, f):
    _, name, _, user = f.scope
    user = ALL if user == DEFAULT else user
    if is_local(cv, f.value):
        use_console(cv, f, user)
    elif not is_entry(name):
        cv.remark(f, "no entry can have the name of this database")
    else:
        admit(cv, f, "*" if name == DEFAULT else name, user)


def convert_routes(cv):
    for f in cv.facts:
        if f.key == "storage" and fits(f.scope, ROUTE):
            convert_route(cv, f)


def convert_passwords(cv):
    for f in cv.facts:
        if f.key != "password" or not fits(f.scope, ROUTE):
            continue
        user = f.scope[3]
        if user == DEFAULT:
            cv.remark(f, "one password for all users is not had here; see "
                      "auth_query")
        elif not is_user(user):
            cv.remark(f, "not let in: no rule has such a name")
        else:
            cv.say(AUTH, user, f)


def convert_general(cv):
    tls = cv.facts.get(LISTEN, "tls")
    workers = cv.facts.get((), "workers")
    if tls:
        say_dashed(cv, SETTINGS, "client_tls_sslmode", tls)
    if workers:
        cv.remark(workers, "one worker serves about what one core can; see "
                  "workers")


def read(text):
    return Conversion(braces.read(text))


def convert(cv):
    convert_passwords(cv)
    convert_routes(cv)
    cv.except_listed()
    convert_general(cv)
    cv.by_rules(RULES)
