/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/file/capture.h"

#include "base/log.h"
#include "codec/ring/ids.h"
#include "session/release.h"
#include "source/file/capture_processes.h"
#include "source/file/capture_stacks.h"
#include "stream/loss.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Blobs that one read() may leave in the session. */
#define BATCH_BLOB_BYTES (8u << 20)
/* Items other than events that one read() takes in. */
#define BATCH_ITEMS 65536

struct capture_source {
	struct source base;
	struct session *session;
	char *name;
	int fd;
	bool alone;
	struct capture_reader *reader;
	struct capture_item item;
	struct capture_stacks stacks; /* of the block that is read */
	struct capture_processes processes;
	bool held;	/* item waits until the events before it have been consumed */
	bool delivered; /* events that may not have been consumed yet */
	bool finished;
	uint64_t horizon_ns;
	int err;
	struct totals counted; /* losses by our events, without recovered ones */
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
	/* Of a part of a run only its first and last blocks know them. */
	if (c->known & CAPTURE_KNOWS_RUN_BEGIN)
		session->run_begin = moment_at(c->run_begin_ns);
	if (c->known & CAPTURE_KNOWS_RUN_END)
		session->run_end = moment_at(c->run_end_ns);
	session->timebase.clock = timebase_parse(c->clock);
	at[TIMEBASE_MONOTONIC] = moment_of(c, CAPTURE_KNOWS_MONOTONIC, c->monotonic_ns);
	at[TIMEBASE_REALTIME] = moment_of(c, CAPTURE_KNOWS_REALTIME, c->realtime_ns);
	at[TIMEBASE_BOOTTIME] = moment_of(c, CAPTURE_KNOWS_BOOTTIME, c->boottime_ns);
}

static int restore_name(struct capture_source *s, const struct capture_name *n)
{
	uint32_t process;
	int err = capture_processes_find(&s->processes, n->pid, &process);
	if (err || (n->pid && !process))
		return err;
	if (!capture_processes_may_keep(&s->processes, strlen(n->text)))
		return 0;
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
	int err = capture_processes_find(&s->processes, c->pid, &process);
	if (err || (c->pid && !process))
		return err;
	struct process *p = processes_announce(&s->session->processes, process);
	memcpy(p->producer, c->producer, sizeof(p->producer));
	memcpy(p->runtime, c->runtime, sizeof(p->runtime));
	memcpy(p->comm, c->comm, sizeof(p->comm));
	p->traits = traits_of(c);
	p->page_bytes = c->page_bytes;
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

static int restore_alloc_trace(struct capture_source *s, const struct capture_alloc_trace *c)
{
	uint32_t process, text[CAPTURE_ALLOC_TEXTS];
	size_t bytes = 0;
	int err = capture_processes_find(&s->processes, c->pid, &process);
	if (err || (c->pid && !process))
		return err;
	struct process *p = processes_at(&s->session->processes, process);
	for (unsigned i = 0; i < CAPTURE_ALLOC_TEXTS; i++)
		bytes += c->text[i].bytes;
	/* Every block repeats it. */
	if (p->alloc_trace.known || !capture_processes_may_keep(&s->processes, bytes))
		return 0;
	for (unsigned i = 0; i < CAPTURE_ALLOC_TEXTS; i++)
		text[i] = strings_put(s->session->strings, c->text[i].text, c->text[i].bytes);
	p->alloc_trace = (struct alloc_trace){
		.known = true,
		.sample_rate = c->sample_rate,
		.word_bits = c->word_bits,
		.domain = c->domain,
		.executable = text[CAPTURE_EXECUTABLE],
		.host = text[CAPTURE_HOST],
		.parameters = text[CAPTURE_PARAMETERS],
		.context = text[CAPTURE_CONTEXT],
	};
	return 0;
}

static int restore_mapping(struct capture_source *s, const struct capture_mapping *m)
{
	uint32_t process;
	int err = capture_processes_find(&s->processes, m->pid, &process);
	if (err || (m->pid && !process) || m->bytes > UINT64_MAX - m->addr)
		return err;
	struct process *p = processes_at(&s->session->processes, process);
	/* They have a limit of their own. */
	if (p->mappings.count >= MAPPINGS_MAX ||
	    !capture_processes_may_keep(&s->processes, sizeof(struct mapping)))
		return 0;
	return mappings_add(&p->mappings, m->addr, m->addr + m->bytes, m->name);
}

/* True if the item changes names or processes that events before it refer to. */
static bool is_news(const struct capture_source *s, const struct capture_item *item)
{
	const struct processes *ps = &s->session->processes;
	if (item->what == CAPTURE_GONE)
		return capture_processes_may_go(&s->processes, item->gone);
	uint32_t pid = item->what == CAPTURE_NAME ? item->name.pid : item->process.pid;
	if (item->what != CAPTURE_NAME && item->what != CAPTURE_PROCESS)
		return item->what == CAPTURE_RECOVERED;
	uint32_t process = capture_processes_known(&s->processes, pid);
	if (pid && !process)
		return true;
	if (item->what == CAPTURE_NAME) {
		const char *name = processes_user_name(ps, process, item->name.id);
		return !name || strcmp(name, item->name.text);
	}
	const struct process *p = processes_announced(ps, process);
	return !p || traits_of(&item->process).release != p->traits.release;
}

/* Takes off losses that turned out to be none. */
static void recover(struct capture_source *s, const struct totals *none)
{
	struct totals *both[] = {&s->session->totals, &s->counted};
	for (unsigned i = 0; i < 2; i++) {
		both[i]->lost_events -= none->lost_events;
		both[i]->lost_words -= none->lost_words;
		both[i]->history_events -= none->history_events;
		both[i]->history_words -= none->history_words;
	}
}

/* How many of those recovered are of the history: files written before that was known count as lost
 * first. */
static uint64_t of_history(uint64_t recovered, uint64_t history, uint64_t lost)
{
	uint64_t rest = recovered - history;
	return rest > lost ? history + (rest - lost) : history;
}

static void recover_item(struct capture_source *s, const struct capture_item *item)
{
	uint64_t events = item->recovered.events, words = item->recovered.words;
	struct totals none = {
		.history_events =
			of_history(events, item->recovered.history_events, s->counted.lost_events),
		.history_words =
			of_history(words, item->recovered.history_words, s->counted.lost_words),
	};
	none.lost_events = events - none.history_events;
	none.lost_words = words - none.history_words;
	recover(s, &none);
}

/* Losses in damaged blocks are known from the totals only. */
static void settle_losses(struct capture_source *s)
{
	if (!capture_reader_fault(s->reader))
		return;
	/* Words without events were of a ring that does not count them. */
	if (s->totals.lost_words > s->counted.lost_words && !s->totals.lost_events)
		s->session->totals.lost_uncounted++;
	if (s->totals.history_words > s->counted.history_words && !s->totals.history_events)
		s->session->totals.history_uncounted++;
	struct totals none = s->counted;
	totals_since(&none, &s->totals);
	none.lost_events -= capture_reader_stats(s->reader)->missing;
	recover(s, &none);
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
		return capture_processes_mean(&s->processes, &item->incarnation);
	case CAPTURE_GONE:
		capture_processes_gone(&s->processes, item->gone);
		return 0;
	case CAPTURE_RECOVERED:
		recover_item(s, item);
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
	case CAPTURE_ALLOC_TRACE:
		return restore_alloc_trace(s, &item->alloc_trace);
	case CAPTURE_MAPPING:
		return restore_mapping(s, &item->mapping);
	case CAPTURE_TRIGGER: /* counted by the reader */
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

static int read_event(struct capture_source *s, struct ebt_event *ret)
{
	*ret = s->item.event;
	int err = capture_processes_find(&s->processes, s->item.event.pid, &ret->process);
	if (err)
		return err;
	s->horizon_ns = ret->ts;
	if (ret->kind == EBT_LOST)
		loss_count(&s->counted, ret);
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
	size_t n = 0, blob_bytes = 0, items = 0;
	(void)lane;
	while (!s->finished && n < cap && blob_bytes < BATCH_BLOB_BYTES && items < BATCH_ITEMS) {
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
			err = read_event(s, &ev[n++]);
			blob_bytes += s->item.payload_bytes;
			s->delivered = true;
		} else {
			/* Whoever takes our events asks for more before the last one has gone on:
			 * what changes names waits until it says that it has nothing left. */
			s->held = s->delivered && is_news(s, &s->item);
			if (s->held)
				break;
			err = apply(s, &s->item);
			items++;
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
	capture_processes_done(&s->processes);
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
	s->processes =
		(struct capture_processes){.session = session, .name = s->name, .keeps = o->keeps};
	if (!err)
		s->processes.stats = capture_reader_stats(s->reader);
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
