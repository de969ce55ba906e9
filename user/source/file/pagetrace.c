/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/file/pagetrace.h"

#include "source/file/pipe_lanes.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define BATCH	   256
#define POLL_BYTES (1u << 20) /* of a pipe at most, between two rounds of read() */

struct pagetrace_source {
	struct source base;
	struct session *session;
	char *name;
	int fd;
	struct ebt_pagetrace_file *file;     /* of a file */
	struct ebt_pagetrace_reader *reader; /* of a pipe */
	struct pipe_lanes queues;	     /* of a pipe */
	bool alone, entered, finished;
	uint32_t process;
	int err;
	char reason[160];
};

static struct pagetrace_source *of(struct source *base)
{
	return (struct pagetrace_source *)base;
}

static int enter_process(struct pagetrace_source *s)
{
	struct processes *ps = &s->session->processes;
	int err = processes_of(ps, 0, &s->process);
	if (err)
		return err;
	processes_ref(ps, s->process);
	s->entered = true;
	struct process *p = processes_announce(ps, s->process);
	snprintf(p->producer, sizeof(p->producer), "go pagetrace");
	p->page_bytes = EBT_PAGETRACE_PAGE_BYTES;
	return 0;
}

static uint16_t domain_of(const struct ebt_pagetrace_event *e)
{
	return e->p == EBT_PAGETRACE_NO_P ? EBT_NO_DOMAIN : (uint16_t)e->p;
}

static void convert(const struct pagetrace_source *s, const struct ebt_pagetrace_event *e,
		    struct ebt_event *ret)
{
	static const uint16_t kind[] = {
		[EBT_PAGETRACE_ALLOC] = EBT_PAGE_ALLOC,
		[EBT_PAGETRACE_FREE] = EBT_PAGE_FREE,
		[EBT_PAGETRACE_SCAVENGE] = EBT_PAGE_SCAVENGE,
		[EBT_PAGETRACE_DAMAGE] = EBT_DAMAGE,
	};
	*ret = (struct ebt_event){
		.ts = e->time_ns,
		.pos = EBT_NO_POS,
		.process = s->process,
		.kind = kind[e->what],
		.domain = domain_of(e),
		.cpu = EBT_NO_CPU,
		.arg = {e->addr, e->what == EBT_PAGETRACE_DAMAGE ? (e->pages + 7) / 8 : e->pages},
	};
}

static int fail(struct pagetrace_source *s, int err, const char *reason)
{
	if (!s->err)
		snprintf(s->reason, sizeof(s->reason), "%s", reason);
	s->err = s->err ? s->err : err;
	s->finished = true;
	return err;
}

/* The events that the bytes of the pipe so far hold. 0 or -errno. */
static int queue_events(struct pagetrace_source *s)
{
	struct ebt_pagetrace_event from[BATCH];
	for (;;) {
		ssize_t n = ebt_pagetrace_read(s->reader, from, BATCH);
		if (n == -EAGAIN)
			return 0;
		if (n < 0)
			return fail(s, (int)n, ebt_pagetrace_reason(s->reader));
		s->finished |= !n;
		if (!n)
			return 0;
		for (ssize_t i = 0; i < n; i++) {
			uint32_t lane;
			int err = pipe_lanes_of(&s->queues, domain_of(&from[i]), &lane);
			struct ebt_event *to = err ? NULL : pipe_lanes_room(&s->queues, lane);
			if (!to)
				return fail(s, -ENOMEM, "");
			convert(s, &from[i], to);
			pipe_lanes_put(&s->queues, lane);
		}
		s->base.lanes = s->queues.count;
	}
}

static int pagetrace_poll(struct source *base)
{
	struct pagetrace_source *s = of(base);
	struct pollfd pfd = {.fd = s->fd, .events = POLLIN};
	size_t bytes = 0;
	while (s->reader && !s->finished && bytes < POLL_BYTES && !pipe_lanes_full(&s->queues) &&
	       poll(&pfd, 1, 0) > 0) {
		size_t room;
		void *to = ebt_pagetrace_room(s->reader, &room);
		ssize_t n = read(s->fd, to, room);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return 0;
		if (n < 0) {
			fail(s, -errno, "");
			return 0;
		}
		if (!n)
			ebt_pagetrace_finish(s->reader);
		ebt_pagetrace_put(s->reader, (size_t)n);
		bytes += (size_t)n;
		queue_events(s);
	}
	return 0;
}

static int read_file(struct pagetrace_source *s, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct ebt_pagetrace_event from[BATCH];
	if (s->finished)
		return 0;
	ssize_t n = ebt_pagetrace_read_lane(s->file, lane, from, cap < BATCH ? cap : BATCH);
	if (n < 0)
		return fail(s, (int)n, ebt_pagetrace_file_reason(s->file));
	for (ssize_t i = 0; i < n; i++)
		convert(s, &from[i], &ev[i]);
	return (int)n;
}

static int pagetrace_read(struct source *base, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct pagetrace_source *s = of(base);
	if (s->file)
		return read_file(s, lane, ev, cap);
	int n = pipe_lanes_take(&s->queues, lane, ev, cap);
	return n ? n : s->finished ? s->err : -EAGAIN;
}

static uint64_t pagetrace_horizon(struct source *base, uint32_t lane)
{
	const struct pagetrace_source *s = of(base);
	return s->file || s->finished ? UINT64_MAX : pipe_lanes_horizon(&s->queues, lane);
}

static int pagetrace_stop(struct source *base)
{
	of(base)->finished = true;
	return 0;
}

static void pagetrace_free(struct source *base)
{
	struct pagetrace_source *s = of(base);
	ebt_pagetrace_close(s->file);
	ebt_pagetrace_reader_free(s->reader);
	pipe_lanes_done(&s->queues, s->session);
	if (s->entered)
		processes_unref(&s->session->processes, s->process);
	close(s->fd);
	free(s->name);
	free(s);
}

static const struct source_ops pagetrace_ops = {
	.poll = pagetrace_poll,
	.read = pagetrace_read,
	.horizon = pagetrace_horizon,
	.stop = pagetrace_stop,
	.free = pagetrace_free,
};

static ssize_t read_at(void *ctx, void *to, size_t bytes, uint64_t offset)
{
	return file_read_at(((const struct pagetrace_source *)ctx)->fd, to, bytes, offset);
}

static int open_file(struct pagetrace_source *s)
{
	const struct ebt_pagetrace_lane *lane;
	int err = ebt_pagetrace_open(read_at, s, &s->file, s->reason);
	if (err)
		return err;
	size_t lanes = ebt_pagetrace_lanes(s->file, &lane);
	uint64_t first_ns = UINT64_MAX;
	for (size_t i = 0; i < lanes; i++)
		if (lane[i].events && lane[i].first_ns < first_ns)
			first_ns = lane[i].first_ns;
	if (s->alone && first_ns != UINT64_MAX)
		s->session->start = moment_at(first_ns);
	s->base.lanes = (uint32_t)lanes;
	return 0;
}

static int open_pipe(struct pagetrace_source *s, const struct pagetrace_options *o)
{
	size_t room;
	int err = ebt_pagetrace_reader_new(&s->reader);
	if (!err)
		err = pipe_lanes_init(&s->queues, PAGETRACE_WINDOW_NS, PAGETRACE_QUEUE, true);
	if (err)
		return err;
	memcpy(ebt_pagetrace_room(s->reader, &room), o->head, o->head_bytes);
	ebt_pagetrace_put(s->reader, o->head_bytes);
	s->base.lanes = s->queues.count;
	return 0;
}

int pagetrace_source_new(struct session *session, int fd, const struct pagetrace_options *o,
			 struct pagetrace_source **ret)
{
	struct pagetrace_source *s = calloc(1, sizeof(*s));
	struct stat st;
	if (!s) {
		close(fd);
		return -ENOMEM;
	}
	s->base.ops = &pagetrace_ops;
	s->base.timebase.clock = TIMEBASE_MONOTONIC;
	s->session = session;
	s->fd = fd;
	s->alone = o->alone;
	s->name = strdup(o->name);
	int err = !s->name ? -ENOMEM : fstat(fd, &st) ? -errno : enter_process(s);
	if (!err)
		err = S_ISREG(st.st_mode) ? open_file(s) : open_pipe(s, o);
	if (err) {
		pagetrace_free(&s->base);
		return err;
	}
	*ret = s;
	return 0;
}

struct source *pagetrace_source_base(struct pagetrace_source *s)
{
	return &s->base;
}

struct pagetrace_source *pagetrace_source_of(struct source *base)
{
	return of(base);
}

const char *pagetrace_source_name(const struct pagetrace_source *s)
{
	return s->name;
}

int pagetrace_source_error(const struct pagetrace_source *s)
{
	return s->err;
}

const char *pagetrace_source_reason(const struct pagetrace_source *s)
{
	if (*s->reason)
		return s->reason;
	return s->file ? ebt_pagetrace_file_reason(s->file) : ebt_pagetrace_reason(s->reader);
}

struct ebt_pagetrace_counts pagetrace_source_counts(const struct pagetrace_source *s)
{
	return s->file ? ebt_pagetrace_file_counts(s->file) : ebt_pagetrace_counts(s->reader);
}
