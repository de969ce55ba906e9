/* SPDX-License-Identifier: BSD-2-Clause */
#include "control.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "procfs.h"
#include "thread.h"
#include "user_events.h"

#define STOP_WAIT_NS	 1000000000
#define EXIT_WAIT_NS	 100000000
#define REQUEST_RETRY_NS 1000000000

/* In a section with contents: the kernel finds the semaphores by their place in the file. */
__attribute__((section(".probes"), aligned(8), used)) struct ebt_gate ebt_gate = {0};
extern struct ebt_gate ebt_gate_own __attribute__((alias("ebt_gate"), visibility("hidden")));

static const uint32_t no_fork_mark = 1;
const uint32_t *ebt_fork_mark = &no_fork_mark;
/* A page of its own, which goes with the library and need not be unmapped. */
#define PAGE_BYTES 4096
static uint32_t fork_page[PAGE_BYTES / sizeof(uint32_t)] __attribute__((aligned(PAGE_BYTES)));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All below is written under the lock. */
static struct ebt_config config;
static struct ebt_file file;
static uint32_t epoch;
static uint64_t request_after_ns; /* no new try for a ring before this */
static bool exiting;
static bool requested;	      /* it is a tracer that wants the ring, not the program */
static sigset_t holders_mask; /* what its holder had blocked before */

/* But for those that tell of a fault: blocked, they would kill at once, whatever their handler. */
void ebt_signals_block(sigset_t *ret_mask)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	sigset_t all;
	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_BLOCK, &all, ret_mask);
}
void ebt_signals_restore(const sigset_t *mask)
{
	pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static bool inside_probe(void)
{
	return ebt_self.busy || (ebt_self.slot && ebt_self.slot->busy);
}

void ebt_lock(void)
{
	sigset_t mask;
	ebt_signals_block(&mask);
	if (!*ebt_fork_mark)
		ebt_control_forked(inside_probe()); /* or the lock could be another thread's */
	pthread_mutex_lock(&lock);
	holders_mask = mask;
}
static bool trylock(void)
{
	sigset_t mask;
	ebt_signals_block(&mask);
	bool locked = !pthread_mutex_trylock(&lock);
	if (locked)
		holders_mask = mask;
	else
		ebt_signals_restore(&mask);
	return locked;
}
void ebt_unlock(void)
{
	sigset_t mask = holders_mask;
	pthread_mutex_unlock(&lock);
	ebt_signals_restore(&mask);
}
struct ebt_file *ebt_current_file(void)
{
	return &file;
}

static void set_state(uint32_t state)
{
	__atomic_store_n(&ebt_gate_own.ring, state, __ATOMIC_SEQ_CST);
}

EBT_ONE_SITE void marker_ring_start(const char *path, struct ebt_tail tail)
{
	EBT_FIRE("ring_start", EBT_SEMAPHORE_NONE, "8@%%rsi 8@%%r8", 0, path, 0, 0, tail);
}
EBT_ONE_SITE void marker_ring_stop(const char *path, struct ebt_tail tail)
{
	EBT_FIRE("ring_stop", EBT_SEMAPHORE_NONE, "8@%%rsi 8@%%r8", 0, path, 0, 0, tail);
}
EBT_ONE_SITE void marker_ring_request(struct ebt_tail tail)
{
	EBT_FIRE("ring_request", EBT_SEMAPHORE_REQUEST, "", 0, NULL, 0, 0, tail);
}

static struct ebt_tail tail_now(void)
{
	return (struct ebt_tail){EBT_NO_RING, ebt_clock_monotonic(), EBT_NO_POS};
}

static const char *setting(const char *name, const char *synonym)
{
	const char *value = secure_getenv(name);
	if ((!value || !*value) && synonym)
		value = secure_getenv(synonym);
	return value && *value ? value : NULL;
}

static uint32_t number(const char *name, uint32_t preset, uint32_t low, uint32_t high)
{
	const char *value = setting(name, NULL);
	char *end;
	if (!value)
		return preset;
	long n = strtol(value, &end, 10);
	if (end == value || *end)
		return preset;
	return n < (long)low ? low : n > (long)high ? high : (uint32_t)n;
}

static void read_config(void)
{
	config.log_words =
		number("EBTRACE_LOG_WSIZE", 16, EBT_RING_MIN_LOG_WORDS, EBT_RING_MAX_LOG_WORDS);
	config.max_domains = number("EBTRACE_MAX_DOMAINS", 128, 1, EBT_RING_MAX_DOMAINS);
	config.preserve = setting("EBTRACE_PRESERVE", "OCAML_RUNTIME_EVENTS_PRESERVE");
	const char *dir = setting("EBTRACE_DIR", "OCAML_RUNTIME_EVENTS_DIR");
	if (dir)
		strncpy(config.dir, dir, sizeof(config.dir) - 1);
}

/* ring_start is the first event of the file: it is written before the gate opens. */
static int start_locked(void)
{
	bool forked = ebt_state() & EBT_STATE_FORKED;
	if (file.base)
		return 0;
	if (exiting)
		return -EAGAIN;
	if (!config.max_domains)
		read_config(); /* called by a constructor before ours */
	int err = ebt_file_create(&file, &config, ebt_user_events_bytes(), ebt_user_events_copy);
	if (err)
		return err;
	uint32_t state = ++epoch << EBT_STATE_EPOCH_SHIFT | EBT_STATE_ON;
	ebt_thread_bind(&file, state, false);
	ebt_lifecycle_put(EBT_LIFECYCLE_ring_start, getpid(), state);
	if (forked)
		ebt_lifecycle_put(EBT_LIFECYCLE_fork_child, 0, state);
	set_state(state);
	struct ebt_tail tail = tail_now();
	marker_ring_start(file.path, tail);
	return 0;
}

/* A child whose parent recorded, and that has not probed yet. If it cannot, it goes on without. */
static void start_if_forked(void)
{
	if ((ebt_state() & EBT_STATE_FORKED) && start_locked() < 0)
		set_state(0);
}

/*
 * Closes the gate, waits for the probes under way, then writes ring_stop as the last event. A
 * thread that does not come out of its probe keeps its mapping: a leak is better than a crash.
 */
static void stop_locked(uint64_t wait_ns)
{
	if (ebt_state() & EBT_STATE_FORKED)
		set_state(0);
	if (!file.base)
		return;
	uint32_t state = (ebt_state() | EBT_STATE_ON) & ~EBT_STATE_PAUSED;
	ebt_thread_bind(&file, state, true);
	set_state(0);
	bool quiet = ebt_threads_wait(wait_ns);
	ebt_lifecycle_put(EBT_LIFECYCLE_ring_stop, 0, state);
	struct ebt_tail tail = tail_now();
	marker_ring_stop(file.path, tail);
	if (!config.preserve)
		ebt_file_remove(&file);
	if (quiet)
		ebt_file_unmap(&file);
	file.base = NULL;
	__atomic_store_n(&request_after_ns, tail.ts + REQUEST_RETRY_NS, __ATOMIC_RELAXED);
}

static int start(void)
{
	ebt_lock();
	if (!file.base)
		requested = false;
	int err = start_locked();
	ebt_unlock();
	return err;
}

int ebt_start(void)
{
	return start();
}

void ebt_control_child_probes(void)
{
	ebt_lock();
	start_if_forked();
	ebt_unlock();
}

int ebt_stop(void)
{
	ebt_lock();
	stop_locked(STOP_WAIT_NS);
	ebt_unlock();
	return 0;
}

int ebt_pause(void)
{
	ebt_lock();
	start_if_forked();
	uint32_t state = ebt_state();
	int err = file.base ? 0 : -EAGAIN;
	if (!err && !(state & EBT_STATE_PAUSED)) {
		ebt_thread_bind(&file, state, true);
		ebt_lifecycle_put(EBT_LIFECYCLE_ring_pause, 0, state);
		set_state(state | EBT_STATE_PAUSED);
	}
	ebt_unlock();
	return err;
}

int ebt_resume(void)
{
	ebt_lock();
	start_if_forked();
	uint32_t state = ebt_state() & ~EBT_STATE_PAUSED;
	int err = file.base ? 0 : -EAGAIN;
	if (!err && state != ebt_state()) {
		ebt_thread_bind(&file, state, true);
		ebt_lifecycle_put(EBT_LIFECYCLE_ring_resume, 0, state);
		set_state(state);
	}
	ebt_unlock();
	return err;
}

const char *ebt_ring_path(void)
{
	return __atomic_load_n(&file.base, __ATOMIC_ACQUIRE) ? file.path : NULL;
}

void ebt_runtime_name(const char *name)
{
	ebt_lock();
	memset(config.runtime, 0, sizeof(config.runtime));
	strncpy(config.runtime, name ? name : "", sizeof(config.runtime) - 1);
	/* With EBTRACE_START=1 the file is there before the program could say anything. */
	if (file.base)
		memcpy(file.ext->runtime, config.runtime, sizeof(file.ext->runtime));
	ebt_unlock();
}

const char *ebt_probes_version(void)
{
	return EBT_VERSION;
}

/*
 * Who has the lock either starts the ring just now or waits for probes to end: do not wait. While a
 * ring cannot be had, the probes that ask for it in vain make no system call.
 */
void ebt_control_requested(void)
{
	uint64_t now = ebt_clock_monotonic();
	if (__atomic_load_n(&exiting, __ATOMIC_RELAXED) ||
	    now < __atomic_load_n(&request_after_ns, __ATOMIC_RELAXED) || !trylock())
		return;
	if (!file.base && !exiting && now >= request_after_ns) {
		requested = true;
		if (start_locked() < 0)
			__atomic_store_n(&request_after_ns, now + REQUEST_RETRY_NS,
					 __ATOMIC_RELAXED);
		struct ebt_tail tail = tail_now();
		if (file.base)
			marker_ring_request(tail);
	}
	ebt_unlock();
}

/*
 * Fork. The kernel zeroes a page in every child with a memory of its own, so a child is found out
 * even if it was made by _Fork() or a bare system call; the handlers only make it prompt. vfork()
 * shares the memory: its child is still us.
 */
static void make_fork_mark(void)
{
	if (madvise(fork_page, sizeof(fork_page), MADV_WIPEONFORK))
		return;
	*fork_page = 1;
	ebt_fork_mark = fork_page;
}

void ebt_control_forked(bool inside)
{
	pthread_mutex_init(&lock, NULL);
	bool recorded = file.base || (ebt_state() & EBT_STATE_FORKED);
	*fork_page = 1;
	if (inside)
		ebt_file_detach(&file);
	else
		ebt_file_unmap(&file);
	ebt_threads_forget();
	request_after_ns = 0;
	set_state(recorded ? EBT_STATE_FORKED : 0);
}

static void before_fork(void)
{
	ebt_lock();
}

static void after_fork_parent(void)
{
	ebt_unlock();
	uint32_t state = ebt_state();
	/* A child that forks on without a probe of its own needs no file for that either. */
	if ((!state || (state & EBT_STATE_FORKED)) && !ebt_traced())
		return;
	int saved_errno = errno;
	ebt_emit_lifecycle(EBT_LIFECYCLE_fork_parent, ebt_proc_last_child());
	errno = saved_errno;
}

static void after_fork_child(void)
{
	int saved_errno = errno;
	ebt_control_forked(inside_probe());
	ebt_signals_restore(&holders_mask);
	errno = saved_errno;
}

/* First of the constructors and last of the destructors, so that those of the program may probe. */
__attribute__((constructor(101))) static void library_loaded(void)
{
	read_config();
	ebt_clock_choose(setting("EBTRACE_CLOCK", NULL));
	ebt_threads_init();
	make_fork_mark();
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	if (setting("EBTRACE_START", "OCAML_RUNTIME_EVENTS_START"))
		start();
}

/*
 * The end of a program that may sit in a sandbox by now which kills it for any system call but those
 * that it needs itself, and there is no asking without one. So where there is no ring, or where
 * somebody else asked for it and removes it, the end is but stores to memory. The slot keeps the
 * file mapped for ring_stop as for any probe, a visit for the note.
 */
static void end_without_system_calls(uint32_t state)
{
	struct ebt_slot *s = ebt_self.slot;
	struct ebt_tail tail = tail_now();
	if (!(state & EBT_STATE_ON))
		return;
	if (s && s->state == state && !s->busy)
		ebt_emit_lifecycle(EBT_LIFECYCLE_ring_stop, 0);
	uint64_t visit = ebt_visit();
	if (__atomic_load_n(&ebt_gate_own.ring, __ATOMIC_SEQ_CST) == state) {
		set_state(0);
		marker_ring_stop(file.path, tail);
		file.ext->left_over = !config.preserve;
	}
	ebt_leave(visit);
}

static void end_with_removal(void)
{
	/* exit() may come from the handler of a fault of the holder of the lock. */
	struct timespec until;
	sigset_t mask;
	ebt_signals_block(&mask);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	if (!pthread_mutex_timedlock(&lock, &until)) {
		stop_locked(EXIT_WAIT_NS);
		pthread_mutex_unlock(&lock);
	}
	ebt_signals_restore(&mask);
}

__attribute__((destructor(101))) static void library_unloaded(void)
{
	uint32_t state = ebt_state();
	__atomic_store_n(&exiting, true, __ATOMIC_RELAXED);
	/* In a child that has not found out that it is one, the ring is its parent's. */
	if (*ebt_fork_mark && (state & EBT_STATE_ON) && !requested && !config.preserve)
		end_with_removal();
	else if (*ebt_fork_mark)
		end_without_system_calls(state);
	ebt_threads_done();
}
