/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/capture.h"

#include "base/log.h"
#include "base/map.h"
#include "codec/ring_ids.h"
#include "source/capture_stacks.h"
#include "source/release.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Blobs that one read() may leave in the session. */
#define BATCH_BLOB_BYTES (8u << 20)
/*
 * What names and descriptions may take in memory, for each byte of the file and beside that. A
 * compressed file of a few bytes can hold any number of them; one that was recorded has events too.
 */
#define KEPT_RATE  16
#define KEPT_LEAST (4u << 20)
#define ITEM_BYTES 96 /* about the size of an entry in the session's tables */

struct capture_source {
	struct source base;
	struct session *session;
	char *name;
	int fd;
	bool alone;
	struct capture_reader *reader;
	struct capture_item item;
	struct capture_stacks stacks; /* of the block that is read */
	/* Pids and incarnations of the file → indices of the session's registry. */
	struct map current;		 /* pid → index of the incarnation that is meant now */
	struct map incarnations;	 /* pid << 32 | number → index */
	uint32_t last_pid, last_process; /* events of one process come in runs */
	bool held;	/* item waits until the events before it have been consumed */
	bool delivered; /* events that may not have been consumed yet */
	bool finished;
	uint64_t horizon_ns;
	uint64_t kept_bytes; /* of names and descriptions */
	bool reported_many;
	int err;
	uint64_t lost_events, lost_words; /* by our events, without recovered ones */
	struct totals totals;
	bool has_totals;
};

static struct capture_source *of(struct source *base)
{
	return (struct capture_source *)base;
}

static struct moment moment_of(const struct capture_session *c, enum capture_knows bit, uint64_t ns)
{
	return c->known & bit ? moment_at(ns) : (struct moment){0};
}

static void restore_session(struct capture_source *s, const struct capture_session *c)
{
	struct session *session = s->session;
	struct moment *at = session->timebase.at;
	if (!s->alone)
		return;
	unsigned origins = origin_parse(c->source);
	session->origins = origins ? origins : ORIGIN_CAPTURE;
	session->start = moment_of(c, CAPTURE_KNOWS_START, c->start_ns);
	session->run_begin = moment_of(c, CAPTURE_KNOWS_RUN_BEGIN, c->run_begin_ns);
	session->run_end = moment_of(c, CAPTURE_KNOWS_RUN_END, c->run_end_ns);
	session->timebase.clock = timebase_parse(c->clock);
	at[TIMEBASE_MONOTONIC] = moment_of(c, CAPTURE_KNOWS_MONOTONIC, c->monotonic_ns);
	at[TIMEBASE_REALTIME] = moment_of(c, CAPTURE_KNOWS_REALTIME, c->realtime_ns);
	at[TIMEBASE_BOOTTIME] = moment_of(c, CAPTURE_KNOWS_BOOTTIME, c->boottime_ns);
}

/* True if the session may keep this many more bytes of the file. */
static bool may_keep(struct capture_source *s, uint64_t bytes)
{
	uint64_t limit = KEPT_LEAST + KEPT_RATE * capture_reader_stats(s->reader)->file_bytes;
	bool may = s->kept_bytes + bytes <= limit;
	s->kept_bytes += may ? bytes : 0;
	if (!may && !s->reported_many)
		log_at(LOG_NORMAL,
		       "capture '%s' has more names and processes than a file of its size can be "
		       "about: those that follow are left out",
		       s->name);
	s->reported_many |= !may;
	return may;
}

/* Limits the registry: events of further processes are of no known one. */
static int enter(struct capture_source *s, const struct capture_incarnation *i, uint32_t *ret)
{
	struct processes *ps = &s->session->processes;
	struct process_start start = {i->start_boot_ns, i->start_known};
	*ret = PROCESS_UNKNOWN;
	if (!i->pid || !may_keep(s, sizeof(struct process) + ITEM_BYTES))
		return 0;
	if (!i->number)
		return processes_of(ps, i->pid, ret);
	if (map_get(&s->current, i->pid)) /* the incarnation before has ended */
		processes_end(ps, processes_find(ps, i->pid));
	return processes_begin(ps, i->pid, &start, ret);
}

/* From now on the pid in the file stands for this incarnation. 0 or -ENOMEM. */
static int restore_incarnation(struct capture_source *s, const struct capture_incarnation *i)
{
	uint64_t key = (uint64_t)i->pid << 32 | i->number;
	const uint64_t *known = map_get(&s->incarnations, key);
	uint32_t process = known ? (uint32_t)*known : PROCESS_UNKNOWN;
	int err = known ? 0 : enter(s, i, &process);
	if (err)
		return err;
	if (process && !known) {
		uint64_t *value = map_put(&s->incarnations, key);
		if (!value)
			return -ENOMEM;
		*value = process;
		processes_ref(&s->session->processes, process);
	}
	uint64_t *current = process ? map_put(&s->current, i->pid) : map_get(&s->current, i->pid);
	if (process && !current)
		return -ENOMEM;
	if (current)
		*current = process;
	s->last_pid = i->pid;
	s->last_process = process;
	return 0;
}

/* The process that a pid in the file stands for. 0 or -ENOMEM. */
static int find_process(struct capture_source *s, uint32_t pid, uint32_t *ret)
{
	const uint64_t *current = pid != s->last_pid ? map_get(&s->current, pid) : NULL;
	struct capture_incarnation first = {.pid = pid};
	int err = 0;
	if (current) {
		s->last_pid = pid;
		s->last_process = (uint32_t)*current;
	} else if (pid != s->last_pid) {
		err = restore_incarnation(s, &first);
	}
	*ret = s->last_process;
	return err;
}

static int restore_name(struct capture_source *s, const struct capture_name *n)
{
	if (!may_keep(s, strlen(n->text) + ITEM_BYTES))
		return 0;
	uint32_t process;
	int err = find_process(s, n->pid, &process);
	if (err || (n->pid && !process))
		return err;
	return processes_set_user_name(&s->session->processes, process, n->id, n->text);
}

/* Files in which the release of the runtime is absent name it in the producer's text alone. */
static struct traits traits_of(const struct capture_process *c)
{
	enum ebt_release release = c->own_release ? c->own_release : c->release;
	if (!release)
		release = ring_release_from_producer(c->producer);
	if (!release && *c->producer)
		release = EBT_RELEASE_EBTRACE;
	return release_traits(release);
}

static int restore_process(struct capture_source *s, const struct capture_process *c)
{
	uint32_t process;
	int err = find_process(s, c->pid, &process);
	if (err || (c->pid && !process))
		return err;
	struct process *p = processes_announce(&s->session->processes, process);
	memcpy(p->producer, c->producer, sizeof(p->producer));
	memcpy(p->runtime, c->runtime, sizeof(p->runtime));
	memcpy(p->comm, c->comm, sizeof(p->comm));
	p->traits = traits_of(c);
	p->usage = (struct process_usage){
		.known = c->usage_known,
		.user_ns = c->user_ns,
		.system_ns = c->system_ns,
		.peak_rss_bytes = c->peak_rss_known ? c->peak_rss_bytes : 0,
		.has_peak_rss = c->peak_rss_known,
	};
	p->end = c->end_known ? moment_at(c->end_ns) : (struct moment){0};
	return 0;
}

/* True if the item changes names or processes that events before it refer to. */
static bool is_news(const struct capture_source *s, const struct capture_item *item)
{
	const struct processes *ps = &s->session->processes;
	uint32_t pid = item->what == CAPTURE_NAME ? item->name.pid : item->process.pid;
	if (item->what != CAPTURE_NAME && item->what != CAPTURE_PROCESS)
		return item->what == CAPTURE_RECOVERED;
	const uint64_t *current = map_get(&s->current, pid);
	uint32_t process = current ? (uint32_t)*current : processes_find(ps, pid);
	if (pid && !process)
		return true;
	if (item->what == CAPTURE_NAME) {
		const char *name = processes_user_name(ps, process, item->name.id);
		return !name || strcmp(name, item->name.text);
	}
	const struct process *p = processes_announced(ps, process);
	return !p || traits_of(&item->process).release != p->traits.release;
}

static void recover(struct capture_source *s, uint64_t events, uint64_t words)
{
	s->session->totals.lost_events -= events;
	s->session->totals.lost_words -= words;
	s->lost_events -= events;
	s->lost_words -= words;
}

/* Losses in damaged blocks are known from the totals only. */
static void settle_losses(struct capture_source *s)
{
	if (!capture_reader_fault(s->reader))
		return;
	/* Words without events were of a ring that does not count them. */
	if (s->totals.lost_words > s->lost_words && !s->totals.lost_events)
		s->session->totals.lost_uncounted++;
	recover(s,
		s->lost_events - s->totals.lost_events - capture_reader_stats(s->reader)->missing,
		s->lost_words - s->totals.lost_words);
}

static int apply(struct capture_source *s, const struct capture_item *item)
{
	switch (item->what) {
	case CAPTURE_SESSION:
		restore_session(s, &item->session);
		return 0;
	case CAPTURE_PROCESS:
		return restore_process(s, &item->process);
	case CAPTURE_NAME:
		return is_news(s, item) ? restore_name(s, &item->name) : 0;
	case CAPTURE_INCARNATION:
		return restore_incarnation(s, &item->incarnation);
	case CAPTURE_RECOVERED:
		recover(s, item->recovered.events, item->recovered.words);
		return 0;
	case CAPTURE_TOTALS:
		totals_unpack(item->totals, &s->totals);
		/* Files written before `timed` existed have 0 where the first time is not known. */
		if (!s->totals.timed)
			s->totals.timed = s->totals.first_ns != 0;
		s->has_totals = true;
		settle_losses(s);
		return 0;
	case CAPTURE_STRING:
	case CAPTURE_FRAME:
	case CAPTURE_STACK:
		return capture_stacks_apply(&s->stacks, item);
	case CAPTURE_EVENT:
		break;
	}
	return 0;
}

/* Reads more bytes if there are any now. 0, -EAGAIN or -errno. */
static int fill(struct capture_source *s)
{
	struct pollfd pfd = {.fd = s->fd, .events = POLLIN};
	if (poll(&pfd, 1, 0) == 0)
		return -EAGAIN;
	size_t room;
	void *into = capture_reader_room(s->reader, &room);
	if (!into)
		return -ENOMEM;
	ssize_t n = read(s->fd, into, room);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	capture_reader_put(s->reader, (size_t)n);
	return 0;
}

/* The next item into s->item. 1, 0 at the end, -EAGAIN or -errno. */
static int next(struct capture_source *s)
{
	if (s->held)
		return 1;
	for (;;) {
		int got = capture_reader_next(s->reader, &s->item);
		if (got != -EAGAIN)
			return got;
		int err = fill(s);
		if (err)
			return err;
	}
}

static int capture_poll(struct source *base)
{
	(void)base;
	return 0;
}

static int take_event(struct capture_source *s, struct ebt_event *ret)
{
	*ret = s->item.event;
	int err = find_process(s, s->item.event.pid, &ret->process);
	if (err)
		return err;
	s->horizon_ns = ret->ts;
	if (ret->kind == EBT_LOST) {
		s->lost_events += ret->arg[0] == EBT_LOST_UNCOUNTED ? 0 : ret->arg[0];
		s->lost_words += ret->arg[1];
	}
	if (ret->stack)
		capture_stacks_resolve(&s->stacks, ret);
	if (!(ret->flags & EBT_F_PAYLOAD))
		return 0;
	ret->flags &= (uint16_t)~EBT_F_PAYLOAD;
	return session_put_blob(s->session, ret, s->item.payload, s->item.payload_bytes);
}

static int capture_read(struct source *base, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct capture_source *s = of(base);
	size_t n = 0, blob_bytes = 0;
	(void)lane;
	while (!s->finished && n < cap && blob_bytes < BATCH_BLOB_BYTES) {
		int got = next(s);
		if (got == -EAGAIN)
			break;
		if (got <= 0) {
			s->finished = true;
			s->err = got;
			break;
		}
		int err = 0;
		if (s->item.what == CAPTURE_EVENT) {
			err = take_event(s, &ev[n++]);
			blob_bytes += s->item.payload_bytes;
			s->delivered = true;
		} else {
			/* Whoever takes our events asks for more before the last one has gone on:
			 * what changes names waits until it says that it has nothing left. */
			s->held = s->delivered && is_news(s, &s->item);
			if (s->held)
				break;
			err = apply(s, &s->item);
		}
		if (err)
			return err;
	}
	if (n)
		return (int)n;
	if (s->finished)
		return s->err;
	s->delivered = false;
	return -EAGAIN;
}

static uint64_t capture_horizon(struct source *base, uint32_t lane)
{
	(void)lane;
	return of(base)->finished ? UINT64_MAX : of(base)->horizon_ns;
}

static int capture_stop(struct source *base)
{
	of(base)->finished = true;
	return 0;
}

static void capture_free(struct source *base)
{
	struct capture_source *s = of(base);
	capture_reader_free(s->reader);
	capture_stacks_done(&s->stacks);
	map_done(&s->current);
	map_done(&s->incarnations);
	close(s->fd);
	free(s->name);
	free(s);
}

static const struct source_ops capture_ops = {
	.poll = capture_poll,
	.read = capture_read,
	.horizon = capture_horizon,
	.stop = capture_stop,
	.free = capture_free,
};

int capture_source_new(struct session *session, int fd, const struct capture_options *o,
		       struct capture_source **ret)
{
	struct capture_source *s = calloc(1, sizeof(*s));
	if (!s) {
		close(fd);
		return -ENOMEM;
	}
	s->base.ops = &capture_ops;
	s->base.lanes = 1;
	s->session = session;
	s->stacks.session = session;
	s->fd = fd;
	s->alone = o->alone;
	s->name = strdup(o->name);
	int err = s->name ? capture_reader_new(&s->reader) : -ENOMEM;
	size_t room = 0;
	void *into = err ? NULL : capture_reader_room(s->reader, &room);
	if (!into || room < o->head_bytes) {
		capture_free(&s->base);
		return err ? err : -ENOMEM;
	}
	if (o->head_bytes) {
		memcpy(into, o->head, o->head_bytes);
		capture_reader_put(s->reader, o->head_bytes);
	}
	*ret = s;
	return 0;
}

struct source *capture_source_base(struct capture_source *s)
{
	return &s->base;
}

struct capture_source *capture_source_of(struct source *base)
{
	return of(base);
}

const char *capture_source_name(const struct capture_source *s)
{
	return s->name;
}

int capture_source_error(const struct capture_source *s)
{
	return s->err;
}

const struct capture_fault *capture_source_fault(const struct capture_source *s)
{
	return capture_reader_fault(s->reader);
}

const struct capture_stats *capture_source_stats(const struct capture_source *s)
{
	return capture_reader_stats(s->reader);
}

const struct totals *capture_source_totals(const struct capture_source *s)
{
	return s->has_totals ? &s->totals : NULL;
}
