/* runner.c - a process of its own that runs commands and tells what they print.
 *
 * There are two processes. The first one watches: it forks the second one, which
 * serves, when there is something to do, and again when the second one has died.
 * SPDX-License-Identifier: ISC */
#include "io/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "base/os.h"
#include "io/fdpass.h"
#include "io/runner_parts.h"

#define CONTROL 3		/* its descriptor, after the fork */
#define RUNNING_MAX 32		/* commands at a time */
#define WAITING_MAX 100000	/* orders */
#define UNSENT_MAX 1000		/* answers for one link */
#define POLL_FIXED 2		/* the control socket and the signals */
#define PATIENCE (3600 * USEC)
#define PAUSE_MS 100		/* before one that died is replaced */

/* An answer for which the socket of a link has no room yet. */
struct unsent {
	struct unsent *prev, *next;
	struct runner_answer *answer;	/* owned */
};

/* A loop of the pooler. */
struct link {
	struct link *prev, *next;
	int fd;				/* owned */
	struct unsent *unsent;		/* DL list, the oldest first */
	unsigned count;
};

struct runner {
	int control, signals;
	struct link *links;		/* DL list */
	unsigned link_count;
	struct runner_job *waiting, *running;	/* DL lists */
	unsigned waiting_count, running_count;
	struct pollfd *polled;		/* owned */
	size_t room;			/* of polled */
};

/* --- answers --- */

static size_t answer_bytes(const struct runner_answer *a)
{
	return RUNNER_ANSWER_HEAD + a->len;
}

/* 1: sent; 0: there is no room; -1: the link is gone. */
static int try_send(const struct link *l, const struct runner_answer *a)
{
	const ssize_t n = send(l->fd, a, answer_bytes(a),
	    MSG_DONTWAIT | MSG_NOSIGNAL);

	return n >= 0 ? 1 : errno == EAGAIN || errno == ENOBUFS ? 0 : -1;
}

static void drop_unsent(struct link *l, struct unsent *u)
{
	DL_DELETE(l->unsent, u);
	l->count--;
	secmem_free(u->answer);
	mem_free(u);
}

static void flush_link(struct link *l)
{
	while (l->unsent != NULL && try_send(l, l->unsent->answer) != 0)
		drop_unsent(l, l->unsent);
}

/* A loop that hangs gets no more answers. It orders again when it goes on. */
static void keep_unsent(struct link *l, const struct runner_answer *a)
{
	struct unsent *const u = l->count == UNSENT_MAX ? NULL :
	    mem_zalloc(sizeof *u);

	if (u == NULL)
		return;
	u->answer = secmem_zalloc(answer_bytes(a));
	if (u->answer == NULL) {
		mem_free(u);
		return;
	}
	memcpy(u->answer, a, answer_bytes(a));
	DL_APPEND(l->unsent, u);
	l->count++;
}

static void tell_all(struct runner *r, const struct runner_answer *a)
{
	struct link *l;

	DL_FOREACH(r->links, l) {
		if (l->unsent != NULL || try_send(l, a) == 0)
			keep_unsent(l, a);
	}
}

/* --- orders --- */

/* Bytes of the words that make the subject; 0: the words are not those. */
static size_t check_words(const struct runner_order *o, size_t bytes)
{
	size_t at = 0, subject = 0;
	unsigned words = 0;

	if (bytes != RUNNER_ORDER_HEAD + o->bytes || o->bytes == 0 ||
	    o->words[o->bytes - 1] != '\0' || o->count <= RUNNER_VARIABLES)
		return 0;
	while (at < o->bytes) {
		at += strlen(o->words + at) + 1;
		if (++words == RUNNER_SUBJECT)
			subject = at;
	}
	return words == o->count ? subject : 0;
}

static struct runner_job *find_tag(struct runner_job *list,
    const struct runner_order *o)
{
	struct runner_job *j;

	DL_FOREACH(list, j) {
		if (memcmp(j->order->tag, o->tag, sizeof o->tag) == 0)
			return j;
	}
	return NULL;
}

static bool is_same_subject(const struct runner_job *a,
    const struct runner_job *b)
{
	return a->subject == b->subject &&
	    memcmp(a->order->words, b->order->words, a->subject) == 0;
}

static bool is_busy(const struct runner *r, const struct runner_job *with)
{
	const struct runner_job *j;

	DL_FOREACH(r->running, j) {
		if (is_same_subject(j, with))
			return true;
	}
	return false;
}

/* Links that order the same get the answer of one command. */
static void take_order(struct runner *r, const struct runner_order *o,
    size_t bytes)
{
	const size_t subject = check_words(o, bytes);

	if (subject == 0 || find_tag(r->waiting, o) != NULL ||
	    (!o->fresh && find_tag(r->running, o) != NULL) ||
	    r->waiting_count == WAITING_MAX)
		return;
	struct runner_job *j = mem_zalloc(sizeof *j);

	if (j == NULL)
		return;
	j->subject = subject;
	j->out = j->err = -1;
	j->order = mem_dup(o, bytes);
	if (j->order == NULL) {
		runner_job_free(&j);
		return;
	}
	DL_APPEND(r->waiting, j);
	r->waiting_count++;
}

static void finish(struct runner *r, struct runner_job *j)
{
	DL_DELETE(r->running, j);
	r->running_count--;
	j->answer->more = find_tag(r->waiting, j->order) != NULL;
	tell_all(r, j->answer);
	runner_job_free(&j);
}

static void start(struct runner *r, struct runner_job *j)
{
	DL_DELETE(r->waiting, j);
	r->waiting_count--;
	j->answer = secmem_zalloc(sizeof *j->answer);
	if (j->answer == NULL) {
		runner_job_free(&j);
		return;
	}
	DL_APPEND(r->running, j);
	r->running_count++;
	if (runner_job_start(j) < 0)
		finish(r, j);
}

static void start_waiting(struct runner *r)
{
	struct runner_job *j, *next;

	DL_FOREACH_SAFE(r->waiting, j, next) {
		if (r->running_count == RUNNING_MAX)
			return;
		if (!is_busy(r, j))
			start(r, j);
	}
}

static bool is_job(const struct runner *r, pid_t pid)
{
	const struct runner_job *j;

	DL_FOREACH(r->running, j) {
		if (j->pid == pid)
			return true;
	}
	return false;
}

/* What commands left behind has ended; a job that has is for the next turn. */
static void reap(const struct runner *r)
{
	siginfo_t info = { .si_pid = 0 };

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    info.si_pid != 0 && !is_job(r, info.si_pid)) {
		(void)waitpid(info.si_pid, NULL, WNOHANG);
		info.si_pid = 0;
	}
}

static void look_after_jobs(struct runner *r)
{
	const usec_t now = time_precise();
	struct runner_job *j, *next;

	DL_FOREACH_SAFE(r->running, j, next) {
		runner_job_read(j);
		if (runner_job_ended(j))
			finish(r, j);
		else if (now >= j->until && !j->failed)
			runner_job_kill(j);
	}
	reap(r);
}

/* --- links --- */

static void drop_link(struct runner *r, struct link *l)
{
	while (l->unsent != NULL)
		drop_unsent(l, l->unsent);
	DL_DELETE(r->links, l);
	r->link_count--;
	close(l->fd);
	mem_free(l);
}

static void add_link(struct runner *r, int fd)
{
	struct link *const l = mem_zalloc(sizeof *l);
	const int room = 4 * RUNNER_OUTPUT_MAX;

	if (l == NULL) {
		close(fd);
		return;
	}
	l->fd = fd;
	/* for the longest answer, whatever the default is */
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	DL_APPEND(r->links, l);
	r->link_count++;
}

static void read_link(struct runner *r, struct link *l)
{
	struct runner_order o;
	ssize_t n;

	while ((n = recv(l->fd, &o, sizeof o, MSG_DONTWAIT)) > 0) {
		if ((size_t)n > RUNNER_ORDER_HEAD)
			take_order(r, &o, (size_t)n);
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		drop_link(r, l);
}

/* --- what the pooler says to all of it --- */

/* The pooler has become this user already; so does this process. */
static void become(const struct runner_word *w)
{
	if (geteuid() != 0 || w->uid == 0)
		return;
	if (setgroups(1, &w->gid) < 0 || setgid(w->gid) < 0 ||
	    setuid(w->uid) < 0)
		_exit(1);
}

/* Returns -1 when the pooler is gone. */
static int read_control(struct runner *r)
{
	struct runner_word w;
	struct fdpassed with;
	const ssize_t n = fdpass_recv(r->control, &w, sizeof w, &with);

	if (n <= 0)
		return -1;
	if (n == sizeof w && w.kind == RUNNER_BECOME)
		become(&w);
	if (n == sizeof w && w.kind == RUNNER_ATTACH && with.fd >= 0 &&
	    geteuid() != 0)
		add_link(r, with.fd);
	else if (with.fd >= 0)
		close(with.fd);
	return 0;
}

/* --- the process that serves --- */

static void poll_add(struct runner *r, size_t *n, int fd, short events)
{
	if (fd >= 0)
		r->polled[(*n)++] = (struct pollfd){ fd, events, 0 };
}

static void fill_poll(struct runner *r, size_t *n)
{
	const struct runner_job *j;
	const struct link *l;

	poll_add(r, n, r->control, POLLIN);
	poll_add(r, n, r->signals, POLLIN);
	DL_FOREACH(r->links, l)
		poll_add(r, n, l->fd, l->unsent != NULL ? POLLIN | POLLOUT :
		    POLLIN);
	DL_FOREACH(r->running, j) {
		poll_add(r, n, j->out, POLLIN);
		poll_add(r, n, j->err, POLLIN);
	}
}

/* Milliseconds until the time of the first job is up; -1: for ever. */
static int patience(const struct runner *r)
{
	const usec_t now = time_precise();
	const struct runner_job *j;
	usec_t left = -1;

	DL_FOREACH(r->running, j) {
		const usec_t wait = j->until > now ? j->until - now : 0;

		if (!j->failed && (left < 0 || wait < left))
			left = wait;
	}
	/* a longer wait is several */
	return left < 0 ? -1 : (int)((left < PATIENCE ? left : PATIENCE) /
	    1000) + 1;
}

static void clear_signals(const struct runner *r)
{
	while (os_signals_take(r->signals) != 0)
		;
}

static int make_room(struct runner *r)
{
	const size_t need = POLL_FIXED + r->link_count + 2 * RUNNING_MAX;
	struct pollfd *const more = need <= r->room ? r->polled :
	    mem_resize(r->polled, need * sizeof *more);

	if (more == NULL)
		return -1;
	r->polled = more;
	r->room = need > r->room ? need : r->room;
	return 0;
}

/* Returns -1 when it is to end. */
static int turn(struct runner *r)
{
	struct link *l, *next;
	size_t n = 0;

	if (make_room(r) < 0)
		return -1;
	fill_poll(r, &n);
	if (poll(r->polled, n, patience(r)) < 0 && errno != EINTR)
		return -1;
	const bool told = r->polled[0].revents != 0;

	clear_signals(r);
	DL_FOREACH_SAFE(r->links, l, next) {
		flush_link(l);
		read_link(r, l);
	}
	look_after_jobs(r);
	start_waiting(r);
	return told ? read_control(r) : 0;
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	return os_signals_open(&set);
}

static _Noreturn void serve(int control)
{
	struct runner r = { .control = control, .signals = open_signals() };
	struct runner_job *j, *next;

	os_process_adopt();
	while (r.signals >= 0 && turn(&r) == 0)
		;
	/* nothing outlives the pooler */
	DL_FOREACH_SAFE(r.running, j, next)
		runner_job_free(&j);
	_exit(r.signals < 0 ? 1 : 0);
}

/* --- the process that watches --- */

/* Wait until the pooler says something. Returns false if the pooler is gone. */
static bool await_word(int control)
{
	struct pollfd p = { .fd = control, .events = POLLIN };
	char byte;
	ssize_t n;

	do
		n = poll(&p, 1, -1);
	while (n < 0 && errno == EINTR);
	n = recv(control, &byte, 1, MSG_PEEK);
	return n > 0;
}

/* This process changes its user, so each process that it forks has that user. */
static bool is_about_user(int control)
{
	struct runner_word w;

	return recv(control, &w, sizeof w, MSG_PEEK) == sizeof w &&
	    w.kind == RUNNER_BECOME;
}

/* Of pid. What one that was killed has left behind is waited for, too. */
static int await_end(pid_t pid)
{
	int status = -1;
	pid_t ended;

	do
		ended = waitpid(-1, &status, 0);
	while (ended != pid && (ended > 0 || errno == EINTR));
	return ended == pid ? status : -1;
}

static void serve_by_child(int control)
{
	const pid_t pid = fork();

	if (pid == 0)
		serve(control);
	const int status = pid > 0 ? await_end(pid) : -1;

	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		_exit(0);
	(void)poll(NULL, 0, PAUSE_MS);
}

_Noreturn void runner_main(int control)
{
	struct runner user = { .control = control };

	os_process_adopt();
	while (await_word(control)) {
		if (is_about_user(control))
			(void)read_control(&user);
		else
			serve_by_child(control);
	}
	_exit(0);
}

/* --- the fork --- */

int runner_pair(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		(void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
	return 0;
}

/* A signal for the pooler may be sent to its whole process group. */
static void ignore_signals(void)
{
	static const int all[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE,
		SIGUSR1, SIGUSR2, SIGTSTP, SIGTTIN, SIGTTOU };
	sigset_t none;

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		(void)signal(all[i], SIG_IGN);
	/* if the parent ignored it, waitpid(2) would find no children */
	(void)signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Others may wait until a terminal, a pipe or a socket is closed: we hold none. */
static int leave_all(int control)
{
	const int null = open("/dev/null", O_RDWR);

	if (null < 0)
		return -1;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	if (control != CONTROL && dup2(control, CONTROL) < 0)
		return -1;
	(void)fcntl(CONTROL, F_SETFD, FD_CLOEXEC);
	os_close_from(CONTROL + 1);
	return 0;
}

static _Noreturn void begin(int control)
{
	const struct rlimit no_core = { 0, 0 };

	ignore_signals();
	(void)setsid();
	/* neither it nor a command leaves a password in a core file */
	os_process_seclude("pgsluice-runner");
	(void)setrlimit(RLIMIT_CORE, &no_core);
	if (leave_all(control) < 0)
		_exit(1);
	runner_main(CONTROL);
}

int runner_fork(void)
{
	int ends[2];

	if (runner_pair(ends) < 0)
		return -1;
	const pid_t pid = fork();

	if (pid == 0)
		begin(ends[1]);
	const int cause = errno;

	close(ends[1]);
	if (pid > 0)
		return ends[0];
	close(ends[0]);
	errno = cause;
	return -1;
}

int runner_become(int runner)
{
	const struct runner_word w = { .kind = RUNNER_BECOME,
		.uid = geteuid(), .gid = getegid() };

	return send(runner, &w, sizeof w, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	    sizeof w ? 0 : -1;
}
