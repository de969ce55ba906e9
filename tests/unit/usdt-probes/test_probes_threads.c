/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#include <ebtrace/probes.h>

#include "tests/tap.h"
#include "tests/unit/interrupts.h"
#include "tests/unit/ringdump.h"
#include "usdt-probes/slot.h"

#define ELEMENTS (1 << 20) /* EBTRACE_LOG_WSIZE=20 */
static struct dump_event ev[ELEMENTS / 2];
static struct dump d;

static void *one_phase(void *tid)
{
	*(long *)tid = syscall(SYS_gettid);
	ebt_begin(EBT_PHASE_minor);
	ebt_end(EBT_PHASE_minor);
	return NULL;
}

static long run_thread(void)
{
	pthread_t thread;
	long tid = 0;
	if (pthread_create(&thread, NULL, one_phase, &tid) || pthread_join(thread, NULL))
		abort();
	return tid;
}

static void test_reuse(void)
{
	run_thread();
	is(dump_field(&d, 1, 2), 4, "a thread has a ring of its own");
	is(dump_field(&d, 1, 4), 0, "which has no owner when it has ended");
	run_thread();
	int n = dump_ring(&d, 1, ev, 100);
	is(n, 8, "the next thread goes on in the same ring");
	is(dump_field(&d, 1, 5), 2, "its generation counts the threads");
	is(dump_field(&d, 2, 1), 0, "and no other ring was taken");
	static const unsigned int want[8][2] = {{1, 6}, {2, 11}, {3, 11}, {1, 7},
						{1, 6}, {2, 11}, {3, 11}, {1, 7}};
	int bad = 0;
	for (int i = 0; i < n && i < 8; i++)
		bad += ev[i].type != want[i][0] || ev[i].id != want[i][1] ||
		       ev[i].seq != (unsigned int)i ||
		       (ev[i].type == 1 && ev[i].payload[0] != (uint64_t)getpid());
	is(bad, 0, "each writes domain_spawn, its events, domain_terminate; ordinals go on");
}

static pthread_barrier_t all_in, all_out;
static void *hold_ring(void *unused)
{
	(void)unused;
	ebt_begin(EBT_PHASE_major);
	pthread_barrier_wait(&all_in);
	pthread_barrier_wait(&all_out);
	ebt_end(EBT_PHASE_major);
	return NULL;
}

static void test_too_many(void)
{
	pthread_t threads[6];
	pthread_barrier_init(&all_in, NULL, 7);
	pthread_barrier_init(&all_out, NULL, 7);
	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, hold_ring, NULL);
	pthread_barrier_wait(&all_in);
	const uint64_t *no_ring =
		(const uint64_t *)(const void *)(dump_ext(&d) + 56 + 40 + 128 + 16);
	is(*no_ring, 3, "with 7 threads and 4 rings, 3 events are counted as without a ring");
	int owned = 0;
	for (unsigned int r = 0; r < 4; r++)
		owned += dump_field(&d, r, 4) != 0;
	is(owned, 4, "every ring has an owner");
	pthread_barrier_wait(&all_out);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	uint64_t total = 0;
	for (unsigned int r = 1; r < 4; r++)
		total += dump_field(&d, r, 2);
	/* 8 from before; a thread that came without a ring may get one that has been freed */
	ok(total + *no_ring >= 8 + 12 + 6 && total + *no_ring <= 8 + 12 + 12,
	   "no event is missing from the rings and the count together");
	run_thread();
	is(dump_field(&d, 1, 4), 0, "threads that come later find a ring again");
}

/* How a thread ends: as usual, or by a system call, perhaps in the middle of a probe. */
enum ending { USUAL, RAW, INSIDE };

__attribute__((unused)) static void *end_thread(void *how)
{
	ebt_begin(EBT_PHASE_minor);
	pthread_barrier_wait(&all_in);
	if ((enum ending)(intptr_t)how == USUAL)
		return NULL;
	ebt_self.slot->busy = (enum ending)(intptr_t)how == INSIDE;
	syscall(SYS_exit, 0); /* the thread library does not learn of it */
	return NULL;
}

__attribute__((unused)) static uint64_t sum_fields(unsigned int field)
{
	return dump_field(&d, 1, field) + dump_field(&d, 2, field) + dump_field(&d, 3, field);
}

/* Three threads, which have all rings but the first. */
__attribute__((unused)) static void end_three(enum ending how)
{
	pthread_t threads[3];
	pthread_barrier_init(&all_in, NULL, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, end_thread, (void *)(intptr_t)how);
	pthread_barrier_wait(&all_in);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

__attribute__((unused)) static void test_raw_exit(enum ending how)
{
	end_three(how);
	uint64_t before = sum_fields(5), events = sum_fields(2), dropped = sum_fields(3);
	run_thread();
	is(sum_fields(5), before + 1, "the ring of a thread that vanished is given out again");
	ok(sum_fields(2) == events + 4 && sum_fields(3) == dropped,
	   "%s: the next one has its begin, its phase and its end there",
	   how == INSIDE ? "inside of a probe" : "outside");
	end_three(USUAL); /* no ring stays that of a thread that has vanished */
}

static volatile unsigned int handled;
static void handler(int sig)
{
	(void)sig;
	ebt_counter(EBT_COUNTER_minor_allocated, handled);
	handled = handled + 1;
}

/* Interrupts probes until some were hit inside; the ordinals must tell exactly how many. */
static void test_signals(void)
{
	is(ebt_stop(), 0, "stop");
	is(ebt_start(), 0, "start anew for the signals");
	dump_close(&d);
	if (!ok(dump_open(&d, ebt_ring_path()), "the new file can be read"))
		return;
	struct interrupts in;
	interrupts_begin(&in, handler, 20);
	unsigned int own = 0;
	errno = 77;
	while (dump_field(&d, 0, 3) < 20 && own < 100000000) {
		interrupt_again(&in, handled);
		ebt_counter(EBT_COUNTER_minor_promoted, own++);
	}
	int after = errno;
	interrupts_end();
	uint64_t events = dump_field(&d, 0, 2), dropped = dump_field(&d, 0, 3);
	diag("%u probes, %u signals, %llu dropped", own, handled, (unsigned long long)dropped);
	ok(dropped >= 20, "signals arrived inside probes");
	is(after, 77, "errno is left alone");
	is(events + dropped, 1 + own + handled, "every probe is either written or counted");
	int n = dump_ring(&d, 0, ev, ELEMENTS / 2);
	ok(n > 0, "the ring is well formed");
	uint64_t holes = 0, back = 0;
	for (int i = 1; i < n; i++) {
		holes += ev[i].seq - ev[i - 1].seq - 1;
		back += ev[i].ts < ev[i - 1].ts;
	}
	is(back, 0, "time stamps do not go back");
	if (n > 0 && ev[0].seq == 0 && ev[n - 1].seq + 1 == events + dropped)
		is(holes, dropped, "the holes in the ordinals are the dropped events");
	else
		ok(holes <= dropped && (unsigned int)(events + dropped - ev[n - 1].seq) <= 21,
		   "the holes in the ordinals are dropped events");
	is(dump_field(&d, 0, 6), 0, "no writing is under way");
}

static atomic_int quit;
static void *hammer(void *unused)
{
	(void)unused;
	while (!quit) {
		ebt_begin(EBT_PHASE_minor);
		ebt_end(EBT_PHASE_minor);
	}
	return NULL;
}

static void test_restarts(void)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, hammer, NULL);
	int bad = 0;
	for (int i = 0; i < 50; i++) {
		bad += ebt_stop() != 0 || ebt_start() != 0;
		bad += ebt_pause() != 0 || ebt_resume() != 0;
	}
	quit = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	is(bad, 0, "stop, start, pause and resume 50 times under three busy threads");
	struct dump last;
	int torn = !dump_open(&last, ebt_ring_path());
	for (unsigned int r = 0; r < 4 && !torn; r++)
		torn += dump_ring(&last, r, ev, ELEMENTS / 2) < 0;
	is(torn, 0, "and the rings are well formed");
}

int main(int argc, char **argv)
{
	(void)argc;
	dump_rerun(argv, (const char *[]){"EBTRACE_LOG_WSIZE=20", "EBTRACE_MAX_DOMAINS=4", NULL});
	is(ebt_start(), 0, "recording starts");
	if (!ok(dump_open(&d, ebt_ring_path()), "the file can be read"))
		return tap_done();
	test_reuse();
	test_too_many();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	/* The sanitizers do not survive a thread that leaves like this. */
	test_raw_exit(RAW);
	test_raw_exit(INSIDE);
#endif
	test_signals();
	test_restarts();
	ebt_stop();
	is(rmdir(getenv("EBTRACE_DIR")), 0, "no file is left in the directory");
	return tap_done();
}
