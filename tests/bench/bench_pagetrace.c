/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The codec of page traces: a large trace is made of a real one, whose events are written again and
 * again, at later times. Arguments: a trace, a file to write, how many bytes it shall have at
 * least. Prints what an event costs to read in order of time, to read in the order of the file, and
 * to write, the least of several turns, as JSON lines. The tool of Go's runtime authors, which was
 * never released, was measured elsewhere.
 */
#include <ebtrace/pagetrace.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#define BATCH  256
#define P_MAX  64
#define TURNS  3
#define WRITES 5000000

struct seed {
	struct ebt_pagetrace_event *event; /* in order of time */
	size_t events;
};

static void fail(const char *what)
{
	fprintf(stderr, "bench_pagetrace: %s\n", what);
	exit(1);
}

static uint64_t monotonic_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What is measured: the trace is in the page cache, so nothing waits. */
static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static ssize_t read_at(void *ctx, void *to, size_t bytes, uint64_t offset)
{
	ssize_t n = pread(*(int *)ctx, to, bytes, (off_t)offset);
	return n < 0 ? -errno : n;
}

static struct ebt_pagetrace_file *open_trace(int *fd, const char *path)
{
	struct ebt_pagetrace_file *f;
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0 || ebt_pagetrace_open(read_at, fd, &f, NULL))
		fail("cannot open the trace");
	return f;
}

static void read_seed(struct seed *s, const char *path)
{
	int fd;
	struct ebt_pagetrace_file *f = open_trace(&fd, path);
	for (ssize_t n = 1; n > 0; s->events += (size_t)n) {
		s->event = realloc(s->event, (s->events + BATCH) * sizeof(*s->event));
		if (!s->event)
			fail("no memory");
		n = ebt_pagetrace_read_all(f, s->event + s->events, BATCH);
		if (n < 0)
			fail("cannot read the trace");
	}
	ebt_pagetrace_close(f);
	close(fd);
	if (!s->events)
		fail("the trace has no events");
}

struct output {
	FILE *f;
	size_t bytes;
};

static int write_block(void *ctx, const void *block, size_t bytes)
{
	struct output *o = ctx;
	o->bytes += bytes;
	return fwrite(block, 1, bytes, o->f) == bytes ? 0 : -EIO;
}

static void write_trace(const struct seed *s, const char *path, size_t least)
{
	static struct ebt_pagetrace_writer w[P_MAX];
	struct output o = {.f = fopen(path, "wb")};
	uint64_t span_ns = s->event[s->events - 1].time_ns - s->event->time_ns, shift_ns = 0;
	if (!o.f)
		fail("cannot open the file to write");
	for (int32_t p = 0; p < P_MAX; p++)
		ebt_pagetrace_writer_init(&w[p], p - 1, write_block, &o);
	for (; o.bytes < least; shift_ns += span_ns) {
		for (size_t i = 0; i < s->events; i++) {
			const struct ebt_pagetrace_event *e = &s->event[i];
			if (shift_ns && e->p == EBT_PAGETRACE_NO_P) /* before all others, once */
				continue;
			if (e->p + 1 >= P_MAX ||
			    ebt_pagetrace_write(&w[e->p + 1], e->what, e->addr, e->pages,
						e->time_ns + shift_ns))
				fail("cannot write");
		}
	}
	for (int32_t p = P_MAX; p-- > 0;)
		if (ebt_pagetrace_write_flush(&w[p]))
			fail("cannot write");
	if (fclose(o.f))
		fail("cannot write");
}

static void row(const char *name, const char *unit, double ours, const char *rest)
{
	printf("{\"name\":\"%s\",\"unit\":\"%s\",\"ours\":%.2f%s}\n", name, unit, ours, rest);
}

struct merged {
	double index_ns, ns; /* to open it; and to read it, too */
	uint64_t events, bytes;
};

static void merge(const char *path, struct merged *least)
{
	static struct ebt_pagetrace_event ev[BATCH];
	int fd;
	uint64_t begin_ns = cpu_ns();
	struct ebt_pagetrace_file *f = open_trace(&fd, path);
	least->index_ns = fmin(least->index_ns, (double)(cpu_ns() - begin_ns));
	while (ebt_pagetrace_read_all(f, ev, BATCH) > 0)
		;
	least->ns = fmin(least->ns, (double)(cpu_ns() - begin_ns));
	least->events = ebt_pagetrace_file_counts(f).events;
	least->bytes = (uint64_t)lseek(fd, 0, SEEK_END);
	ebt_pagetrace_close(f);
	close(fd);
}

static void bench_merge(const char *path)
{
	struct merged m = {.index_ns = INFINITY, .ns = INFINITY};
	for (int turn = 0; turn < TURNS; turn++)
		merge(path, &m);
	row("pagetrace_merge_rate", "MB/s", (double)m.bytes * 1e3 / m.ns,
	    ",\"theirs\":12.4,\"peer\":\"Go's tool\",\"goal\":1000");
	row("pagetrace_merge", "ns/event", m.ns / (double)m.events,
	    ",\"theirs\":667,\"peer\":\"Go's tool\",\"goal\":8");
	row("pagetrace_index", "ns/event", m.index_ns / (double)m.events, "");
}

static double read_ns(const char *path)
{
	static struct ebt_pagetrace_event ev[BATCH];
	struct ebt_pagetrace_reader *r;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || ebt_pagetrace_reader_new(&r))
		fail("cannot open the trace that was written");
	uint64_t begin_ns = cpu_ns();
	for (ssize_t n; (n = ebt_pagetrace_read(r, ev, BATCH));) {
		if (n > 0)
			continue;
		size_t room;
		void *to = ebt_pagetrace_room(r, &room);
		ssize_t got = n == -EAGAIN ? read(fd, to, room) : -1;
		if (got < 0)
			fail("cannot read");
		if (!got)
			ebt_pagetrace_finish(r);
		ebt_pagetrace_put(r, (size_t)got);
	}
	double ns = (double)(cpu_ns() - begin_ns) / (double)ebt_pagetrace_counts(r).events;
	ebt_pagetrace_reader_free(r);
	close(fd);
	return ns;
}

static void bench_read(const char *path)
{
	double ns = INFINITY;
	for (int turn = 0; turn < TURNS; turn++)
		ns = fmin(ns, read_ns(path));
	row("pagetrace_read", "ns/event", ns, "");
}

static int drop_block(void *ctx, const void *block, size_t bytes)
{
	(void)block;
	*(size_t *)ctx += bytes;
	return 0;
}

#ifdef __x86_64__
/* Nanoseconds of the time-stamp counter, by a multiplication, as the probe library has them. */
static uint64_t cycle_mult;

static uint64_t tsc_ns(void)
{
	return (uint64_t)((unsigned __int128)__rdtsc() * cycle_mult >> 32);
}

static void calibrate(void)
{
	uint64_t ns = monotonic_ns(), cycles = __rdtsc(), now_ns;
	while ((now_ns = monotonic_ns()) - ns < 20000000)
		;
	cycle_mult = ((now_ns - ns) << 32) / (__rdtsc() - cycles);
}
#endif

static inline __attribute__((always_inline)) double write_ns(const struct seed *s,
							     uint64_t (*clock)(void))
{
	static struct ebt_pagetrace_writer w;
	double least_ns = INFINITY;
	size_t bytes = 0;
	ebt_pagetrace_writer_init(&w, 0, drop_block, &bytes);
	for (int turn = 0; turn < TURNS; turn++) {
		uint64_t begin_ns = cpu_ns();
		for (size_t done = 0, i = 0; done < WRITES; done++) {
			const struct ebt_pagetrace_event *e = &s->event[i];
			if (ebt_pagetrace_write(&w, e->what, e->addr, e->pages, clock()))
				fail("cannot write");
			i = i + 1 < s->events ? i + 1 : 0;
		}
		least_ns = fmin(least_ns, (double)(cpu_ns() - begin_ns));
	}
	return least_ns / WRITES;
}

static void bench_write(const struct seed *s)
{
#ifdef __x86_64__
	calibrate();
	row("pagetrace_write_tsc", "ns/event", write_ns(s, tsc_ns), ",\"goal\":15");
#endif
	row("pagetrace_write_monotonic", "ns/event", write_ns(s, monotonic_ns), ",\"goal\":30");
}

int main(int argc, char **argv)
{
	struct seed s = {0};
	if (argc != 4)
		fail("needs a trace, a file to write, and its size");
	read_seed(&s, argv[1]);
	write_trace(&s, argv[2], strtoull(argv[3], NULL, 10));
	bench_merge(argv[2]);
	bench_read(argv[2]);
	bench_write(&s);
	free(s.event);
	return 0;
}
