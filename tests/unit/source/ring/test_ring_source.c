/* SPDX-License-Identifier: BSD-2-Clause */
/* The source of rings, over a live ring and over one whose file is truncated under it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ebtrace/probes.h>

#include "base/clock.h"
#include "base/log.h"
#include "source/ring/ring.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"
#include "tests/unit/ring_forged.h"

struct seen {
	size_t events, damage, lost;
	uint64_t offset, lost_words, history_words;
	int end; /* what the last read of lane 0 gave */
};

static void drain(struct source *s, struct seen *t)
{
	struct ebt_event ev[100];
	source_poll(s);
	for (uint32_t lane = 0; lane < s->lanes; lane++)
		while ((t->end = source_read(s, lane, ev, 100)) > 0)
			for (int i = 0; i < t->end; i++) {
				t->events += ev[i].kind != EBT_DAMAGE && ev[i].kind != EBT_LOST;
				t->damage += ev[i].kind == EBT_DAMAGE;
				t->lost += ev[i].kind == EBT_LOST;
				bool history = ev[i].flags & EBT_F_HISTORY;
				t->lost_words += ev[i].kind == EBT_LOST ? ev[i].arg[1] : 0;
				t->history_words += history ? ev[i].arg[1] : 0;
				if (ev[i].kind == EBT_DAMAGE)
					t->offset = ev[i].arg[0];
			}
}

static void test_live(struct session *session)
{
	struct ring_source *s;
	struct ebt_cursor *c = NULL;
	struct seen t = {0};
	uint32_t we = PROCESS_UNKNOWN;
	ok(!processes_of(&session->processes, (uint32_t)getpid(), &we) &&
		   !ring_source_new(session, 1 << 20, &s) &&
		   !ebt_cursor_open_pid(0, NULL, EBT_RELEASE_AUTO, &c, NULL) &&
		   !ring_source_add(s, c, "test", we, RING_LIVE),
	   "a live ring is added");
	struct ebt_cursor_info info;
	ebt_cursor_info(c, &info);
	ok(info.start_known && info.start_ns && info.start_ns <= now_ns(),
	   "our file records when it was made");
	for (int i = 0; i < 100; i++)
		ebt_begin(EBT_PHASE_minor);
	struct source *base = ring_source_base(s);
	ring_source_finish(s, we);
	drain(base, &t);
	ok(t.events >= 100 && !t.damage && !t.end, "finished, it gives all and ends");
	source_free(base);
}

static pthread_barrier_t looked;
static pid_t second;

/* Emits before a look at its ring, and behind it. */
static void *emit(void *arg)
{
	second = gettid();
	ebt_begin(EBT_PHASE_major);
	pthread_barrier_wait(&looked);
	pthread_barrier_wait(&looked);
	ebt_end(EBT_PHASE_major);
	return arg;
}

/* How many phases have another thread than the one whose ring they are in; all: of how many. */
static int wrong_threads(struct source *base, int *all)
{
	struct ebt_event ev[100];
	int wrong = 0;
	source_poll(base);
	for (uint32_t lane = 1; lane < base->lanes; lane++)
		for (int n; (n = source_read(base, lane, ev, 100)) > 0;)
			for (int i = 0; i < n; i++) {
				pid_t of = ev[i].id == EBT_PHASE_minor ? getpid() : second;
				bool is_phase = ev[i].kind == EBT_BEGIN || ev[i].kind == EBT_END;
				*all += is_phase;
				wrong += is_phase && ev[i].tid != (uint32_t)of;
			}
	return wrong;
}

static void test_threads(struct session *session)
{
	struct ring_source *s;
	struct ebt_cursor *c = NULL;
	uint32_t we = PROCESS_UNKNOWN;
	pthread_t thread[2];
	int all = 0, wrong = 0;
	pthread_barrier_init(&looked, NULL, 2);
	ok(!processes_of(&session->processes, (uint32_t)getpid(), &we) &&
		   !ring_source_new(session, 1 << 20, &s),
	   "a source is made");
	ring_source_know_threads(s);
	ok(!ebt_cursor_open_pid(0, NULL, EBT_RELEASE_AUTO, &c, NULL) &&
		   !ring_source_add(s, c, "test", we, RING_LIVE),
	   "that knows threads");
	struct source *base = ring_source_base(s);
	/* The second one gets the ring of the first. */
	for (int i = 0; i < 2; i++) {
		ebt_begin(EBT_PHASE_minor);
		pthread_create(&thread[i], NULL, emit, NULL);
		pthread_barrier_wait(&looked);
		usleep(2 * RING_SLACK_NS / 1000);
		wrong += wrong_threads(base, &all);
		pthread_barrier_wait(&looked);
		ebt_end(EBT_PHASE_minor);
		pthread_join(thread[i], NULL);
		usleep(2 * RING_SLACK_NS / 1000);
		wrong += wrong_threads(base, &all);
	}
	/* And of a third one that no look has found. */
	pthread_create(&thread[0], NULL, emit, NULL);
	pthread_barrier_wait(&looked);
	pthread_barrier_wait(&looked);
	pthread_join(thread[0], NULL);
	usleep(2 * RING_SLACK_NS / 1000);
	wrong += wrong_threads(base, &all);
	ok(all >= 10 && !wrong, "phases have the thread whose ring they are in (%d of %d not)",
	   wrong, all);
	ring_source_finish(s, we);
	source_free(base);
}

static void test_truncated(struct session *session)
{
	struct ring_source *s;
	struct ebt_cursor *c = NULL;
	struct seen t = {0};
	char path[] = "/tmp/ebtrace-source-XXXXXX", cmd[512];
	int fd = mkstemp(path);
	snprintf(cmd, sizeof(cmd), "cp '%s' '%s'", ebt_ring_path(), path);
	ok(fd >= 0 && !system(cmd) && !ring_source_new(session, 1 << 20, &s) &&
		   !ebt_cursor_open(path, EBT_RELEASE_AUTO, &c, NULL) &&
		   !ring_source_add(s, c, "test", 1, RING_LIVE),
	   "a ring's file is added as live");
	struct source *base = ring_source_base(s);
	source_poll(base);
	ok(!ftruncate(fd, 100), "its file is truncated inside the headers");
	source_poll(base);
	ok(!source_stop(base), "the source stops");
	drain(base, &t);
	ok(t.events >= 100, "what was taken before is delivered");
	ok(t.damage == 1 && t.offset == 100, "the damage is told once, where the file ends");
	is(t.end, 0, "and the lane ends");
	source_free(base);
	close(fd);
	unlink(path);
}

/* Live files of one process, all of which end with it: the budget alone limits them. */
static void test_many(struct session *session, size_t budget, int want_refused)
{
	struct ring_source *s;
	struct seen t = {0};
	int read = 0, refused = 0;
	log_level = LOG_QUIET;
	ring_source_new(session, budget, &s);
	struct source *base = ring_source_base(s);
	for (int i = 0; i < 200; i++) {
		struct ebt_cursor *c;
		if (ebt_cursor_open(ebt_ring_path(), EBT_RELEASE_AUTO, &c, NULL))
			break;
		int err = ring_source_add(s, c, "test", i % 2 ? 7 : 8, RING_LIVE);
		read += !err;
		refused += err == -ENOSPC;
	}
	ok(read + refused == 200 && (want_refused ? refused >= want_refused : !refused),
	   "of 200 live rings of two processes %d are read and %d refused", read, refused);
	ring_source_finish(s, 7);
	source_poll(base);
	ring_source_finish(s, 8);
	source_stop(base);
	drain(base, &t);
	ok(refused ? t.lost >= (unsigned)refused : !t.lost,
	   "each that is refused is a loss in the stream");
	is(t.end, 0, "and every lane ends");
	source_free(base);
}

/* A file of so many rings with an event each; its descriptor. */
static int file_of_rings(char *path, uint32_t rings)
{
	int fd = mkstemp(path);
	struct ebt_ring_file h = forged_layout(rings);
	for (uint32_t d = 0; d < rings; d++)
		forged_ring(fd, &h, d, 1000 + d);
	return fd;
}

/* Two lanes' worth of memory and four rings: what has no lane is lost at the end, and told once. */
static void test_budget(struct session *session)
{
	char path[] = "/tmp/ebtrace-source-XXXXXX";
	int fd = file_of_rings(path, 64);
	struct ring_source *s;
	struct ebt_cursor *c;
	struct seen t = {0};
	ring_source_new(session, 0, &s); /* the least there is */
	struct source *base = ring_source_base(s);
	ok(!ebt_cursor_open(path, EBT_RELEASE_OCAML_5_3, &c, NULL) &&
		   !ring_source_add(s, c, "test", 7, RING_AT_REST),
	   "a file of 64 rings is added where memory is for few");
	drain(base, &t);
	ok(t.events > 4 && t.events < 64, "some of its rings are read");
	is(t.lost, 1, "the others are told as one loss");
	is(t.lost_words, 3 * (64 - t.events), "with the number of their words");
	/* What was taken is given back: another file has as much room. */
	struct seen again = {0};
	ok(!ebt_cursor_open(path, EBT_RELEASE_OCAML_5_3, &c, NULL) &&
		   !ring_source_add(s, c, "test", 8, RING_AT_REST),
	   "a second file is added when the first is done");
	drain(base, &again);
	is(again.events, t.events, "and has as much room as the first had");
	source_free(base);
	close(fd);
	unlink(path);
}

/* True: the file is added. */
static bool add_live(struct ring_source *s, const char *path, uint32_t process)
{
	struct ebt_cursor *c;
	return !ebt_cursor_open(path, EBT_RELEASE_OCAML_5_3, &c, NULL) &&
	       !ring_source_add(s, c, "test", process, RING_LIVE);
}

/* A live file has more rings than there is memory for, until another one ends. */
static void test_live_budget(struct session *session)
{
	char one[] = "/tmp/ebtrace-source-XXXXXX", many[] = "/tmp/ebtrace-source-XXXXXX";
	int one_fd = file_of_rings(one, 1), many_fd = file_of_rings(many, 64);
	struct ring_source *s;
	struct seen all = {0};
	ring_source_new(session, 0, &s); /* the least there is */
	struct source *base = ring_source_base(s);
	bool added = add_live(s, one, 8);
	drain(base, &all);
	added &= add_live(s, many, 7);
	drain(base, &all);
	size_t before = all.events;
	ok(added && before > 1 && before < 65 && !all.lost,
	   "of a live file the rings that there is no memory for are no loss yet");
	ring_source_finish(s, 8);
	for (int i = 0; i < 5000 && all.events == before; i++) {
		drain(base, &all);
		usleep(1000);
	}
	ok(all.events == before + 1 && !all.lost, "they are read when there is, in turn");
	ring_source_finish(s, 7);
	drain(base, &all);
	source_stop(base);
	drain(base, &all);
	ok(all.lost == 1 && all.lost_words == 3 * (65 - all.events),
	   "the others are one loss at its end");
	source_free(base);
	close(one_fd);
	close(many_fd);
	unlink(one);
	unlink(many);
}

#define LARGE_WORDS  (1u << 18)
#define LARGE_EVENTS 80000u

/* A file of one ring that is larger than a step. */
static int large_file(char *path)
{
	int fd = mkstemp(path);
	struct ebt_ring_file h = forged_layout(1);
	const struct ebt_ring_header r = {.tail = 3 * LARGE_EVENTS};
	uint64_t *words = calloc(LARGE_WORDS, sizeof(*words));
	if (fd < 0 || !words)
		abort();
	h.ring_size_elements = LARGE_WORDS;
	h.ring_size_bytes = 8ull * LARGE_WORDS;
	h.custom_events_offset = h.data_offset + h.ring_size_bytes;
	for (uint32_t i = 0; i < LARGE_EVENTS; i++) {
		words[3 * i] = ebt_ring_event_header(3, 0, EBT_RING_COUNTER, 0, 0);
		words[3 * i + 1] = 1000 + i;
	}
	forged_file(fd, &h, false);
	forged_put(fd, words, 8ull * LARGE_WORDS, h.data_offset);
	forged_header(fd, &h, 0, &r);
	free(words);
	return fd;
}

static void test_steps(struct session *session, bool live)
{
	char path[] = "/tmp/ebtrace-source-XXXXXX";
	int fd = large_file(path);
	struct ring_source *s;
	struct ebt_cursor *c;
	struct seen t = {0};
	uint32_t other = PROCESS_UNKNOWN;
	if (ring_source_new(session, 16 << 20, &s) ||
	    processes_of(&session->processes, 4711, &other) ||
	    ebt_cursor_open(path, EBT_RELEASE_OCAML_5_3, &c, NULL) ||
	    ring_source_add(s, c, "test", other, live ? RING_LIVE : RING_AT_REST))
		abort();
	struct source *base = ring_source_base(s);
	drain(base, &t);
	uint64_t horizon = base->ops->horizon(base, 1);
	if (live)
		ok(t.events == LARGE_EVENTS, "a live ring is emptied by one poll");
	else
		ok(t.events && t.events < LARGE_EVENTS / 2 && horizon == 999 + t.events,
		   "a large ring at rest is read in steps, and the horizon waits for the rest");
	ring_source_finish(s, other);
	for (int i = 0; i < 100 && t.events < LARGE_EVENTS; i++)
		drain(base, &t);
	drain(base, &t);
	ok(t.events == LARGE_EVENTS && !t.lost && !t.damage && !t.end, "all of it is read, once");
	source_free(base);
	close(fd);
	unlink(path);
}

/* Headers of rings that are not in use are read rarely; those in use, and the next ones, always. */
static void test_unused(struct session *session)
{
	char path[] = "/tmp/ebtrace-source-XXXXXX";
	struct ebt_ring_file h = forged_layout(128);
	struct ring_source *s;
	struct ebt_cursor *c;
	struct seen t = {0};
	uint32_t other = PROCESS_UNKNOWN;
	int fd = mkstemp(path);
	forged_file(fd, &h, false);
	if (fd < 0 || ebt_cursor_open(path, EBT_RELEASE_OCAML_5_3, &c, NULL))
		abort();
	ok(cursor_update(c, true) == 1 && cursor_used(c) == 0, "of a new file no ring is in use");
	for (uint32_t d = 0; d < 10; d++)
		forged_ring(fd, &h, d, 1000 + d);
	ok(cursor_update(c, false) == 0 && cursor_used(c) == 10,
	   "rings that come into use one after the other are found, however many");
	forged_ring(fd, &h, 100, 2000);
	ok(cursor_update(c, false) == 0 && cursor_used(c) == 10 && cursor_update(c, true) == 1 &&
		   cursor_used(c) == 101 && cursor_ring(c, 100)->tail == 3,
	   "one that is out of turn is found by a look at all");
	if (ring_source_new(session, 16 << 20, &s) ||
	    processes_of(&session->processes, 4712, &other) ||
	    ring_source_add(s, c, "test", other, RING_LIVE))
		abort();
	struct source *base = ring_source_base(s);
	drain(base, &t);
	forged_ring(fd, &h, 120, 3000);
	usleep(50000);
	drain(base, &t);
	is(t.events, 12, "the source looks at all rings now and then");
	forged_ring(fd, &h, 127, 4000);
	ring_source_finish(s, other);
	drain(base, &t);
	drain(base, &t);
	ok(t.events == 13 && !t.end && !t.lost, "and when the process has ended");
	source_free(base);
	close(fd);
	unlink(path);
}

/* Times of two events and of the hole before the second one, of a process whose clock is ahead. */
static void check_clock(struct session *session, int64_t ahead_ns, const uint64_t want[4])
{
	char path[] = "/tmp/ebtrace-source-XXXXXX";
	struct ebt_ring_file h = forged_layout(1);
	const struct ebt_ring_header r = {.tail = 6};
	struct ring_source *s;
	struct ebt_cursor *c;
	struct ebt_event ev[8];
	uint32_t other = PROCESS_UNKNOWN;
	int fd = mkstemp(path), n = 0;
	forged_file(fd, &h, true);
	forged_counter(fd, &h, 0, 0, 5000, 0);
	forged_counter(fd, &h, 0, 3, 6000, 9);
	forged_header(fd, &h, 0, &r);
	if (ring_source_new(session, 16 << 20, &s) ||
	    processes_of(&session->processes, 4713, &other) ||
	    ebt_cursor_open(path, EBT_RELEASE_AUTO, &c, NULL))
		abort();
	process_set_clock(processes_at(&session->processes, other), ahead_ns);
	ok(!ring_source_add(s, c, "test", other, RING_AT_REST),
	   "a ring of a clock that is %lld ns ahead", (long long)ahead_ns);
	struct source *base = ring_source_base(s);
	source_poll(base);
	for (int got; n < 4 && base->lanes > 1 && (got = source_read(base, 1, ev + n, 4)) > 0;)
		n += got;
	ok(n == 3 && ev[0].ts == want[0] && ev[1].kind == EBT_LOST && ev[1].ts == want[2] &&
		   EBT_LOST_SINCE(&ev[1]) == want[1] && ev[2].ts == want[3],
	   "its events and losses are by the tracer's clock");
	process_set_clock(processes_at(&session->processes, other), 0);
	source_free(base);
	close(fd);
	unlink(path);
}

static void test_clocks(struct session *session)
{
	check_clock(session, 0, (const uint64_t[]){5000, 5000, 6000, 6000});
	check_clock(session, 4000, (const uint64_t[]){1000, 1000, 2000, 2000});
	check_clock(session, -4000, (const uint64_t[]){9000, 9000, 10000, 10000});
	/* What no sound program writes: before the clock began, and behind its end. */
	check_clock(session, 5500, (const uint64_t[]){1, 1, 500, 500});
	check_clock(session, -(int64_t)(UINT64_MAX / 2),
		    (const uint64_t[]){UINT64_MAX / 2 + 5000, UINT64_MAX / 2 + 5000,
				       UINT64_MAX / 2 + 6000, UINT64_MAX / 2 + 6000});
}

/* A file whose ring was overwritten up to a position; 100 records are left. */
static int wrapped_file(char *path, const struct ebt_ring_file *h, uint64_t head)
{
	const struct ebt_ring_header r = {.head = head, .tail = head + 300};
	int fd = mkstemp(path);
	if (fd < 0)
		abort();
	forged_file(fd, h, false);
	for (uint32_t i = 0; i < 100; i++)
		forged_counter(fd, h, 0, head + 3 * i, 1000 + i, 0);
	forged_header(fd, h, 0, &r);
	return fd;
}

static void test_history(struct session *session, enum ring_use use, const char *name)
{
	char path[] = "/tmp/ebtrace-source-XXXXXX";
	struct ebt_ring_file h = forged_layout(1);
	int fd = wrapped_file(path, &h, 600);
	struct ring_source *s;
	struct ebt_cursor *c;
	struct seen t = {0};
	uint32_t other = PROCESS_UNKNOWN;
	if (ring_source_new(session, 16 << 20, &s) ||
	    processes_of(&session->processes, 4713, &other) ||
	    ebt_cursor_open(path, EBT_RELEASE_OCAML_5_3, &c, NULL) ||
	    ring_source_add(s, c, "test", other, use))
		abort();
	struct source *base = ring_source_base(s);
	ring_source_finish(s, other);
	drain(base, &t);
	drain(base, &t);
	ok(t.events == 100 && t.lost_words == 600, "%s: what was overwritten is reported", name);
	ok(t.history_words == (use & RING_IN_RUN ? 0 : 600), "%s: whether it is of before", name);
	source_free(base);
	close(fd);
	unlink(path);
}

/* What is overwritten between the first look and the first copy is one hole with what was
 * before. */
static void test_first_copy(void)
{
	char path[] = "/tmp/ebtrace-source-XXXXXX";
	struct ebt_ring_file h = forged_layout(1);
	int fd = wrapped_file(path, &h, 600);
	struct ebt_cursor *c;
	struct cursor_fetch f;
	uint64_t words[FORGED_WORDS];
	struct ebt_ring_header r = {.head = 660, .tail = 960};
	if (ebt_cursor_open(path, EBT_RELEASE_OCAML_5_3, &c, NULL) || cursor_update(c, true) != 1)
		abort();
	forged_header(fd, &h, 0, &r);
	ok(cursor_fetch(c, 0, words, 12, &f) == 1 && f.lost == 600 && f.history,
	   "what was overwritten before the first look is history");
	ok(cursor_fetch(c, 0, words, FORGED_WORDS, &f) == 1 && f.lost == 60 && f.words == 240 &&
		   f.history,
	   "and so is what was overwritten during the first copy");
	r = (struct ebt_ring_header){.head = 990, .tail = 1290};
	forged_header(fd, &h, 0, &r);
	ok(cursor_update(c, true) == 1 && cursor_fetch(c, 0, words, FORGED_WORDS, &f) == 1 &&
		   f.lost == 90 && !f.history,
	   "what is overwritten later is lost");
	ebt_cursor_close(c);
	r = (struct ebt_ring_header){.head = 600, .tail = 900};
	forged_header(fd, &h, 0, &r);
	if (ebt_cursor_open(path, EBT_RELEASE_OCAML_5_3, &c, NULL) || cursor_update(c, true) != 1)
		abort();
	bool first = cursor_fetch(c, 0, words, 12, &f) == 1 && f.history &&
		     cursor_fetch(c, 0, words, 12, &f) == 1 && f.words == 12;
	r.tail = 1000;
	forged_header(fd, &h, 0, &r);
	bool same_head = cursor_update(c, true) == 1;
	r = (struct ebt_ring_header){.head = 700, .tail = 1100};
	forged_header(fd, &h, 0, &r);
	ok(first && same_head && cursor_fetch(c, 0, words, FORGED_WORDS, &f) == 1 && f.lost == 88 &&
		   !f.history,
	   "what is overwritten during a later copy is lost, too");
	ebt_cursor_close(c);
	close(fd);
	unlink(path);
}

/* A file whose domains have numbers behind those of another one. */
static void test_numbers(struct session *session)
{
	char path[] = "/tmp/ebtrace-source-XXXXXX";
	const struct ebt_ring_file h = forged_layout(2);
	const struct ebt_ring_header r = {.tail = 3};
	struct ring_source *s;
	struct ebt_cursor *c;
	struct ebt_cursor_info info;
	struct ebt_event ev[2];
	uint32_t other = PROCESS_UNKNOWN, got = 0;
	int fd = mkstemp(path);
	forged_file(fd, &h, true);
	forged_first_domain(fd, &h, 128);
	forged_counter(fd, &h, 1, 0, 5000, 0);
	forged_header(fd, &h, 1, &r);
	if (ring_source_new(session, 16 << 20, &s) ||
	    processes_of(&session->processes, 4716, &other) ||
	    ebt_cursor_open(path, EBT_RELEASE_AUTO, &c, NULL))
		abort();
	ebt_cursor_info(c, &info);
	is(info.first_domain, 128, "a file has the number of its first domain");
	if (ring_source_add(s, c, "test", other, RING_AT_REST))
		abort();
	struct source *base = ring_source_base(s);
	source_poll(base);
	for (uint32_t l = 1; l < base->lanes; l++)
		got += (uint32_t)source_read(base, l, ev + got, 2 - got);
	ok(got == 1 && ev[0].domain == 129, "from which its rings' events are numbered");
	source_free(base);
	close(fd);
	unlink(path);
}

/* Sets how many events found no ring, and reads the loss of those that are new. */
static struct ebt_event ringless_loss(struct source *base, int fd, const struct ebt_ring_file *h,
				      uint64_t events)
{
	struct ebt_event ev = {0};
	uint64_t end = h->custom_events_offset + EBT_RING_NAMES_BYTES;
	forged_put(fd, &events, 8, end + offsetof(struct ebt_ring_ext, no_ring_events));
	for (int i = 0; i < 100 && source_read(base, 0, &ev, 1) != 1; i++) {
		usleep(5000);
		source_poll(base);
	}
	return ev;
}

/* Losses of threads without a ring, one after the other. */
static void test_ringless(struct session *session)
{
	char path[] = "/tmp/ebtrace-source-XXXXXX";
	struct ebt_ring_file h = forged_layout(1);
	struct ring_source *s;
	struct ebt_cursor *c;
	uint32_t other = PROCESS_UNKNOWN;
	int fd = mkstemp(path);
	forged_file(fd, &h, true);
	if (ring_source_new(session, 16 << 20, &s) ||
	    processes_of(&session->processes, 4714, &other) ||
	    ebt_cursor_open(path, EBT_RELEASE_AUTO, &c, NULL))
		abort();
	const struct process *p = processes_at(&session->processes, other);
	uint32_t refs = p->refs;
	uint64_t begin = now_ns();
	if (ring_source_add(s, c, "test", other, RING_LIVE))
		abort();
	struct source *base = ring_source_base(s);
	struct ebt_event one = ringless_loss(base, fd, &h, 5),
			 two = ringless_loss(base, fd, &h, 12);
	ok(one.kind == EBT_LOST && one.arg[0] == 5 && one.process == other && one.ts > begin &&
		   !EBT_LOST_SINCE(&one),
	   "events of threads without a ring are lost, it is not known since when");
	ok(two.kind == EBT_LOST && two.arg[0] == 7, "later ones are counted once");
	is(EBT_LOST_SINCE(&two), one.ts, "and are lost since the loss before");
	ring_source_ringless_seen(s);
	struct ebt_event three = ringless_loss(base, fd, &h, 20);
	ok(!three.ts, "where probes see them they are not lost");
	ring_source_finish(s, other);
	source_poll(base);
	is(p->refs, refs, "a process is not referred to for losses that were delivered");
	source_free(base);
	close(fd);
	unlink(path);
}

/* A lane that was large once is small again, and its memory is that of others, any number of
 * times. */
static void test_shrinking(struct session *session)
{
	char path[] = "/tmp/ebtrace-source-XXXXXX";
	int fd = large_file(path);
	struct ebt_ring_file h = forged_layout(1);
	struct ring_source *s;
	struct ebt_cursor *c;
	unsigned wrong = 0;
	uint32_t other = PROCESS_UNKNOWN;
	if (ring_source_new(session, 16 << 20, &s) ||
	    processes_of(&session->processes, 4715, &other) ||
	    ebt_cursor_open(path, EBT_RELEASE_OCAML_5_3, &c, NULL) ||
	    ring_source_add(s, c, "test", other, RING_LIVE))
		abort();
	struct source *base = ring_source_base(s);
	for (int i = 0; i < 40; i++) {
		/* The second of two begins anew, with one event. */
		const struct ebt_ring_header r = {.tail = i % 2 ? 3 : 3 * LARGE_EVENTS};
		struct seen t = {0};
		forged_header(fd, &h, 0, &r);
		usleep(RING_SLACK_NS / 1000);
		drain(base, &t);
		wrong += i % 2 ? t.events != 1 : t.events < LARGE_EVENTS - 1;
	}
	is(wrong, 0, "a live ring is emptied by one poll however often it has filled before");
	ring_source_finish(s, other);
	source_free(base);
	close(fd);
	unlink(path);
}

/* How fast the fastest ring fills, by which the tracer chooses when it looks. */
static void test_pace(struct session *session)
{
	char path[] = "/tmp/ebtrace-source-XXXXXX";
	int fd = large_file(path);
	struct ebt_ring_file h = forged_layout(1);
	struct ebt_ring_header r = {0};
	struct ring_source *s;
	struct ring_pace pace;
	struct seen t = {0};
	struct ebt_cursor *c;
	uint32_t other = PROCESS_UNKNOWN;
	forged_header(fd, &h, 0, &r);
	if (ring_source_new(session, 16 << 20, &s) ||
	    processes_of(&session->processes, 4716, &other) ||
	    ebt_cursor_open(path, EBT_RELEASE_OCAML_5_3, &c, NULL) ||
	    ring_source_add(s, c, "test", other, RING_LIVE))
		abort();
	struct source *base = ring_source_base(s);
	uint64_t before_ns = now_ns();
	drain(base, &t);
	ring_source_pace(s, &pace);
	ok(pace.lap_ns == UINT64_MAX && !pace.fill && !pace.rest_ns, "an empty ring has no pace");
	r.tail = LARGE_WORDS / 2;
	usleep(RING_SLACK_NS / 1000);
	forged_header(fd, &h, 0, &r);
	usleep(RING_SLACK_NS / 1000);
	drain(base, &t);
	uint64_t took_ns = now_ns() - before_ns;
	ring_source_pace(s, &pace);
	ok(pace.fill == 0.5 && ring_source_written(s) == LARGE_WORDS / 2,
	   "half of it was written from one look to the next");
	ok(pace.lap_ns >= 2 * RING_SLACK_NS && pace.lap_ns <= 4 * took_ns,
	   "all of it is in twice the time (%llu ns)", (unsigned long long)pace.lap_ns);
	ring_source_pace(s, &pace);
	ok(!pace.fill && pace.lap_ns == UINT64_MAX, "it is reported once");
	drain(base, &t);
	ring_source_pace(s, &pace);
	ok(!pace.fill && pace.lap_ns != UINT64_MAX, "a ring that was fast is looked at soon");
	ring_source_be_frugal(s);
	ring_source_pace(s, &pace);
	ok(pace.rest_ns > 0, "frugal, no ring is due for some time");
	ring_source_finish(s, other);
	source_free(base);
	close(fd);
	unlink(path);
}

int main(void)
{
	struct session *session;
	setenv("EBTRACE_DIR", "/dev/shm", 1);
	bool made = !session_new(&session) && !enter_processes(session, 8);
	if (!ok(made && !ebt_start(), "a ring is recorded"))
		return tap_done();
	test_threads(session);
	test_live(session);
	test_truncated(session);
	test_many(session, 1 << 26, 0);
	test_many(session, 0, 100);
	test_budget(session);
	test_live_budget(session);
	test_steps(session, false);
	test_steps(session, true);
	test_unused(session);
	test_clocks(session);
	test_history(session, RING_AT_REST, "a ring at rest");
	test_history(session, RING_LIVE, "a live ring that was there");
	test_history(session, RING_LIVE | RING_IN_RUN, "a ring made in the run");
	test_first_copy();
	test_numbers(session);
	test_ringless(session);
	test_shrinking(session);
	test_pace(session);
	ebt_stop();
	session_free(session);
	return tap_done();
}
