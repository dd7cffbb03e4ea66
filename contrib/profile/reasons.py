# reasons.py - what time was spent for, by the functions that were called.
# SPDX-License-Identifier: ISC
import functools
import re

SYSCALL = re.compile("kernel:__(?:|.*?_)sys_(.*)")      # __x64_sys_recvfrom

NAMES = (
    "waiting for a CPU", "waiting for events", "locks", "waiting for a disk",
    "receiving", "sending", "opening and closing connections",
    "TLS and ciphers", "logins", "protocol", "pooling", "console and HTTP",
    "event loop", "memory", "logging", "upkeep", "other",
)
OTHER = NAMES[-1]

# How a row counts.
STRONG, WEAK, OFF_CPU = range(3)    # WEAK: where no other is known
# OFF_CPU: only of time that was waited

# By what names begin with; "sys:recv" is what the kernel runs for recvfrom(),
# whatever the machine is. Names of files are without their version. The functions
# of the program have no colon: test/lint/profiles.py compares these with the tree.
ROWS = (
    ("waiting for a CPU", OFF_CPU,
     "kernel:exit_to_user_mode kernel:irqentry_exit kernel:preempt_schedule "
     "kernel:dynamic_cond_resched kernel:__cond_resched "
     "kernel:dynamic_preempt_schedule kernel:asm_sysvec_"),
    ("waiting for a disk", OFF_CPU,
     "kernel:io_schedule kernel:folio_wait kernel:jbd2_ kernel:wait_on_page "
     "kernel:submit_bio_wait"),
    ("locks", STRONG,
     "sys:futex libc:__lll_lock libc:pthread_ libc:___pthread_ "
     "libc:__pthread_ libc:sem_ libc:__new_sem_"),
    ("waiting for events", STRONG,
     "sys:epoll_wait sys:epoll_pwait sys:poll libc:epoll_wait "
     "libc:epoll_pwait"),
    ("receiving", STRONG,
     "sys:recv sys:splice libc:recv libc:__libc_recv libc:splice libc:__recv"),
    ("sending", STRONG,
     "sys:send libc:send libc:__libc_send libc:__send libc:__sendmsg"),
    ("opening and closing connections", STRONG,
     "sys:accept sys:connect sys:close sys:socket sys:shutdown sys:setsockopt "
     "sys:getsockopt sys:bind sys:listen sys:epoll_ctl sys:getsockname "
     "sys:getpeername kernel:task_work_run listener_ dial_ dns_ resolve_ "
     "server_connect server_launch socket_ fdpass_ libcares: interfaces_ "
     "resolv_"),
    ("memory", STRONG,
     "mem_ secmem_ libc:malloc libc:calloc libc:realloc libc:free libc:cfree "
     "libc:_int_ libc:__libc_malloc libc:__libc_calloc libc:__libc_free "
     "libc:__libc_realloc libc:tcache_ libc:sysmalloc libc:unlink_chunk "
     "libc:malloc_consolidate sys:brk sys:mmap sys:munmap sys:madvise "
     "kernel:exc_page_fault kernel:asm_exc_page_fault kernel:do_page_fault"),
    ("logging", STRONG,
     "log_ slow_ libc:__vsyslog libc:syslog"),
    ("TLS and ciphers", STRONG,
     "tls_ libssl: server_tls"),
    ("logins", STRONG,
     "login_ auth_ jwt_ jwks_ oauth_ bearer_ scram_ saslprep md5_ "
     "credentials_ hba_ ident_ lobby_ user_ "
     "users_ osuser_ server_auth server_login server_password password_ "
     "passwords_ runner_ derive_ welcome_ startup_ "
     "offload_ libpam: libldap: libldap_r-2.5: ask_ldap ask_pam ldap_ peer_ "
     "proxy_ shed_ gssapi_ gssenc_ libgssapi_krb5: libkrb5:"),
    ("protocol", STRONG,
     "relay_ track_ msg_ prepared_ sql_ outbox_ reader_ writer_ report_ "
     "params_ bulk_ carry_ rest_ cancel_ canceler_ replication_ slots_ "
     "client_ server_ intern_ baggage_ carried_ channels_ custom_ datestyle_ "
     "dialect_ encoding_ flight_ keep_ own_ recall_ roam_ session_attrs_ "
     "splice_ trace_ traceparent_ unnamed_"),
    ("pooling", STRONG,
     "broker_ pool_ limit_ evict_ catalog_ clean_ drain_ hosts_ wait_ due_ "
     "database_admit database_compare database_dismiss departure_ host_role_ "
     "parts_ recent_ tally_ vacate_"),
    ("console and HTTP", STRONG,
     "console_ admin_ command_ view_ rowset_ selection_ statement_ "
     "driver_query exposition_ metrics_ http_ httpd_ health_ request_ "
     "libjansson: libevent_extra access_ api_ cell_format extended_ fds_ "
     "gather_ handover_ held_ history_ holds_free_late holds_release "
     "holds_take json_ judge judgement_ lex_ mistyped mistyped_hide page_ "
     "portal_ sums_of sums_of_memory table_ version_of written_"),
    ("upkeep", STRONG,
     "janitor_ upkeep_ averages_ period_ counters_ latencies_ histogram_ "
     "wheel_ reload_ apply_ config_ suspension_ snapshot_ takeover_ "
     "libsystemd: _ args_ balance_ check_run clash_ closedown_ connstr_ "
     "counted_ cpu_ crew_ daemon_ effective_ env_ file_list file_names_fini "
     "file_read file_text_fini idle_free idle_new idle_oldest idle_reset "
     "idle_run ini_ input_ latency_ library_ load_clear load_forget load_look "
     "load_start memory_ mock_ nearest_ notify_ option_ persist_ pidfile_ "
     "ready_take_pidfile ready_tell require_ restless_ set_now set_persist "
     "set_persist_fini set_persist_is_due set_persist_turn set_try settings_ "
     "sigmask_ signals_ suspend_ talk_ token_ turnstile_ userlist_ "
     "watch_give_up watch_look watchdog_ wiring_ words_ workers_"),
    ("TLS and ciphers", WEAK,
     "libcrypto: [libcrypto] [libssl]"),
    ("event loop", WEAK,
     "main app_ loop_ stream_ flow_ plain_ on_event after_turn timeout_ time_ "
     "[libevent libc:clock_gettime libc:__clock_gettime [vdso] libevent bell_ "
     "hold_free hold_join hold_missing hold_new hold_release hold_take "
     "mailbox_ poller_ thread_ transport_"),
    ("receiving", WEAK,
     "sys:read libc:read libc:__libc_read"),
    ("sending", WEAK,
     "sys:write libc:write libc:__libc_write"),
)

TABLE = [(reason, how, prefix) for reason, how, prefixes in ROWS
         for prefix in prefixes.split()]

# What these do counts for who calls them.
OF_THE_CALLER = tuple((
    "ceiling_ close_cause close_cause_err close_reason_text crypto_ cursor_ "
    "err_ hash_bytes hash_seed ledger_ net_ num_ os_ random_ ring_ secret_ "
    "stacks_ text_").split())


def begins(name, prefix):
    if not prefix.startswith("sys:"):
        return name.startswith(prefix)
    call = SYSCALL.match(name)
    return bool(call) and call[1].startswith(prefix.removeprefix("sys:"))


@functools.cache
def row_of(name, off_cpu):
    """(reason, how) of the first row that knows the function, or None."""
    for reason, how, prefix in TABLE:
        if (how != OFF_CPU or off_cpu) and begins(name, prefix):
            return reason, how
    return None


def reason_of(stack, off_cpu):
    """
    Of a folded stack: the innermost function that is known decides; what belongs
    to many, as the cipher of a library, only where no other is known.
    """
    weak = None
    for name in reversed(stack.split(";")):
        reason, how = row_of(name, off_cpu) or (None, None)
        if reason and how != WEAK:
            return reason
        weak = weak or reason
    return weak or OTHER


def sums(stacks, off_cpu):
    """{reason: weight} of all, in the order of NAMES."""
    found = dict.fromkeys(NAMES, 0)
    for stack, weight in stacks.all.items():
        found[reason_of(stack, off_cpu)] += weight
    found[OTHER] += stacks.homeless
    return found
