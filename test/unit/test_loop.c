/* test_loop.c - the loop: turns, sockets, tasks, fast_ticks, ticks and signals.
 * SPDX-License-Identifier: ISC */
#include "io/loop.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/time.h"
#include "io/poller.h"

#define GIVE_UP (20 * USEC)
#define LOG_MAX 64

/* Who ran, a letter each. */
struct world {
	struct loop *loop;
	unsigned turns;
	char log[LOG_MAX + 1];
	size_t len;
	size_t enough;	/* stop when the log is as long */
};

struct player {
	struct loop_task task;	/* first */
	struct world *w;
	char name;
	/* what it does besides */
	void (*play)(struct player *p);
	struct player *other;
};

static void note(struct world *w, char name)
{
	if (w->len < LOG_MAX)
		w->log[w->len++] = name;
}

static void run_player(struct loop_task *t)
{
	struct player *p = (struct player *)t;

	note(p->w, p->name);
	if (p->play != NULL)
		p->play(p);
}

static struct player player(struct world *w, char name)
{
	return (struct player){ .task.run = run_player, .w = w,
		.name = name };
}

static void give_up(void *arg)
{
	(void)arg;
	fail_msg("nothing happens");
}

static int setup(void **state)
{
	static struct world w;

	memset(&w, 0, sizeof w);
	w.loop = loop_new();
	assert_non_null(w.loop);
	assert_int_equal(loop_every(w.loop, GIVE_UP, give_up, NULL), 0);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	loop_free(&w->loop);
	return 0;
}

static void stop_when_enough(void *arg)
{
	struct world *w = arg;

	w->turns++;
	if (w->len > 0 && w->log[w->len - 1] != '.')
		note(w, '.');
	if (w->len >= w->enough)
		loop_stop(w->loop);
}

/* Turns until so much was noted; those in which something was end in a dot. */
static const char *run(struct world *w, size_t enough)
{
	w->enough = enough;
	loop_run(w->loop, stop_when_enough, w);
	return w->log;
}

/* --- tasks --- */

static void again(struct player *p)
{
	loop_again(p->w->loop, &p->task);
}

static void test_tasks_run_once_each_in_order(void **state)
{
	struct world *w = *state;
	struct player a = player(w, 'a'), b = player(w, 'b'),
		c = player(w, 'c');

	loop_again(w->loop, &a.task);
	loop_again(w->loop, &b.task);
	loop_again(w->loop, &c.task);
	loop_again(w->loop, &a.task);
	loop_cancel(&b.task);
	assert_string_equal(run(w, 3), "ac.");
}

static void test_task_that_asks_again_runs_in_next_turn(void **state)
{
	struct world *w = *state;
	struct player a = player(w, 'a'), b = player(w, 'b');

	a.play = again;
	loop_again(w->loop, &a.task);
	loop_again(w->loop, &b.task);
	assert_string_equal(run(w, 7), "ab.a.a.");
}

static void defer_other(struct player *p)
{
	loop_defer(p->w->loop, &p->other->task);
}

static void test_deferred_task_runs_at_end_of_turn(void **state)
{
	struct world *w = *state;
	struct player a = player(w, 'a'), b = player(w, 'b'),
		c = player(w, 'c');

	a.play = defer_other;
	a.other = &c;
	loop_again(w->loop, &a.task);
	loop_again(w->loop, &b.task);
	loop_again(w->loop, &c.task);	/* which defer takes back */
	assert_string_equal(run(w, 3), "ab.c");
}

/* --- sockets --- */

/* One end of a pair. It says so when it is told of, and reads one byte. */
struct end {
	struct loop_socket socket;	/* first */
	struct world *w;
	char name;
	int fd, peer;
	uint32_t events;	/* the last ones */
	int told;
	void (*play)(struct end *e);
	struct end *other;
};

static void on_event(struct loop_socket *s, uint32_t events)
{
	struct end *e = (struct end *)s;
	char c;

	note(e->w, e->name);
	e->events = events;
	e->told++;
	(void)!recv(e->fd, &c, 1, MSG_DONTWAIT);
	poller_await(loop_poller(e->w->loop), e->fd);
	if (e->play != NULL)
		e->play(e);
}

static void end_open(struct end *e, struct world *w, char name, uint32_t events)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    fds), 0);
	*e = (struct end){ .socket.on_event = on_event, .w = w, .name = name,
		.fd = fds[0], .peer = fds[1] };
	assert_int_equal(loop_add(w->loop, e->fd, events, &e->socket), 0);
}

static void end_close(struct end *e)
{
	loop_remove(e->w->loop, e->fd, &e->socket);
	close(e->fd);
	close(e->peer);
}

static void poke(const struct end *e)
{
	assert_int_equal(write(e->peer, "x", 1), 1);
}

static void test_sockets_are_told_in_order_of_their_events(void **state)
{
	struct world *w = *state;
	struct end a, b, c;

	end_open(&a, w, 'a', LOOP_IN | LOOP_EDGE);
	end_open(&b, w, 'b', LOOP_IN | LOOP_EDGE);
	end_open(&c, w, 'c', LOOP_IN | LOOP_EDGE);
	poke(&c);
	poke(&a);
	assert_string_equal(run(w, 3), "ca.");
	assert_int_equal(a.events, LOOP_IN);
	poke(&b);
	assert_string_equal(run(w, 5), "ca.b.");
	end_close(&a);
	end_close(&b);
	end_close(&c);
}

static void close_other(struct end *e)
{
	end_close(e->other);
}

static void test_closed_socket_is_not_told_what_was_fetched(void **state)
{
	struct world *w = *state;
	struct end a, b, c;

	end_open(&a, w, 'a', LOOP_IN | LOOP_EDGE);
	end_open(&b, w, 'b', LOOP_IN | LOOP_EDGE);
	end_open(&c, w, 'c', LOOP_IN | LOOP_EDGE);
	a.play = close_other;
	a.other = &b;
	poke(&a);
	poke(&b);
	poke(&c);
	assert_string_equal(run(w, 3), "ac.");
	end_close(&a);
	end_close(&c);
}

/* Another socket, which gets the number of the one that is closed. */
static void replace_other(struct end *e)
{
	struct end *const old = e->other, *const new = old->other;
	const int fd = old->fd;

	end_close(old);
	end_open(new, e->w, 'n', LOOP_IN | LOOP_EDGE);
	assert_int_equal(new->fd, fd);
}

static void replace_and_poke_other(struct end *e)
{
	struct end *const new = e->other->other;

	replace_other(e);
	poke(new);
}

static void test_new_socket_is_not_told_what_its_number_was(void **state)
{
	struct world *w = *state;
	struct end a, b, c, new;

	/* b's number is the lowest that will be free */
	end_open(&b, w, 'b', LOOP_IN | LOOP_EDGE);
	end_open(&a, w, 'a', LOOP_IN | LOOP_EDGE);
	end_open(&c, w, 'c', LOOP_IN | LOOP_EDGE);
	a.play = replace_other;
	a.other = &b;
	b.other = &new;
	poke(&a);
	poke(&b);
	poke(&c);
	assert_string_equal(run(w, 3), "ac.");
	poke(&new);
	assert_string_equal(run(w, 5), "ac.n.");
	end_close(&a);
	end_close(&c);
	end_close(&new);
}

static void test_object_used_again_is_told_of_its_new_socket_only(void **state)
{
	struct world *w = *state;
	struct end a, b, c;

	end_open(&b, w, 'b', LOOP_IN | LOOP_EDGE);
	end_open(&a, w, 'a', LOOP_IN | LOOP_EDGE);
	end_open(&c, w, 'c', LOOP_IN | LOOP_EDGE);
	a.play = replace_and_poke_other;
	a.other = &b;
	b.other = &b;	/* its own memory */
	poke(&a);
	poke(&b);
	poke(&c);
	assert_string_equal(run(w, 5), "ac.n.");
	end_close(&a);
	end_close(&b);
	end_close(&c);
}

static void test_room_is_told_while_it_is_asked_for(void **state)
{
	struct world *w = *state;
	struct end a;

	end_open(&a, w, 'a', LOOP_IN | LOOP_EDGE);
	loop_change(w->loop, a.fd, LOOP_IN | LOOP_OUT | LOOP_EDGE, &a.socket);
	assert_string_equal(run(w, 2), "a.");
	assert_int_equal(a.events, LOOP_OUT);
	loop_change(w->loop, a.fd, LOOP_IN | LOOP_EDGE, &a.socket);
	poke(&a);
	assert_string_equal(run(w, 4), "a.a.");
	assert_int_equal(a.events, LOOP_IN);
	end_close(&a);
}

static void ignore_other(struct end *e)
{
	loop_change(e->w->loop, e->other->fd, 0, &e->other->socket);
}

static void test_change_takes_back_what_was_fetched(void **state)
{
	struct world *w = *state;
	struct end a, b, c;

	end_open(&a, w, 'a', LOOP_IN | LOOP_EDGE);
	end_open(&b, w, 'b', LOOP_IN | LOOP_EDGE);
	end_open(&c, w, 'c', LOOP_IN | LOOP_EDGE);
	a.play = ignore_other;
	a.other = &b;
	poke(&a);
	poke(&b);
	poke(&c);
	assert_string_equal(run(w, 3), "ac.");
	loop_change(w->loop, b.fd, LOOP_IN | LOOP_EDGE, &b.socket);
	assert_string_equal(run(w, 5), "ac.b.");
	end_close(&a);
	end_close(&b);
	end_close(&c);
}

#define MANY 300	/* more than are fetched in one turn */

static bool are_told(const struct end *all)
{
	for (int i = 0; i < MANY; i++) {
		if (all[i].told == 0)
			return false;
	}
	return true;
}

static void test_more_sockets_than_fit_in_a_turn_are_told_once(void **state)
{
	struct world *w = *state;
	struct end *all = mem_zalloc(MANY * sizeof *all);

	assert_non_null(all);
	for (int i = 0; i < MANY; i++) {
		end_open(&all[i], w, 'a', LOOP_IN | LOOP_EDGE);
		poke(&all[i]);
	}
	while (!are_told(all)) {
		w->len = 0;
		run(w, 1);
	}
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(all[i].told, 1);
		end_close(&all[i]);
	}
	mem_free(all);
}

/* --- what libevent keeps --- */

static void poke_other(struct end *e)
{
	poke(e->other);
}

/* Two that keep each other busy. */
static void open_players(struct world *w, struct end *a, struct end *b)
{
	end_open(a, w, 'a', LOOP_IN | LOOP_EDGE);
	end_open(b, w, 'b', LOOP_IN | LOOP_EDGE);
	a->play = b->play = poke_other;
	a->other = b;
	b->other = a;
	poke(a);
}

struct tick {
	struct world *w;
	int left;
};

static void on_tick(void *arg)
{
	struct tick *t = arg;

	if (--t->left == 0)
		loop_stop(t->w->loop);
}

static void on_signal(int signo, void *arg)
{
	assert_int_equal(signo, SIGUSR1);
	on_tick(arg);
}

static void test_ticks_come_while_sockets_are_busy(void **state)
{
	struct world *w = *state;
	struct tick t = { w, 10 };
	struct end a, b;

	open_players(w, &a, &b);
	assert_int_equal(loop_every(w->loop, USEC / 500, on_tick, &t), 0);
	run(w, LOG_MAX + 1);
	assert_int_equal(t.left, 0);
	end_close(&a);
	end_close(&b);
}

static void raise_it(struct end *e)
{
	poke(e->other);
	assert_int_equal(raise(SIGUSR1), 0);
	e->play = poke_other;
}

static void test_signal_comes_while_sockets_are_busy(void **state)
{
	struct world *w = *state;
	struct tick t = { w, 1 };
	struct end a, b;

	open_players(w, &a, &b);
	b.play = raise_it;
	assert_int_equal(loop_on_signal(w->loop, SIGUSR1, on_signal, &t), 0);
	run(w, LOG_MAX + 1);
	assert_int_equal(t.left, 0);
	end_close(&a);
	end_close(&b);
}

static void test_sockets_and_ticks_come_while_a_task_goes_on(void **state)
{
	struct world *w = *state;
	struct player p = player(w, 'p');
	struct tick t = { w, 3 };
	struct end a;

	p.play = again;
	end_open(&a, w, 'a', LOOP_IN | LOOP_EDGE);
	poke(&a);
	loop_again(w->loop, &p.task);
	assert_string_equal(run(w, 7), "ap.p.p.");
	assert_int_equal(loop_every(w->loop, USEC / 500, on_tick, &t), 0);
	run(w, LOG_MAX + 1);
	assert_int_equal(t.left, 0);
	loop_cancel(&p.task);
	end_close(&a);
}

static void test_idle_loop_sleeps_until_the_tick(void **state)
{
	struct world *w = *state;
	struct tick t = { w, 1 };
	struct end a, b;

	open_players(w, &a, &b);
	run(w, LOG_MAX);
	a.play = b.play = NULL;
	w->turns = 0;
	assert_int_equal(loop_every(w->loop, USEC / 20, on_tick, &t), 0);
	run(w, LOG_MAX + 1);
	/* the last byte, and to find that nothing more comes */
	assert_in_range(w->turns, 1, 2);
	/* and what comes while it sleeps is told */
	w->len = 0;
	poke(&a);
	assert_memory_equal(run(w, 2), "a.", 2);
	end_close(&a);
	end_close(&b);
}

static void test_turn_ends_with_what_comes_after_a_silence(void **state)
{
	struct world *w = *state;
	struct end a, b;

	open_players(w, &a, &b);
	run(w, LOG_MAX);
	a.play = b.play = NULL;
	/* one has been poked; nobody looks for a while */
	for (const usec_t end = time_precise() + USEC / 200;
	    time_precise() < end;)
		continue;
	w->len = w->turns = 0;
	run(w, 2);
	assert_int_equal(w->turns, 1);
	end_close(&a);
	end_close(&b);
}

static void note_watch(void *arg)
{
	struct end *e = arg;

	on_event(&e->socket, LOOP_IN);
}

static void test_watch_tells_of_what_is_left_unless_paused(void **state)
{
	struct world *w = *state;
	struct tick t = { w, 2 };
	struct end a;

	end_open(&a, w, 'a', LOOP_IN);
	loop_remove(w->loop, a.fd, &a.socket);
	struct loop_watch *watch = loop_watch(w->loop, a.fd, note_watch, &a);

	assert_non_null(watch);
	poke(&a);
	poke(&a);
	assert_string_equal(run(w, 4), "a.a.");
	loop_watch_pause(watch);
	poke(&a);
	assert_int_equal(loop_every(w->loop, USEC / 500, on_tick, &t), 0);
	assert_string_equal(run(w, 5), "a.a.");
	loop_watch_resume(watch);
	assert_string_equal(run(w, 6), "a.a.a.");
	loop_unwatch(&watch);
	assert_null(watch);
	assert_null(loop_watch(w->loop, -1, note_watch, &a));
	end_close(&a);
}

/* --- toil --- */

/* Who works as long as a turn allows, once, and says so. */
struct worker {
	struct loop_task task;	/* first */
	struct world *w;
	char name;
	bool waited;
	const struct end *caller;	/* poked when it has worked */
};

static void work(struct worker *k)
{
	if (!loop_may_toil(k->w->loop, k->waited)) {
		k->waited = true;
		loop_again(k->w->loop, &k->task);
		return;
	}
	note(k->w, k->name);
	loop_toiled(k->w->loop, LOOP_TOIL);
}

static void run_worker(struct loop_task *t)
{
	struct worker *k = (struct worker *)t;

	work(k);
}

static void test_toil_is_bounded_and_done_in_order(void **state)
{
	struct world *w = *state;
	struct worker k[4];

	for (size_t i = 0; i < 4; i++) {
		k[i] = (struct worker){ .task.run = run_worker, .w = w,
			.name = (char)('a' + i) };
		loop_again(w->loop, &k[i].task);
	}
	assert_string_equal(run(w, 8), "a.b.c.d.");
}

/* The event of a newcomer, whose work it is as well. */
struct arrival {
	struct end end;		/* first */
	struct worker worker;
};

static void arrive(struct end *e)
{
	struct arrival *const a = (struct arrival *)e;

	work(&a->worker);
}

static void work_and_call(struct loop_task *t)
{
	struct worker *const k = (struct worker *)t;

	work(k);
	poke(k->caller);
}

static void test_toil_of_newcomers_stands_behind(void **state)
{
	struct world *w = *state;
	struct arrival new;
	struct worker a = { .task.run = work_and_call, .w = w, .name = 'a',
		.caller = &new.end };
	struct worker b = { .task.run = run_worker, .w = w, .name = 'b' };

	end_open(&new.end, w, '!', LOOP_IN | LOOP_EDGE);
	new.end.play = arrive;
	new.worker = (struct worker){ .task.run = run_worker, .w = w,
		.name = 'n' };
	loop_again(w->loop, &a.task);
	loop_again(w->loop, &b.task);
	assert_string_equal(run(w, 7), "a.!b.n.");
	/* one that comes when nobody waits is served at once */
	w->len = 0;
	new.worker.waited = false;
	poke(&new.end);
	assert_memory_equal(run(w, 3), "!n.", 3);
	end_close(&new.end);
}

static void test_little_toil_is_done_in_one_turn(void **state)
{
	struct world *w = *state;

	assert_true(loop_may_toil(w->loop, false));
	loop_toiled(w->loop, LOOP_TOIL - 1);
	assert_true(loop_may_toil(w->loop, false));
	loop_toiled(w->loop, 1);
	assert_false(loop_may_toil(w->loop, true));
	assert_false(loop_may_toil(w->loop, false));
}

/* --- fast_ticks --- */

static void end_other(struct player *p)
{
	loop_cancel(&p->other->task);
}

static void begin_other(struct player *p)
{
	loop_fast_tick_on(p->w->loop, &p->other->task);
}

static void test_fast_tick_goes_on_until_it_is_ended(void **state)
{
	struct world *w = *state;
	struct player a = player(w, 'a'), b = player(w, 'b');
	const usec_t begin = time_precise();

	loop_fast_tick_on(w->loop, &a.task);
	loop_fast_tick_on(w->loop, &b.task);
	loop_fast_tick_on(w->loop, &a.task);
	assert_string_equal(run(w, 9), "ab.ab.ab.");
	assert_true(time_precise() - begin >= USEC / 500);
	loop_cancel(&a.task);
	loop_cancel(&a.task);
	assert_string_equal(run(w, 11), "ab.ab.ab.b.");
	loop_cancel(&b.task);
}

static void test_fast_ticks_may_end_and_begin_each_other(void **state)
{
	struct world *w = *state;
	struct player a = player(w, 'a'), b = player(w, 'b'),
		c = player(w, 'c');

	a.play = end_other;
	a.other = &b;
	c.play = begin_other;
	c.other = &b;
	loop_fast_tick_on(w->loop, &a.task);
	loop_fast_tick_on(w->loop, &b.task);
	loop_fast_tick_on(w->loop, &c.task);
	/* b begins again behind a and c, and a is before it */
	assert_string_equal(run(w, 6), "ac.ac.");
}

static void end_self(struct player *p)
{
	loop_cancel(&p->task);
}

static void test_last_fast_tick_may_end_itself(void **state)
{
	struct world *w = *state;
	struct player a = player(w, 'a'), b = player(w, 'b');

	a.play = end_self;
	loop_fast_tick_on(w->loop, &a.task);
	assert_string_equal(run(w, 2), "a.");
	loop_fast_tick_on(w->loop, &b.task);
	assert_string_equal(run(w, 4), "a.b.");
	loop_cancel(&b.task);
}

#define TIME (3 * USEC / 1000)

static void use_cpu(struct player *p)
{
	const usec_t until = time_thread() + TIME;

	while (time_thread() < until)
		continue;
	/* as a hold does */
	loop_forward(p->w->loop);
}

/* As a thread that others keep from running. */
static void stand_still(struct player *p)
{
	const usec_t until = time_precise() + 30 * TIME;

	(void)p;
	while (time_precise() < until)
		(void)poll(NULL, 0, 1);
}

static void test_load_is_measured_if_asked_for(void **state)
{
	struct world *w = *state;
	struct player a = player(w, 'a'), b = player(w, 'b');
	struct loop_load load;

	a.play = use_cpu;
	assert_false(loop_take_load(w->loop, &load));
	loop_measure(w->loop);
	loop_again(w->loop, &a.task);
	assert_string_equal(run(w, 2), "a.");
	assert_true(loop_take_load(w->loop, &load));
	assert_true(load.longest >= TIME);
	assert_true(load.busy >= TIME);
	assert_true(loop_take_load(w->loop, &load));
	assert_int_equal(load.longest, 0);
	/* nor is a turn that did nothing, however long it was */
	a.play = stand_still;
	loop_again(w->loop, &a.task);
	assert_string_equal(run(w, 4), "a.a.");
	assert_true(loop_take_load(w->loop, &load));
	assert_true(load.longest >= 30 * TIME);
	assert_true(load.busy < load.longest / 2);
	/* sleep is no load */
	const usec_t begin = time_precise();

	loop_fast_tick_on(w->loop, &b.task);
	assert_string_equal(run(w, 10), "a.a.b.b.b.");
	loop_cancel(&b.task);
	assert_true(loop_take_load(w->loop, &load));
	assert_true(load.busy < time_precise() - begin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(test_tasks_run_once_each_in_order),
		T(test_task_that_asks_again_runs_in_next_turn),
		T(test_deferred_task_runs_at_end_of_turn),
		T(test_sockets_are_told_in_order_of_their_events),
		T(test_closed_socket_is_not_told_what_was_fetched),
		T(test_new_socket_is_not_told_what_its_number_was),
		T(test_object_used_again_is_told_of_its_new_socket_only),
		T(test_room_is_told_while_it_is_asked_for),
		T(test_change_takes_back_what_was_fetched),
		T(test_more_sockets_than_fit_in_a_turn_are_told_once),
		T(test_ticks_come_while_sockets_are_busy),
		T(test_signal_comes_while_sockets_are_busy),
		T(test_sockets_and_ticks_come_while_a_task_goes_on),
		T(test_idle_loop_sleeps_until_the_tick),
		T(test_turn_ends_with_what_comes_after_a_silence),
		T(test_watch_tells_of_what_is_left_unless_paused),
		T(test_toil_is_bounded_and_done_in_order),
		T(test_toil_of_newcomers_stands_behind),
		T(test_little_toil_is_done_in_one_turn),
		T(test_fast_tick_goes_on_until_it_is_ended),
		T(test_fast_ticks_may_end_and_begin_each_other),
		T(test_last_fast_tick_may_end_itself),
		T(test_load_is_measured_if_asked_for),
#undef T
	};

	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
