/* reasons.c - what time was spent for, by the functions that were called.
 * SPDX-License-Identifier: ISC */
#include "ctl/reasons.h"

#include <string.h>

#include "ctl/stacks.h"

/* How a row counts. */
enum {
	WEAK = 1 << 0,		/* where no other is known */
	OFF_CPU = 1 << 1,	/* only of time that was waited */
};

/*
 * By what names begin with; "sys:recv" is what the kernel runs for recvfrom(),
 * whatever the machine is. Names of files are without their version.
 */
static const struct row {
	enum reason reason;
	unsigned how;
	const char *prefixes[24];
} rows[] = {
	{ REASON_CPU, OFF_CPU, { "kernel:exit_to_user_mode",
	    "kernel:irqentry_exit", "kernel:preempt_schedule",
	    "kernel:dynamic_cond_resched", "kernel:__cond_resched",
	    "kernel:dynamic_preempt_schedule", "kernel:asm_sysvec_" } },
	{ REASON_DISK, OFF_CPU, { "kernel:io_schedule", "kernel:folio_wait",
	    "kernel:jbd2_", "kernel:wait_on_page", "kernel:submit_bio_wait" } },
	{ REASON_LOCK, 0, { "sys:futex", "libc:__lll_lock", "libc:pthread_",
	    "libc:___pthread_", "libc:__pthread_", "libc:sem_",
	    "libc:__new_sem_" } },
	{ REASON_EVENTS, 0, { "sys:epoll_wait", "sys:epoll_pwait", "sys:poll",
	    "libc:epoll_wait", "libc:epoll_pwait" } },
	{ REASON_RECEIVE, 0, { "sys:recv", "sys:splice", "libc:recv",
	    "libc:__libc_recv", "libc:splice", "libc:__recv" } },
	{ REASON_SEND, 0, { "sys:send", "libc:send", "libc:__libc_send",
	    "libc:__send", "libc:__sendmsg" } },
	{ REASON_CONNECT, 0, { "sys:accept", "sys:connect", "sys:close",
	    "sys:socket", "sys:shutdown", "sys:setsockopt", "sys:getsockopt",
	    "sys:bind", "sys:listen", "sys:epoll_ctl", "sys:getsockname",
	    "sys:getpeername", "kernel:task_work_run", "listener_", "dial_",
	    "dns_", "resolve_", "server_connect", "server_launch", "socket_",
	    "fdpass_", "libcares:" } },
	{ REASON_MEMORY, 0, { "mem_", "secmem_", "libc:malloc", "libc:calloc",
	    "libc:realloc", "libc:free", "libc:cfree", "libc:_int_",
	    "libc:__libc_malloc", "libc:__libc_calloc", "libc:__libc_free",
	    "libc:__libc_realloc", "libc:tcache_", "libc:sysmalloc",
	    "libc:unlink_chunk", "libc:malloc_consolidate", "sys:brk",
	    "sys:mmap", "sys:munmap", "sys:madvise", "kernel:exc_page_fault",
	    "kernel:asm_exc_page_fault", "kernel:do_page_fault" } },
	{ REASON_LOGGING, 0, { "log_", "slow_", "libc:__vsyslog",
	    "libc:syslog" } },
	{ REASON_TLS, 0, { "tls_", "libssl:", "server_tls" } },
	{ REASON_LOGIN, 0, { "login_", "auth_", "scram_", "saslprep",
	    "md5_", "credentials_", "hba_", "ident_", "lobby_", "user_",
	    "users_", "osuser_", "server_auth", "server_login", "derive_",
	    "welcome_", "startup_", "offload_", "libpam:", "libldap:",
	    "libldap_r-2.5:" } },
	{ REASON_PROTOCOL, 0, { "relay_", "track_", "msg_", "prepared_",
	    "sql_", "outbox_", "reader_", "writer_", "report_", "params_",
	    "bulk_", "carry_", "rest_", "cancel_", "canceler_",
	    "replication_", "slots_", "client_", "server_", "intern_" } },
	{ REASON_POOLING, 0, { "broker_", "pool_", "limit_", "evict_",
	    "catalog_", "clean_", "drain_", "hosts_", "wait_", "due_" } },
	{ REASON_CONSOLE, 0, { "console_", "admin_", "command_", "view_",
	    "rowset_", "selection_", "statement_", "driver_query",
	    "exposition_", "metrics_", "http_", "httpd_", "health_",
	    "request_", "libevent_extra", "libjansson:" } },
	{ REASON_UPKEEP, 0, { "janitor_", "upkeep_", "averages_", "period_",
	    "counters_", "latencies_", "histogram_", "wheel_", "reload_",
	    "apply_", "config_", "suspension_", "snapshot_",
	    "takeover_", "libsystemd:" } },
	{ REASON_TLS, WEAK, { "libcrypto:", "[libcrypto]", "[libssl]" } },
	{ REASON_LOOP, WEAK, { "main", "app_", "loop_", "stream_", "flow_",
	    "plain_", "on_event", "after_turn", "timeouts_", "timeout_",
	    "time_", "libevent", "[libevent",
	    "libc:clock_gettime", "libc:__clock_gettime", "[vdso]" } },
	{ REASON_RECEIVE, WEAK, { "sys:read", "libc:read",
	    "libc:__libc_read" } },
	{ REASON_SEND, WEAK, { "sys:write", "libc:write",
	    "libc:__libc_write" } },
};

#define ROWS (sizeof(rows) / sizeof(*rows))

const char *reason_name(enum reason r)
{
	static const char *const names[REASONS] = {
		[REASON_CPU] = "waiting for a CPU",
		[REASON_EVENTS] = "waiting for events",
		[REASON_LOCK] = "locks",
		[REASON_DISK] = "waiting for a disk",
		[REASON_RECEIVE] = "receiving",
		[REASON_SEND] = "sending",
		[REASON_CONNECT] = "opening and closing connections",
		[REASON_TLS] = "TLS and ciphers",
		[REASON_LOGIN] = "logins",
		[REASON_PROTOCOL] = "protocol",
		[REASON_POOLING] = "pooling",
		[REASON_CONSOLE] = "console and HTTP",
		[REASON_LOOP] = "event loop",
		[REASON_MEMORY] = "memory",
		[REASON_LOGGING] = "logging",
		[REASON_UPKEEP] = "upkeep",
		[REASON_OTHER] = "other",
	};

	return names[r];
}

static bool begins(const char *name, const char *prefix)
{
	static const char sys[] = "sys:", kernel[] = "kernel:__";

	if (strncmp(prefix, sys, sizeof(sys) - 1) != 0)
		return strncmp(name, prefix, strlen(prefix)) == 0;
	/* kernel:__x64_sys_recvfrom */
	if (strncmp(name, kernel, sizeof(kernel) - 1) != 0)
		return false;
	name += sizeof(kernel) - 1;
	const char *const call = strncmp(name, "sys_", 4) == 0 ? name :
	    strstr(name, "_sys_") != NULL ? strstr(name, "_sys_") + 1 : NULL;

	prefix += sizeof(sys) - 1;
	return call != NULL && strncmp(call + 4, prefix, strlen(prefix)) == 0;
}

static const struct row *row_of(const char *name, bool off_cpu)
{
	for (size_t i = 0; i < ROWS; i++) {
		if ((rows[i].how & OFF_CPU) != 0 && !off_cpu)
			continue;
		for (const char *const *p = rows[i].prefixes; *p != NULL; p++) {
			if (begins(name, *p))
				return &rows[i];
		}
	}
	return NULL;
}

enum reason reason_of(const char *stack, bool off_cpu)
{
	enum reason weak = REASON_OTHER;
	const char *at = stack + strlen(stack);

	while (at > stack) {
		const char *const semicolon =
		    memrchr(stack, ';', (size_t)(at - stack));
		const struct row *const row = row_of(semicolon == NULL ?
		    stack : semicolon + 1, off_cpu);

		if (row != NULL && (row->how & WEAK) == 0)
			return row->reason;
		if (row != NULL && weak == REASON_OTHER)
			weak = row->reason;
		at = semicolon == NULL ? stack : semicolon;
	}
	return weak;
}

void reasons_sum(const struct stacks *s, bool off_cpu, uint64_t sums[REASONS])
{
	memset(sums, 0, sizeof(*sums) * REASONS);
	for (const struct stack *it = s->all; it != NULL; it = it->hh.next)
		sums[reason_of(it->text, off_cpu)] += it->weight;
	sums[REASON_OTHER] += s->homeless;
}
