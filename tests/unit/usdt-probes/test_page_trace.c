/* SPDX-License-Identifier: BSD-2-Clause */
/* The page trace that a process writes, read by the reader of page traces. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ebtrace/probes.h>

#include "base/clock.h"
#include "tests/tap.h"
#include "tests/unit/interrupts.h"
#include "tests/unit/pagetrace_fixture.h"
#include "usdt-probes/page_trace.h"

#define PAGE EBT_PAGETRACE_PAGE_BYTES

static char dir[] = "/tmp/ebtrace-pages-XXXXXX";
static char path[64], other[64];
static struct pt_events t;

static const void *page(uint64_t number)
{
	return (const void *)(uintptr_t)(number * PAGE);
}

/* Events of threads have the thread and its count in the address. */
enum { SHIFT = 24, THREADS = 150, EVENTS = 300 };
static void write_event(uint64_t thread, uint64_t i)
{
	ebt_page_alloc(page(thread << SHIFT | i), 1);
}

/* Reads a trace into t, in order of time. */
static void read_trace(const char *from)
{
	struct pt_bytes b = {0};
	char part[65536];
	FILE *f = fopen(from, "rb");
	if (!f)
		abort();
	for (size_t n; (n = fread(part, 1, sizeof(part), f)) > 0;)
		pt_append(&b, part, n);
	fclose(f);
	free(t.at);
	t = pt_read_all(&b, 256);
	free(b.data);
}

static bool is_event(size_t i, uint32_t what, uint64_t number, uint64_t pages)
{
	return i < t.n && t.at[i].what == what && t.at[i].addr == number * PAGE &&
	       t.at[i].pages == pages;
}

static void test_events(void)
{
	struct stat st;
	uint64_t lost = ebt_page_lost();
	ebt_page_alloc(page(1), 1);
	is(ebt_page_trace_stop(), -EINVAL, "without a trace there is none to stop");
	umask(0);
	is(ebt_page_trace_start(path), 0, "a trace starts");
	is(ebt_page_trace_start(other), -EALREADY, "and not twice");
	uint64_t before = now_ns();
	ebt_page_alloc(page(1), 1023);
	uint64_t after = now_ns();
	ebt_page_alloc(page(5000), 1024);
	ebt_page_free(page(5000), 1028);
	usleep(30000);
	ebt_page_scavenge(page((1ull << 35) - 1), 1);
	usleep(3000000);
	ebt_page_free(page(1), 1ull << 34);
	is(ebt_page_lost(), lost, "no run is lost,");
	ebt_page_alloc((const char *)page(1) + 4096, 1);
	ebt_page_alloc(page(1ull << 35), 1);
	ebt_page_free(page(1), 0);
	ebt_page_scavenge(page(2), (1ull << 35) - 1);
	is(ebt_page_lost(), lost + 4, "but for those that are none");
	is(ebt_page_trace_stop(), 0, "the trace stops");
	is(ebt_page_trace_stop(), -EINVAL, "and not twice");
	is(stat(path, &st) ? 0 : st.st_mode & 0777, 0600, "the file is the user's alone");

	read_trace(path);
	ok(t.end == 0 && !t.damaged && t.counts.has_boot, "the reader reads it, to its end");
	ok(t.n == 5 && is_event(0, EBT_PAGETRACE_ALLOC, 1, 1023) &&
		   is_event(1, EBT_PAGETRACE_ALLOC, 5000, 1024) &&
		   is_event(2, EBT_PAGETRACE_FREE, 5000, 1028) &&
		   is_event(3, EBT_PAGETRACE_SCAVENGE, (1ull << 35) - 1, 1) &&
		   is_event(4, EBT_PAGETRACE_FREE, 1, 1ull << 34),
	   "every run is there, small, large and at the ends of the addresses");
	ok(t.n == 5 && t.at[0].p == 0 && t.at[4].p == 0, "the first thread is P 0");
	ok(t.n == 5 && t.at[0].time_ns + 256 >= before && t.at[0].time_ns <= after &&
		   t.at[3].time_ns - t.at[2].time_ns >= 29000000 &&
		   t.at[4].time_ns - t.at[3].time_ns >= 2990000000,
	   "times are CLOCK_MONOTONIC's, also after long gaps");
}

static pthread_barrier_t barrier;

static void *write_events(void *number)
{
	pthread_barrier_wait(&barrier);
	for (uint64_t i = 0; i < EVENTS; i++)
		write_event((uint64_t)(uintptr_t)number, i);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void run_threads(uintptr_t first, int threads)
{
	pthread_t thread[THREADS];
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, write_events, (void *)(first + (uintptr_t)i)))
			abort();
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

/* Reads a trace of threads' events: how many of them are out of their order, or of two Ps. */
static size_t read_threads(const char *from, uint64_t next[THREADS], int *ret_ps)
{
	static bool seen[EBT_PAGE_DOMAINS + 1];
	int32_t p_of[THREADS];
	size_t wrong = 0;
	memset(seen, 0, sizeof(seen));
	memset(next, 0, THREADS * sizeof(*next));
	*ret_ps = 0;
	read_trace(from);
	for (size_t i = 0; i < t.n; i++) {
		uint64_t number = t.at[i].addr / PAGE, thread = number >> SHIFT;
		if (thread >= THREADS || t.at[i].p >= EBT_PAGE_DOMAINS)
			return SIZE_MAX;
		if (!next[thread])
			p_of[thread] = t.at[i].p;
		wrong += (number & ((1 << SHIFT) - 1)) != next[thread]++ ||
			 p_of[thread] != t.at[i].p;
		*ret_ps += !seen[t.at[i].p + 1];
		seen[t.at[i].p + 1] = true;
	}
	return wrong + t.damaged + (t.end != 0);
}

static void test_threads(void)
{
	uint64_t next[THREADS];
	int ps;
	uint64_t lost = ebt_page_lost();
	ebt_page_trace_start(path);
	run_threads(0, 8);
	run_threads(8, 8);
	is(ebt_page_trace_stop(), 0, "8 threads write a trace, and 8 when these have ended");
	is(read_threads(path, next, &ps), 0, "each thread's events are of one P, in their order");
	is(t.n, 16 * EVENTS, "and all are there");
	is(ps, 8, "the second 8 have the Ps of the first");

	ebt_page_trace_start(path);
	run_threads(0, THREADS);
	is(ebt_page_trace_stop(), 0, "150 threads write a trace");
	is(read_threads(path, next, &ps), 0, "their events are in order");
	is(t.n, THREADS * EVENTS, "and all are there");
	/* The calling thread has P 0, and no event. */
	is(ps, EBT_PAGE_DOMAINS, "threads beyond the Ps are of P -1");
	is(ebt_page_lost(), lost, "no event was lost");
}

/* One buffer has room for 4,094 events. */
static void test_overflow(void)
{
	uint64_t next[THREADS];
	struct stat st;
	int ps;
	ebt_page_trace_start(path);
	for (uint64_t i = 0; i < 4000; i++)
		write_event(1, i);
	is(stat(path, &st) ? -1 : st.st_size, 0, "events wait in the buffer of their thread");
	for (uint64_t i = 4000; i < 100000; i++)
		write_event(1, i);
	ok(!stat(path, &st) && st.st_size && st.st_size % EBT_PAGETRACE_BLOCK_BYTES == 0,
	   "which is written when it is full, whole");
	ebt_page_trace_flush();
	is(read_threads(path, next, &ps), 0, "what is flushed can be read while the trace goes on");
	ok(t.n == 100000 && !t.counts.has_boot, "and is all so far");
	write_event(1, 100000);
	ebt_page_trace_stop();
	is(read_threads(path, next, &ps), 0, "later events are behind it");
	ok(t.n == 100001 && t.counts.has_boot, "and the end");
}

static void *flush_often(void *stop)
{
	for (; !__atomic_load_n((bool *)stop, __ATOMIC_RELAXED); usleep(50))
		ebt_page_trace_flush();
	return NULL;
}

static void test_flushed_by_others(void)
{
	uint64_t next[THREADS], lost = ebt_page_lost();
	pthread_t flusher;
	bool stop = false;
	int ps;
	ebt_page_trace_start(path);
	if (pthread_create(&flusher, NULL, flush_often, &stop))
		abort();
	for (uint64_t i = 0; i < 3000000; i++)
		write_event(1, i);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(flusher, NULL);
	ebt_page_trace_stop();
	is(read_threads(path, next, &ps), 0, "while others flush, the events stay in order");
	is(t.n + (ebt_page_lost() - lost), 3000000, "and all are there");
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
	uint64_t lost = ebt_page_lost();
	for (uint64_t i = 0; i < 10000; i++)
		write_event(3, i);
	bool quiet = !ebt_page_enabled() && ebt_page_lost() == lost;
	bool own = !ebt_page_trace_start(other);
	write_event(4, 0);
	if (!quiet || !own || ebt_page_trace_stop())
		_exit(1);
}

static void child_exits(void)
{
	write_event(5, 0);
	exit(0);
}

static void test_fork(void)
{
	uint64_t next[THREADS];
	int ps;
	ebt_page_trace_start(path);
	write_event(1, 0);
	is(run_child(child_writes), 0, "a child has no trace, and may start one of its own");
	is(run_child(child_exits), 0, "or end");
	write_event(1, 1);
	is(ebt_page_trace_stop(), 0, "the parent's trace goes on");
	ok(!read_threads(path, next, &ps) && t.n == 2 && next[1] == 2 && t.counts.blocks == 2,
	   "with the parent's events alone");
	ok(!read_threads(other, next, &ps) && t.n == 1 && next[4] == 1,
	   "and the child's with the child's alone");
}

static volatile uint64_t handled;
static void handler(int sig)
{
	(void)sig;
	ebt_page_free(page(7ull << SHIFT | handled++), 1);
}

static void test_signals(void)
{
	uint64_t own = 0, lost = ebt_page_lost(), next = 0, next_handled = 0, skipped = 0,
		 wrong = 0;
	struct interrupts in;
	ebt_page_trace_start(path);
	interrupts_begin(&in, handler, 20);
	errno = 77;
	for (; own < 10000 || (ebt_page_lost() - lost < 5 && own < 10000000); own++) {
		interrupt_again(&in, handled);
		write_event(1, own);
	}
	int after = errno;
	interrupts_end();
	lost = ebt_page_lost() - lost;
	ebt_page_trace_stop();
	diag("%" PRIu64 " events, %" PRIu64 " signals, %" PRIu64 " dropped", own, handled, lost);
	ok(lost >= 5, "signal handlers interrupted events");
	is(after, 77, "errno is left alone");
	read_trace(path);
	for (size_t i = 0; i < t.n; i++) {
		uint64_t number = t.at[i].addr / PAGE, count = number & ((1 << SHIFT) - 1);
		if (t.at[i].what == EBT_PAGETRACE_ALLOC) {
			wrong += number != (1ull << SHIFT | next++);
			continue;
		}
		wrong += count < next_handled;
		skipped += count - next_handled;
		next_handled = count + 1;
	}
	is(wrong + t.damaged, 0, "every event of the interrupted program is there, in order");
	is(next, own, "and all of them");
	is(skipped + handled - next_handled, lost,
	   "those of handlers that interrupted one are counted");
}

static void test_full(void)
{
	uint64_t next[THREADS];
	struct rlimit limit, small;
	struct stat st;
	int ps;
	getrlimit(RLIMIT_FSIZE, &limit);
	small = (struct rlimit){100000, limit.rlim_max};
	setrlimit(RLIMIT_FSIZE, &small);
	ebt_page_trace_start(path);
	for (uint64_t i = 0; i < 100000; i++)
		write_event(1, i);
	ok(!ebt_page_enabled(), "after an error of the file the probes are idle");
	is(ebt_page_trace_stop(), -EFBIG, "a file that cannot grow is one error, at the end");
	setrlimit(RLIMIT_FSIZE, &limit);
	is(read_threads(path, next, &ps), 0, "what was written before can be read");
	ok(!stat(path, &st) && st.st_size == 3 * EBT_PAGETRACE_BLOCK_BYTES && !t.counts.has_boot,
	   "it is whole blocks, without an end");
}

static void refused_while_locked(void)
{
	_exit(ebt_page_trace_start(path) == -EAGAIN ? 0 : 1);
}

static void test_refusals(void)
{
	char link[64], fifo[64];
	uint64_t next[THREADS];
	int ps;
	ebt_page_trace_start(path);
	write_event(1, 0);
	is(run_child(refused_while_locked), 0, "a file that another process writes is refused");
	is(ebt_page_trace_stop(), 0, "which goes on");
	ok(!read_threads(path, next, &ps) && t.n == 1, "and is not truncated");
	snprintf(link, sizeof(link), "%s/link", dir);
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	ok(!symlink(path, link) && ebt_page_trace_start(link) == -ELOOP,
	   "a symbolic link is not followed");
	ok(!mkfifo(fifo, 0600) && ebt_page_trace_start(fifo) == -ENXIO,
	   "a FIFO without reader is not waited for");
	is(ebt_page_trace_start("/nowhere/trace.pt"), -ENOENT,
	   "so is a directory that is not there");
	ok(!read_threads(path, next, &ps) && t.n == 1,
	   "after which the file of the link is as before");
	is(ebt_page_trace_start(path), 0, "after each, a trace can start");
	ebt_page_trace_stop();
	read_trace(path);
	ok(!t.n && t.counts.has_boot && t.counts.blocks == 1, "one without events has its end");
}

/* As daemons do. */
static void test_closed(void)
{
	struct stat st;
	ebt_page_trace_start(path);
	write_event(1, 0);
	for (int fd = 3; fd < 1000; fd++)
		close(fd);
	int low = open(other, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int fd = 90; fd < 200; fd++)
		dup2(low, fd);
	write_event(1, 1);
	is(ebt_page_trace_stop(), -EBADF, "a descriptor that the program closed is an error");
	is(fstat(low, &st) ? -1 : st.st_size, 0, "and not written to when it is another file's");
	is(ebt_page_trace_start(path), 0, "a new trace can start");
	ebt_page_trace_stop();
	for (int fd = 90; fd < 200; fd++)
		close(fd);
	close(low);
}

/*
 * The test itself as another program, with a trace from its environment.
 */
enum { RUNNING = 3 };
static _Atomic uint64_t written[RUNNING];

static void *write_for_ever(void *number)
{
	uint64_t thread = (uint64_t)(uintptr_t)number;
	for (uint64_t i = 0;; i++) {
		write_event(thread, i);
		written[thread] = i + 1;
	}
	return NULL;
}

/* How many events its threads have written for sure, to standard output. */
static void run_for_ever(void)
{
	pthread_t thread;
	for (uintptr_t i = 0; i < RUNNING; i++)
		if (pthread_create(&thread, NULL, write_for_ever, (void *)i))
			abort();
	for (int i = 0; i < RUNNING; i++)
		while (written[i] < 20000)
			usleep(100);
	for (int i = 0; i < RUNNING; i++)
		printf("%" PRIu64 "\n", written[i]);
	fflush(stdout);
}

static int be_child(char **argv)
{
	if (getenv("EBTRACE_PAGETRACE") || (!strcmp(argv[1], "after") && ebt_page_enabled()))
		return 1;
	write_event(9, 0);
	if (!strcmp(argv[1], "exit"))
		run_for_ever();
	if (!strcmp(argv[1], "kill")) {
		run_for_ever();
		raise(SIGKILL);
	}
	if (!strcmp(argv[1], "exec")) {
		ebt_page_trace_flush();
		execl("/proc/self/exe", argv[0], "after", NULL);
	}
	return 0;
}

/* The child's exit status. What it prints is in least[]. */
static int run_again(const char *how, uint64_t least[RUNNING])
{
	char command[256], line[64];
	snprintf(command, sizeof(command), "EBTRACE_PAGETRACE='%s' /proc/%d/exe %s", path, getpid(),
		 how);
	FILE *f = popen(command, "r");
	for (int i = 0; f && i < RUNNING && fgets(line, sizeof(line), f); i++)
		least[i] = strtoull(line, NULL, 10);
	return f ? pclose(f) : -1;
}

static void test_ends(void)
{
	uint64_t next[THREADS], least[RUNNING] = {0};
	int ps;
	is(run_again("exit", least), 0, "the environment starts a trace, and does not pass it on");
	is(read_threads(path, next, &ps), 0, "while threads run, the end of the program writes it");
	ok(least[0] >= 20000 && next[0] >= least[0] && next[1] >= least[1] && next[2] >= least[2] &&
		   next[9] == 1 && t.counts.has_boot,
	   "it has all events of each, and the end");
	ok(run_again("kill", least) != 0, "a program is killed");
	size_t wrong = read_threads(path, next, &ps);
	is(wrong, t.damaged, "its events are in order");
	ok(t.damaged <= 1, "but for the block that was being written, they are not damaged");
	ok(next[0] >= 16000 && !next[9] && !t.counts.has_boot, "the trace has no end");
	is(run_again("exec", least), 0, "a program flushes and executes another");
	is(read_threads(path, next, &ps), 0, "which does not touch its trace");
	ok(t.n == 1 && next[9] == 1, "all is there");
}

int main(int argc, char **argv)
{
	char command[80];
	if (argc > 1)
		return be_child(argv);
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/trace.pt", dir);
	snprintf(other, sizeof(other), "%s/other.pt", dir);
	test_events();
	test_threads();
	test_overflow();
	test_flushed_by_others();
	test_fork();
	test_signals();
	test_full();
	test_refusals();
	test_closed();
	test_ends();
	free(t.at);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command))
		abort();
	return tap_done();
}
