/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an event of a real Eio program costs from the words of its ring on: reading it, its payload
 * in the session, its meaning, and following the fibers; and, on top, the sums of fibers, and those
 * of spans. One round, JSON lines.
 */
#include "report/spans/model/fibers.h"
#include "report/spans/model/spans.h"

#include <ebtrace/cursor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RING   "tests/data/eio/net.events.xz"
#define EVENTS 2000000u
#define BATCH  256u /* events that are read, and followed, at once */

struct bench {
	struct session *session;
	struct fibers *fibers; /* one of these three */
	struct fibers_times *times;
	struct span_model *spans;
	uint32_t process;
	uint64_t ts; /* added to times, so that those of a round follow those of the one before */
	struct ebt_event batch[BATCH];
	size_t events;
};

static const struct fibers_visitor quiet;

/* Of this thread. */
static double cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* As source/ring and stream/pump do it. 0 or -1. */
static int follow(struct bench *b, size_t n, const void *payloads)
{
	struct ebt_event *ev = b->batch, *first = NULL, *last = NULL;
	uint32_t count = 0;
	int err = 0;
	for (size_t i = 0; i < n; i++) {
		ev[i].process = b->process;
		ev[i].ts += b->ts;
		if (ev[i].flags & EBT_F_PAYLOAD) {
			first = count++ ? first : &ev[i];
			last = &ev[i];
		}
	}
	if (count)
		err = session_put_blobs(b->session, first, (size_t)(last - first) + 1, count,
					payloads);
	if (!err && b->spans)
		err = span_model_events(b->spans, ev, n);
	for (size_t i = 0; i < n && !err && !b->spans; i++)
		err = b->fibers ? fibers_push(b->fibers, &ev[i])
				: fibers_times_event(b->times, &ev[i]);
	session_drop_events(b->session, ev, n);
	b->events += n;
	return err ? -1 : 0;
}

static int on_done(void *ctx, const struct fiber_times *t)
{
	(void)ctx, (void)t;
	return 0;
}

/* Reads the ring once. The CPU time of it without that of opening the file; < 0: it failed. */
static double round_ns(struct bench *b, int fd)
{
	struct ebt_cursor *c;
	if (ebt_cursor_open_fd(dup(fd), RING, EBT_RELEASE_OCAML_5_3, &c, NULL))
		return -1;
	for (uint32_t id = 0; id < 64; id++) {
		const char *name = ebt_cursor_user_name(c, id);
		if (name && processes_set_user_name(&b->session->processes, b->process, id, name))
			return -1;
	}
	ssize_t n;
	int err = 0;
	struct ebt_event last = {0};
	double t = cpu_ns();
	while (!err && (n = ebt_cursor_read(c, b->batch, BATCH)) > 0) {
		last = b->batch[n - 1];
		err = follow(b, (size_t)n, ebt_cursor_payloads(c));
	}
	t = cpu_ns() - t;
	ebt_cursor_close(c);
	/* What is open where the ring ends does not end in the next round. */
	b->batch[0] = (struct ebt_event){
		.ts = last.ts, .pos = last.ts + b->ts, .kind = EBT_LOST, .domain = last.domain};
	err = err ? err : follow(b, 1, NULL);
	b->ts += 1000000000;
	return n < 0 || err ? -1 : t;
}

enum what { FIBERS, SUMS, SPANS };

static int make(struct bench *b, enum what what)
{
	static const struct span_model_options options = {.slowest = 10};
	return what == FIBERS ? fibers_new(b->session, &quiet, b, &b->fibers)
	       : what == SUMS ? fibers_times_new(b->session, on_done, b, &b->times)
			      : span_model_new(b->session, &options, &b->spans);
}

static int bench(int fd, const char *name, enum what what)
{
	struct bench b = {0};
	double ns = 0;
	if (session_new(&b.session) || processes_of(&b.session->processes, 1, &b.process) ||
	    make(&b, what))
		return 1;
	while (b.events < EVENTS) {
		double round = round_ns(&b, fd);
		if (round < 0)
			return 1;
		ns += round;
	}
	printf("{\"name\":\"%s\",\"unit\":\"ns/event\",\"ours\":%.1f,\"goal\":60}\n", name,
	       ns / (double)b.events);
	fibers_free(b.fibers);
	fibers_times_free(b.times);
	span_model_free(b.spans);
	session_free(b.session);
	return 0;
}

int main(void)
{
	FILE *unpacked = tmpfile(), *p = popen("xz -dc " RING, "r");
	static char block[1 << 20];
	size_t n;
	off_t at = 0;
	if (!unpacked || !p)
		return 1;
	while ((n = fread(block, 1, sizeof(block), p)) > 0)
		if (pwrite(fileno(unpacked), block, n, (at += (off_t)n) - (off_t)n) != (ssize_t)n)
			return 1;
	if (pclose(p) || bench(fileno(unpacked), "eio_read", FIBERS) ||
	    bench(fileno(unpacked), "eio_sums", SUMS) ||
	    bench(fileno(unpacked), "eio_spans", SPANS)) {
		fputs("bench_eio: no result\n", stderr);
		return 1;
	}
	return 0;
}
