/* SPDX-License-Identifier: BSD-2-Clause */
/* The allocation trace that a process writes, read by our reader. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ebtrace/probes.h>

#include "tests/tap.h"
#include "tests/unit/interrupts.h"
#include "tests/unit/trace_file.h"
#include "usdt-probes/alloc_trace.h"

static char dir[] = "/tmp/ebtrace-alloc-XXXXXX";
static char path[64], other[64];
static struct trace_file t;

static int start(const char *to)
{
	return ebt_alloc_trace_start(
		&(struct ebt_alloc_config){.path = to, .rate = 0.5, .context = "a test"});
}

/* Object of an alloc with a backtrace of three frames; 0: there was no event. */
static uint64_t alloc_event(uint64_t words, int64_t inner)
{
	struct ebt_alloc_writer *w = ebt_alloc_enter();
	if (!w)
		return 0;
	memcpy(ebt_alloc_frames(w), (int64_t[]){11, 22, inner}, 3 * sizeof(int64_t));
	uint64_t obj = ebt_alloc_write(w, words, 2, EBT_ALLOC_MAJOR, 3);
	ebt_alloc_leave(w);
	return obj;
}

static void change_event(enum ebt_memtrace_what what, uint64_t obj)
{
	struct ebt_alloc_writer *w = ebt_alloc_enter();
	if (!w)
		return;
	ebt_alloc_write_change(w, what, obj);
	ebt_alloc_leave(w);
}

static void test_events(void)
{
	struct stat st;
	is(alloc_event(1, 1), 0, "there is no event without a trace");
	uint64_t old = ebt_alloc_number();
	ok(old > 0, "an object has a number above 0 without a trace");
	umask(0);
	is(start(path), 0, "a trace starts");
	is(start(other), -EALREADY, "and not twice");
	uint64_t a = alloc_event(100, 33), b = alloc_event(1, 44);
	ok(a > old && b == a + 1, "objects are numbered");
	change_event(EBT_MEMTRACE_COLLECT, old);
	change_event(EBT_MEMTRACE_PROMOTE, b);
	change_event(EBT_MEMTRACE_COLLECT, a);
	is(ebt_alloc_trace_stop(), 0, "it stops");
	is(ebt_alloc_trace_stop(), -EINVAL, "and not twice");
	is(stat(path, &st) ? 0 : st.st_mode & 0777, 0600, "the file is the user's alone");

	is(trace_read(&t, path), 0, "the reader reads it");
	is(t.counts.damaged, 0, "without damage");
	ok(t.rate == 0.5 && t.pid == (uint64_t)getpid() && !strcmp(t.context, "a test"),
	   "the rate, the process and the context are recorded");
	is(t.events, 4, "every event is there; the end of an object of before the trace is not");
	const struct trace_event *e = t.event;
	ok(t.events == 4 && e[0].e.what == EBT_MEMTRACE_ALLOC && e[0].e.obj == a &&
		   e[0].e.words == 100 && e[0].e.samples == 2 && e[0].e.source == EBT_ALLOC_MAJOR &&
		   e[0].frames == 3 && e[0].frame[0] == 11 && e[0].frame[2] == 33,
	   "an alloc has its size, samples, source and backtrace");
	ok(t.events == 4 && e[1].e.common == 2 && e[1].frame[1] == 22 && e[1].frame[2] == 44,
	   "backtraces share their common frames");
	ok(t.events == 4 && e[2].e.what == EBT_MEMTRACE_PROMOTE && e[2].e.obj == b &&
		   e[3].e.what == EBT_MEMTRACE_COLLECT && e[3].e.obj == a,
	   "promote and collect name their objects");
	trace_done(&t);
}

enum { THREADS = 150, EVENTS = 300 };
static pthread_barrier_t barrier;

static void *write_events(void *number)
{
	int64_t self = (int64_t)(intptr_t)number;
	pthread_barrier_wait(&barrier);
	for (uint64_t i = 0; i < EVENTS; i++)
		alloc_event(i + 1, 1000 + self);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void run_threads(int threads)
{
	pthread_t thread[THREADS];
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, write_events, (void *)(intptr_t)i))
			abort();
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

/* Events out of the order of their thread; the threads are told apart by their backtraces. */
static int read_threads(int *ret_domains)
{
	static uint64_t next[THREADS];
	static bool seen[65536];
	int wrong = trace_read(&t, path) != 0 || t.counts.damaged;
	memset(next, 0, sizeof(next));
	memset(seen, 0, sizeof(seen));
	*ret_domains = 0;
	for (size_t i = 0; i < t.events; i++) {
		const struct trace_event *e = &t.event[i];
		*ret_domains += !seen[e->e.domain];
		seen[e->e.domain] = true;
		int64_t thread = e->frame[2] - 1000;
		if (thread < 0 || thread >= THREADS)
			return -1;
		wrong += (uint64_t)e->e.words != next[thread]++ % EVENTS + 1;
	}
	return wrong;
}

static void test_threads(void)
{
	int domains;
	start(path);
	run_threads(8);
	run_threads(8);
	is(ebt_alloc_trace_stop(), 0, "8 threads write a trace, and 8 when these have ended");
	is(read_threads(&domains), 0, "each thread's events are in their order");
	is(t.events, 16 * EVENTS, "and all are there");
	ok(domains >= 8 && domains <= 9, "the second 8 use the domains of the first");
	trace_done(&t);

	start(path);
	run_threads(THREADS);
	is(ebt_alloc_trace_stop(), 0, "150 threads write a trace");
	is(read_threads(&domains), 0, "their events are in order");
	is(t.events, THREADS * EVENTS, "and all are there");
	/* Ours too, if another thread happens to share it. */
	ok(domains == EBT_ALLOC_DOMAINS || domains == EBT_ALLOC_DOMAINS - 1,
	   "threads beyond the domains share some: %d", domains);
	is(ebt_alloc_trace_lost(), 0, "no event was lost");
	trace_done(&t);
}

static void *write_once(void *unused)
{
	(void)unused;
	alloc_event(5, 555);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* About once a second, by whichever thread has events; a minute is enough for any machine. */
static void test_idle_thread(void)
{
	pthread_t thread;
	bool seen = false;
	pthread_barrier_init(&barrier, NULL, 2);
	start(path);
	if (pthread_create(&thread, NULL, write_once, NULL))
		abort();
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 6000 && !seen; i++) {
		alloc_event(1, 1);
		usleep(10000);
		trace_read(&t, path);
		for (size_t k = 0; k < t.events; k++)
			seen |= t.event[k].e.words == 5;
		trace_done(&t);
	}
	ok(seen, "what a thread wrote before it fell idle is flushed while others write");
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	ebt_alloc_trace_stop();
}

/* All that a thread writes after a flush is the end of an object. */
static void test_change_alone(void)
{
	start(path);
	uint64_t obj = alloc_event(1, 1);
	ebt_alloc_trace_flush();
	change_event(EBT_MEMTRACE_PROMOTE, obj);
	ebt_alloc_trace_flush();
	is(trace_read(&t, path), 0, "a trace that goes on can be read");
	ok(t.events == 2 && t.event[1].e.what == EBT_MEMTRACE_PROMOTE && t.event[1].e.obj == obj,
	   "what became of an object is flushed without a new one");
	trace_done(&t);
	change_event(EBT_MEMTRACE_COLLECT, obj);
	is(ebt_alloc_trace_stop(), 0, "the trace stops");
	is(trace_read(&t, path), 0, "and can be read");
	ok(t.events == 3 && t.event[2].e.what == EBT_MEMTRACE_COLLECT && t.event[2].e.obj == obj,
	   "with the end of the object");
	trace_done(&t);
}

static int run_child(void (*fn)(void))
{
	int status;
	pid_t pid = fork();
	if (!pid) {
		fn();
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void child_writes(void)
{
	bool quiet = !alloc_event(7, 7);
	bool own = !start(other) && alloc_event(8, 8) && !ebt_alloc_trace_stop();
	if (!quiet || !own)
		_exit(1);
}

static void test_fork(void)
{
	start(path);
	alloc_event(1, 1);
	is(run_child(child_writes), 0, "a child has no trace, and may start one of its own");
	alloc_event(2, 2);
	is(ebt_alloc_trace_stop(), 0, "the parent's trace goes on");
	is(trace_read(&t, path), 0, "and can be read");
	ok(t.events == 2 && t.event[1].e.words == 2 && !t.counts.other_pid && !t.counts.damaged,
	   "with the parent's events alone");
	trace_done(&t);
	is(trace_read(&t, other), 0, "the child's can be read");
	ok(t.events == 1 && t.event[0].e.words == 8 && t.pid != (uint64_t)getpid(),
	   "with the child's event alone");
	trace_done(&t);
}

static volatile uint64_t handled, handled_written;
static void handler(int sig)
{
	(void)sig;
	handled_written += alloc_event(1, 1) != 0;
	handled++;
}

static void test_signals(void)
{
	uint64_t own = 0, written = 0, dropped = ebt_alloc_trace_lost();
	struct interrupts in;
	start(path);
	interrupts_begin(&in, handler, 20);
	errno = 77;
	for (; own < 10000 || (ebt_alloc_trace_lost() - dropped < 5 && own < 3000000); own++) {
		interrupt_again(&in, handled);
		written += alloc_event(2, 2) != 0;
	}
	int after = errno;
	interrupts_end();
	dropped = ebt_alloc_trace_lost() - dropped;
	ebt_alloc_trace_stop();
	diag("%llu events, %llu signals, %llu dropped", (unsigned long long)own,
	     (unsigned long long)handled, (unsigned long long)dropped);
	ok(dropped >= 5, "signal handlers interrupted events");
	is(after, 77, "errno is left alone");
	is(written, own, "the interrupted events are written");
	is(handled - handled_written, dropped, "those of their handlers are dropped and counted");
	is(trace_read(&t, path), 0, "the trace can be read");
	is(t.events, own + handled_written, "and has all others");
	is(t.counts.damaged, 0, "without damage");
	trace_done(&t);
}

static void test_full(void)
{
	struct rlimit limit, small;
	getrlimit(RLIMIT_FSIZE, &limit);
	small = (struct rlimit){100000, limit.rlim_max};
	setrlimit(RLIMIT_FSIZE, &small);
	start(path);
	for (int i = 0; i < 100000; i++)
		alloc_event(3, i + 1);
	is(ebt_alloc_trace_stop(), -EFBIG, "a file that cannot grow is one error, at the end");
	setrlimit(RLIMIT_FSIZE, &limit);
	is(trace_read(&t, path), 0, "what was written before can be read");
	ok(t.events > 1000 && t.events < 100000 && !t.counts.damaged && !t.counts.truncated,
	   "without damage");
	trace_done(&t);
}

/* In a file system of 100 KiB: a packet may be written in part. */
static void fill_file_system(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=100k"))
		_exit(errno == EPERM ? 77 : 1);
	if (start(path))
		_exit(2);
	for (int i = 0; i < 100000; i++)
		alloc_event(3, i + 1);
	if (ebt_alloc_trace_stop() != -ENOSPC)
		_exit(3);
	bool whole = !trace_read(&t, path) && t.events > 1000 && t.events < 100000 &&
		     !t.counts.damaged && !t.counts.truncated;
	_exit(whole ? 0 : 4);
}

static void test_full_file_system(void)
{
	int status = run_child(fill_file_system);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		diag("only root may mount a file system");
	else
		is(status, 0, "what is left in a full file system is whole packets");
}

static void refused_while_locked(void)
{
	_exit(start(path) == -EAGAIN ? 0 : 1);
}

static void test_refusals(void)
{
	char link[64], fifo[64];
	start(path);
	alloc_event(1, 1);
	is(run_child(refused_while_locked), 0, "a file that another process writes is refused");
	is(ebt_alloc_trace_stop(), 0, "which goes on");
	is(trace_read(&t, path), 0, "and whose trace can be read");
	is(t.events, 1, "with its event");
	trace_done(&t);
	snprintf(link, sizeof(link), "%s/link", dir);
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	ok(!symlink(path, link) && start(link) == -ELOOP, "a symbolic link is not followed");
	ok(!mkfifo(fifo, 0600) && start(fifo) == -ENXIO, "a FIFO without reader is not waited for");
	is(start("/nowhere/trace.ctf"), -ENOENT, "so is a directory that is not there");
	char longest[40000];
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	is(ebt_alloc_trace_start(&(struct ebt_alloc_config){path, longest, 1, NULL, NULL}),
	   -EMSGSIZE, "so is a context that fits no packet");
	is(start(path), 0, "after each, a trace can start");
	ebt_alloc_trace_stop();
}

/* As daemons do. */
static void test_closed(void)
{
	struct stat st;
	start(path);
	alloc_event(1, 1);
	for (int fd = 3; fd < 1000; fd++)
		close(fd);
	int low = open(other, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int fd = 90; fd < 200; fd++)
		dup2(low, fd);
	alloc_event(2, 2);
	is(ebt_alloc_trace_stop(), -EBADF, "a descriptor that the program closed is an error");
	is(fstat(low, &st) ? -1 : st.st_size, 0, "and not written to when it is another file's");
	is(start(path), 0, "a new trace can start");
	ebt_alloc_trace_stop();
	for (int fd = 90; fd < 200; fd++)
		close(fd);
	close(low);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/trace.ctf", dir);
	snprintf(other, sizeof(other), "%s/other.ctf", dir);
	test_events();
	test_threads();
	test_idle_thread();
	test_change_alone();
	test_fork();
	test_signals();
	test_full();
	test_full_file_system();
	test_refusals();
	test_closed();
	char command[80];
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command))
		abort();
	return tap_done();
}
