/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A litmus test of what keeps a stop from unmapping a file that a probe is about to touch: the
 * probe stores `busy` and loads the gate with no fence between them, the stopper closes the gate
 * and loads `busy` in ebt_slots_wait(). Without a barrier on all threads there, both can read the
 * other's old value. It happens within some 20 ns, so the two sides are let go at the same moment,
 * thousands of times; "unmapped" is a flag here. As a busy machine may not let both run at once, a
 * second test sees, by a filter that traps the call, that ebt_stop() asks for the barrier in time.
 */
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/tap.h"
#include "tests/unit/ringdump.h"
#include "tests/unit/seccomp.h"
#include "usdt-probes/recording.h"
#include "usdt-probes/slot.h"
#if defined(__x86_64__)
#include "tests/unit/trap_x86_64.h"
#elif defined(__aarch64__)
#include "tests/unit/trap_aarch64.h"
#endif

#define ROUNDS	 20000
#define CLOSED	 0u
#define OPEN	 EBT_STATE_ON
#define INSIDE	 20000 /* times that a probe looks before it leaves */
#define LIMIT_NS 1500000000u

static atomic_uint go, ready, left;
static atomic_bool unmapped;
static unsigned violations, entered;

static void wait_a_little(uint32_t *seed, unsigned most)
{
	*seed = *seed * 1664525 + 1013904223;
	for (volatile unsigned i = (*seed >> 16) % most; i; i--)
		;
}

/* As ebt_record_ready() and ebt_record_leave(). */
static void probe(struct ebt_slot *s)
{
	__atomic_store_n(&s->busy, 1, __ATOMIC_RELAXED);
	ebt_compiler_barrier();
	if (ebt_state() == OPEN) {
		bool bad = false;
		entered++;
		for (unsigned i = 0; i < INSIDE && !bad; i++)
			bad = atomic_load_explicit(&unmapped, memory_order_relaxed);
		violations += bad;
	}
	__atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE);
}

static void *prober(void *arg)
{
	uint32_t seed = 1;
	for (unsigned round = 1; round <= ROUNDS; round++) {
		unsigned now;
		while ((now = atomic_load_explicit(&go, memory_order_acquire)) < round)
			;
		if (now > ROUNDS)
			break;
		atomic_store(&ready, round);
		wait_a_little(&seed, 300);
		probe(arg);
		atomic_store(&left, round);
	}
	return NULL;
}

static void test_litmus(void)
{
	struct ebt_slot *s = &ebt_slots[0];
	pthread_t thread;
	uint32_t seed = 77;
	unsigned round = 0, waited_in_vain = 0;

	s->owner = 1;
	if (pthread_create(&thread, NULL, prober, s))
		abort();
	uint64_t end = ebt_clock_monotonic() + LIMIT_NS;
	while (round < ROUNDS && ebt_clock_monotonic() < end) {
		ebt_state_set(OPEN);
		atomic_store(&go, ++round);
		while (atomic_load(&ready) != round)
			;
		wait_a_little(&seed, 300);
		ebt_state_set(CLOSED);
		waited_in_vain += !ebt_slots_wait(1000000000);
		atomic_store(&unmapped, true);
		while (atomic_load(&left) != round)
			;
		atomic_store(&unmapped, false);
	}
	atomic_store(&go, ROUNDS + 1);
	pthread_join(thread, NULL);
	s->owner = 0;
	diag("%u rounds, in %u of them the probe found the gate open", round, entered);
	ok(entered > 0, "probes met the gate open");
	is(waited_in_vain, 0, "whoever closes the gate sees all probes end");
	is(violations, 0, "and then no probe is inside that found it open");
}

static unsigned asked, too_early, too_late;

/* The call's arguments, and what the library has done until now. */
static void trapped(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	ucontext_t *uc = context;
	if (info->si_syscall != SYS_membarrier)
		return;
	asked += TRAP_ARGUMENT(uc) == MEMBARRIER_CMD_PRIVATE_EXPEDITED;
	too_early += ebt_state() != CLOSED;
	too_late += !ebt_current_file()->base;
	TRAP_RESULT(uc) = 0;
}

static void test_order(void)
{
	struct sigaction sa = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
	static const int calls[] = {SYS_membarrier, -1};
	sigaction(SIGSYS, &sa, NULL);
	is(ebt_start(), 0, "recording starts");
	ok(seccomp_enter(calls, SECCOMP_RET_TRAP, SECCOMP_RET_ALLOW), "the barrier is trapped");
	ebt_begin(EBT_PHASE_minor);
	is(asked, 0, "a probe needs none");
	is(ebt_stop(), 0, "recording stops");
	is(asked, 1, "it asks for one barrier on all threads");
	is(too_early, 0, "behind the closing of the gate");
	is(too_late, 0, "and before the file is unmapped");
}

int main(int argc, char **argv)
{
	(void)argc;
	dump_rerun(argv, (const char *[]){"EBTRACE_LOG_WSIZE=9", "EBTRACE_MAX_DOMAINS=2", NULL});
	test_litmus();
	test_order();
	dump_clean();
	return tap_done();
}
