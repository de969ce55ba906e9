/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The codec of memtrace traces: a large trace is made of a real one, whose events are written again
 * and again, at later times and as new objects. Arguments: a trace, a file to write, how many
 * events it shall have at least. Prints what an event costs to write and to read, the least of
 * several turns in CPU time, as JSON lines.
 */
#include <ebtrace/memtrace.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCH	  256
#define TURNS	  3
#define DEPTH_MAX 4096

/* The events of the real trace, each with the frames that it adds. */
struct seed {
	struct ebt_memtrace_event *event;
	size_t events, cap, allocs;
	uint64_t first_id;
	struct ebt_memtrace_reader *reader; /* has the positions */
};

static void fail(const char *what)
{
	fprintf(stderr, "bench_memtrace: %s\n", what);
	exit(1);
}

/* Of the CPU, in and below the one thread: it holds on a busy machine. */
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* The next bytes of the file to the reader. */
static void fill(struct ebt_memtrace_reader *r, int fd)
{
	size_t room;
	void *to = ebt_memtrace_room(r, &room);
	ssize_t n = read(fd, to, room);
	if (n < 0)
		fail("cannot read");
	if (!n)
		ebt_memtrace_finish(r);
	ebt_memtrace_put(r, (size_t)n);
}

static void keep(struct seed *s, const struct ebt_memtrace_event *e)
{
	if (s->events == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 4096;
		s->event = realloc(s->event, s->cap * sizeof(*s->event));
		if (!s->event)
			fail("no memory");
	}
	struct ebt_memtrace_event *kept = &s->event[s->events++];
	*kept = *e;
	if (e->what != EBT_MEMTRACE_ALLOC)
		return;
	if (!s->allocs++)
		s->first_id = e->obj;
	if (e->again)
		kept->frames = 0;
	kept->frame = malloc((e->frames + 1) * sizeof(*e->frame));
	if (!kept->frame)
		fail("no memory");
	memcpy((void *)kept->frame, e->frame, kept->frames * sizeof(*e->frame));
}

static void read_seed(struct seed *s, const char *path)
{
	struct ebt_memtrace_event ev[BATCH];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || ebt_memtrace_reader_new(0, &s->reader))
		fail("cannot open the trace");
	for (;;) {
		ssize_t n = ebt_memtrace_read(s->reader, ev, BATCH);
		if (n == -EAGAIN)
			fill(s->reader, fd);
		else if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			keep(s, &ev[i]);
	}
	close(fd);
	if (!s->events)
		fail("the trace has no events");
}

static int write_packet(void *ctx, const void *packet, size_t bytes)
{
	FILE *f = ctx;
	return fwrite(packet, 1, bytes, f) == bytes ? 0 : -EIO;
}

static const struct ebt_memtrace_reader *positions;

static size_t locations(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	(void)ctx;
	return ebt_memtrace_locations(positions, code, ret);
}

/* Writes the events of the seed once. `clock`: at the times of now, else `shift_us` later. */
static void write_round(const struct seed *s, struct ebt_memtrace_writer *w, uint64_t *ids,
			uint64_t shift_us, int clock)
{
	for (size_t i = 0; i < s->events; i++) {
		struct ebt_memtrace_event e = s->event[i];
		uint64_t *id = &ids[e.obj - s->first_id];
		e.time_us = clock ? now_us() : e.time_us + shift_us;
		e.obj = e.what == EBT_MEMTRACE_ALLOC ? EBT_MEMTRACE_NEW_OBJ : *id;
		if (ebt_memtrace_write(w, &e))
			fail("cannot write");
		*id = e.obj;
	}
}

static size_t write_trace(const struct seed *s, FILE *f, size_t least, int clock)
{
	struct ebt_memtrace_info info = *ebt_memtrace_info(s->reader);
	struct ebt_memtrace_trace t = {write_packet, locations, f, 0, 0, 0};
	void *memory = calloc(1, ebt_memtrace_writer_bytes());
	uint64_t *ids = calloc(s->allocs, sizeof(*ids));
	uint64_t span_us = s->event[s->events - 1].time_us - info.start_us, shift_us = 0;
	size_t events = 0;
	if (!memory || !ids)
		fail("no memory");
	info.start_us = clock ? now_us() : info.start_us;
	if (ebt_memtrace_write_info(&t, &info))
		fail("cannot write");
	struct ebt_memtrace_writer *w = ebt_memtrace_writer_init(memory, &t, 0, info.start_us);
	for (; events < least; events += s->events, shift_us += span_us)
		write_round(s, w, ids, shift_us, clock);
	ebt_memtrace_write_flush(w, clock ? now_us() : info.start_us + shift_us + span_us);
	free(memory);
	free(ids);
	return events;
}

static void row(const char *name, const char *unit, double ours, const char *rest)
{
	printf("{\"name\":\"%s\",\"unit\":\"%s\",\"ours\":%.2f%s}\n", name, unit, ours, rest);
}

static void bench_write(const struct seed *s, const char *path, size_t least)
{
	FILE *f = fopen(path, "wb");
	if (!f)
		fail("cannot open the file to write");
	size_t events = write_trace(s, f, least, 0);
	double bytes = (double)ftell(f);
	if (fclose(f))
		fail("cannot write");
	row("memtrace_write_bytes", "B/event", bytes / (double)events,
	    ",\"theirs\":8.68,\"peer\":\"memtrace\",\"goal\":8.7");
	f = fopen("/dev/null", "wb");
	double seconds = INFINITY;
	for (int turn = 0; turn < TURNS; turn++) {
		double begin = now();
		events = write_trace(s, f, least / 4, 1);
		seconds = fmin(seconds, now() - begin);
	}
	row("memtrace_write", "ns/event", seconds * 1e9 / (double)events,
	    ",\"theirs\":120.6,\"peer\":\"memtrace\",\"goal\":40");
	fclose(f);
}

static double read_trace(const char *path, unsigned flags, size_t *ret_events, size_t *ret_bytes)
{
	static struct ebt_memtrace_event ev[BATCH];
	struct ebt_memtrace_reader *r;
	size_t events = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || ebt_memtrace_reader_new(flags, &r))
		fail("cannot open the trace that was written");
	double begin = now();
	for (;;) {
		ssize_t n = ebt_memtrace_read(r, ev, BATCH);
		if (n == -EAGAIN)
			fill(r, fd);
		else if (n <= 0)
			break;
		else
			events += (size_t)n;
	}
	double seconds = now() - begin;
	*ret_events = events;
	*ret_bytes = (size_t)lseek(fd, 0, SEEK_CUR);
	ebt_memtrace_reader_free(r);
	close(fd);
	return seconds;
}

static void bench_read(const char *path, unsigned flags, const char *name, const char *theirs,
		       const char *rate, const char *their_rate)
{
	size_t events, bytes;
	double seconds = INFINITY;
	for (int turn = 0; turn < TURNS; turn++)
		seconds = fmin(seconds, read_trace(path, flags, &events, &bytes));
	row(name, "ns/event", seconds * 1e9 / (double)events, theirs);
	row(rate, "MB/s", (double)bytes / 1e6 / seconds, their_rate);
}

int main(int argc, char **argv)
{
	struct seed s = {0};
	if (argc != 4)
		fail("needs a trace, a file to write, and a number of events");
	read_seed(&s, argv[1]);
	positions = s.reader;
	bench_write(&s, argv[2], strtoull(argv[3], NULL, 10));
	bench_read(argv[2], 0, "memtrace_read", ",\"theirs\":28.3,\"peer\":\"memtrace\",\"goal\":9",
		   "memtrace_read_rate", ",\"theirs\":305,\"peer\":\"memtrace\"");
	bench_read(argv[2], EBT_MEMTRACE_SKIP_BACKTRACES, "memtrace_skip",
		   ",\"theirs\":21.4,\"peer\":\"memtrace\",\"goal\":4", "memtrace_skip_rate",
		   ",\"theirs\":404,\"peer\":\"memtrace\"");
	return 0;
}
