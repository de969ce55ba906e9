/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/file/capture.h"

#include "base/array.h"
#include "base/log.h"
#include "base/ptrmap.h"
#include "codec/capture/capture.h"
#include "codec/ring/ids.h"
#include "session/session.h"
#include "session/versions.h"
#include "stream/loss.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Enters the strings, frames and stacks of a capture's block into the session, and maps their
 * numbers in the block to the session's ids. The ids of a block are held until the next block, or
 * the end, replaces them.
 */

struct capture_ids {
	uint32_t *id; /* by number - 1 */
	size_t count, cap;
};
struct capture_stacks {
	struct session *session;
	struct capture_ids strings, frames, stacks;
};

/* The id of a number that the reader has checked; 0 for number 0. */
static uint32_t id_of(const struct capture_ids *t, uint32_t number)
{
	return number && number <= t->count ? t->id[number - 1] : 0;
}

/* Gives a number to an id. The one it had is returned in *ret_old, 0 if none. 0 or -ENOMEM. */
static int set_id(struct capture_ids *t, uint32_t number, uint32_t id, uint32_t *ret_old)
{
	if (!array_reserve(t->id, t->cap, number - 1))
		return -ENOMEM;
	for (; t->count < number; t->count++)
		t->id[t->count] = 0;
	*ret_old = t->id[number - 1];
	t->id[number - 1] = id;
	return 0;
}

/* Initialised by zeroes and the session. */
static void capture_stacks_done(struct capture_stacks *s)
{
	for (size_t i = 0; i < s->stacks.count; i++)
		stacks_drop(s->session->stacks, s->stacks.id[i]);
	for (size_t i = 0; i < s->frames.count; i++)
		frames_drop(s->session->frames, s->frames.id[i]);
	for (size_t i = 0; i < s->strings.count; i++)
		strings_drop(s->session->strings, s->strings.id[i]);
	free(s->stacks.id);
	free(s->frames.id);
	free(s->strings.id);
	*s = (struct capture_stacks){.session = s->session};
}

static int apply_string(struct capture_stacks *s, const struct capture_string *c)
{
	struct strings *strings = s->session->strings;
	uint32_t id = strings_put(strings, c->text, c->bytes), old;
	int err = id ? set_id(&s->strings, c->number, id, &old) : -ENOMEM;
	strings_drop(strings, err ? id : old);
	return err;
}

static int apply_frame(struct capture_stacks *s, const struct capture_frame *c)
{
	struct frames *frames = s->session->frames;
	struct frame_position position[CAPTURE_POSITIONS_MAX];
	for (uint32_t i = 0; i < c->count; i++) {
		const struct capture_position *p = &c->position[i];
		position[i] = (struct frame_position){
			.function = id_of(&s->strings, p->function),
			.file = id_of(&s->strings, p->file),
			.line = p->has_line ? p->line : 0,
			.start_char = p->has_chars ? p->start_char : 0,
			.end_char = p->has_chars ? p->end_char : 0,
			.has_line = p->has_line,
			.has_chars = p->has_chars,
		};
	}
	struct frame f = {.address = c->has_address ? c->address : 0,
			  .has_address = c->has_address,
			  .count = c->count,
			  .position = position,
			  .module = {.path = id_of(&s->strings, c->path),
				     .build_id = id_of(&s->strings, c->build_id),
				     .offset = c->offset}};
	uint32_t id = frames_put(frames, &f), old;
	int err = id ? set_id(&s->frames, c->number, id, &old) : -ENOMEM;
	frames_drop(frames, err ? id : old);
	return err;
}

static int apply_run(struct capture_stacks *s, const struct capture_stack *c)
{
	struct stacks *stacks = s->session->stacks;
	uint32_t id = id_of(&s->stacks, c->parent), old;
	for (uint32_t i = 0; i < c->count; i++) {
		id = stacks_push(stacks, id, id_of(&s->frames, c->frame[i]));
		int err = id ? set_id(&s->stacks, c->number + i, id, &old) : -ENOMEM;
		if (err)
			return err;
		stacks_hold(stacks, id);
		stacks_drop(stacks, old);
	}
	stacks_reclaim(stacks);
	return 0;
}

/* Enters an item of one of the three kinds. 0 or -ENOMEM. */
static int capture_stacks_apply(struct capture_stacks *s, const struct capture_item *item)
{
	switch (item->what) {
	case CAPTURE_STRING:
		return apply_string(s, &item->string);
	case CAPTURE_FRAME:
		return apply_frame(s, &item->frame);
	case CAPTURE_STACK:
		return apply_run(s, &item->stack);
	default:
		return 0;
	}
}

/* Replaces the event's stack, a number of its block, by the session's id. */
static void capture_stacks_resolve(const struct capture_stacks *s, struct ebt_event *ev)
{
	uint32_t id = id_of(&s->stacks, ev->stack);
	ev->stack = 0;
	if (id)
		session_put_stack(s->session, ev, id);
}

/*
 * The processes of a capture: maps the pids and incarnations of the file to entries of the
 * session's registry. It refers to each of them from the first record that names it up to its
 * GONE item. It limits the memory of processes and their names: a compressed file of a few bytes
 * can hold any number of them, while a recorded file has events too. Released processes do not
 * count.
 */

/* An incarnation of the file, and its entry in the registry. */
struct capture_incarnate {
	uint32_t process; /* index; PROCESS_UNKNOWN: the limit was reached */
	uint32_t number;  /* in the file */
	uint32_t age;	  /* process.number of the entry */
	uint64_t kept_bytes;
	struct capture_incarnate *next_leaving;
};
struct capture_processes {
	struct session *session;
	const struct capture_stats *stats; /* of the reader */
	const char *name;		   /* of the capture, in messages */
	bool keeps;			   /* processes are not released */

	/* private */
	PTRMAP(struct capture_incarnate) incarnations; /* by pid << 32 | number; owned */
	PTRMAP(struct capture_incarnate) current;      /* by pid: the one that is meant now */
	struct capture_incarnate unknown;
	uint32_t last_pid; /* events of one process come in runs */
	struct capture_incarnate *last;
	/* Nothing of them follows; they count until the registry has released them. Owned. */
	struct capture_incarnate *first_leaving, *last_leaving;
	uint64_t kept_bytes;
	bool reported_many;
};

/* The limit: for each byte of the file, and beside that. */
#define KEPT_RATE  16
#define KEPT_LEAST (4u << 20)
#define ITEM_BYTES 96 /* about the size of an entry in the session's tables */

/* Initialised by zeroes and the first four fields, which must outlive it. */
static void capture_processes_done(struct capture_processes *c)
{
	for (struct capture_incarnate *in = c->first_leaving, *next; in; in = next) {
		next = in->next_leaving;
		free(in);
	}
	ptrmap_free(&c->incarnations);
	ptrmap_done(&c->current);
}

/* The entries that the registry has released since count no more. */
static void settle_leaving(struct capture_processes *c)
{
	const struct processes *ps = &c->session->processes;
	struct capture_incarnate *in;
	while ((in = c->first_leaving)) {
		const struct process *p = processes_at(ps, in->process);
		if (p && p->number == in->age)
			return;
		c->kept_bytes -= in->kept_bytes;
		c->first_leaving = in->next_leaving;
		free(in);
	}
}

static bool may_keep(struct capture_processes *c, uint64_t bytes, uint64_t *counted)
{
	uint64_t limit = KEPT_LEAST + KEPT_RATE * c->stats->file_bytes;
	bytes += ITEM_BYTES;
	settle_leaving(c);
	bool may = c->kept_bytes + bytes <= limit;
	c->kept_bytes += may ? bytes : 0;
	*counted += may ? bytes : 0;
	if (!may && !c->reported_many)
		messages_at(
			&c->session->messages, LOG_NORMAL,
			"capture '%s' has more names and processes than a file of its size can be "
			"about: those that follow are left out",
			c->name);
	c->reported_many |= !may;
	return may;
}

/* True if the session may keep this many more bytes, a name of the process found last. */
static bool capture_processes_may_keep(struct capture_processes *c, uint64_t bytes)
{
	struct capture_incarnate *in = c->last ? c->last : &c->unknown;
	return may_keep(c, bytes, &in->kept_bytes);
}

static int enter_process(struct capture_processes *c, const struct capture_incarnation *i,
			 uint32_t *ret)
{
	struct processes *ps = &c->session->processes;
	struct process_start start = {i->start_boot_ns, i->start_known};
	if (!i->number)
		return processes_of(ps, i->pid, ret);
	if (ptrmap_get(&c->current, i->pid)) /* the incarnation before has ended */
		processes_end(ps, processes_find(ps, i->pid));
	return processes_begin(ps, i->pid, &start, ret);
}

/* NULL in *ret: beyond the limit. 0 or -ENOMEM. */
static int enter(struct capture_processes *c, const struct capture_incarnation *i, uint64_t key,
		 struct capture_incarnate **ret)
{
	struct processes *ps = &c->session->processes;
	uint64_t bytes = 0;
	bool is_new;
	*ret = NULL;
	if (!i->pid || !may_keep(c, sizeof(struct process), &bytes))
		return 0;
	uint32_t process;
	int err = enter_process(c, i, &process);
	struct capture_incarnate *in = err ? NULL : ptrmap_make(&c->incarnations, key, &is_new);
	if (!in)
		return -ENOMEM;
	*in = (struct capture_incarnate){.process = process,
					 .number = i->number,
					 .age = processes_at(ps, process)->number,
					 .kept_bytes = bytes};
	processes_ref(ps, process);
	*ret = in;
	return 0;
}

/* From now on the pid in the file means this incarnation. 0 or -ENOMEM. */
static int capture_processes_mean(struct capture_processes *c, const struct capture_incarnation *i)
{
	uint64_t key = (uint64_t)i->pid << 32 | i->number;
	struct capture_incarnate *in = ptrmap_get(&c->incarnations, key);
	int err = in ? 0 : enter(c, i, key, &in);
	/* Beyond the limit the pid means no process. */
	if (!err && (in || ptrmap_get(&c->current, i->pid)))
		err = ptrmap_set(&c->current, i->pid, in ? in : &c->unknown);
	c->last_pid = i->pid;
	c->last = in;
	return err;
}

/* Makes another pid the last one. 0 or -ENOMEM. */
static __attribute__((noinline)) int capture_processes_turn(struct capture_processes *c,
							    uint32_t pid)
{
	c->last_pid = pid;
	c->last = ptrmap_get(&c->current, pid);
	return c->last ? 0 : capture_processes_mean(c, &(struct capture_incarnation){.pid = pid});
}

/* The process that a pid in the file means now, entered if there is none; PROCESS_UNKNOWN also if
 * the limit is reached. 0 or -ENOMEM. */
static inline int capture_processes_find(struct capture_processes *c, uint32_t pid, uint32_t *ret)
{
	int err = pid != c->last_pid ? capture_processes_turn(c, pid) : 0;
	*ret = c->last ? c->last->process : PROCESS_UNKNOWN;
	return err;
}

/* The process that a pid in the file means now, without entering one; PROCESS_UNKNOWN: none. */
static uint32_t capture_processes_known(const struct capture_processes *c, uint32_t pid)
{
	const struct capture_incarnate *in = ptrmap_get(&c->current, pid);
	return in ? in->process : processes_find(&c->session->processes, pid);
}

/* True if capture_processes_gone() will release anything. */
static bool capture_processes_may_go(const struct capture_processes *c, uint32_t pid)
{
	const struct capture_incarnate *in = ptrmap_get(&c->current, pid);
	return !c->keeps && in && in->process;
}

/* No event or item follows of the process that the pid means now; its events have been merged. */
static void capture_processes_gone(struct capture_processes *c, uint32_t pid)
{
	if (!capture_processes_may_go(c, pid))
		return;
	struct processes *ps = &c->session->processes;
	struct capture_incarnate *in = ptrmap_remove(&c->current, pid);
	ptrmap_remove(&c->incarnations, (uint64_t)pid << 32 | in->number);
	c->last_pid = 0;
	c->last = NULL;
	in->next_leaving = NULL;
	*(c->first_leaving ? &c->last_leaving->next_leaving : &c->first_leaving) = in;
	c->last_leaving = in;
	processes_end(ps, in->process);
	processes_unref(ps, in->process);
}

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
	uint32_t release = c->own_release ? c->own_release : c->release;
	struct runtime_version version = versions_by_release(release);
	if (!release)
		version = versions_parse_producer(c->producer);
	if (!release && !version.language && *c->producer)
		version = versions_by_release(EBT_RELEASE_EBTRACE);
	return versions_traits(version);
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
	return !p || !runtime_version_is(traits_of(&item->process).runtime, p->traits.runtime);
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
			/* The next read may come before all returned events are emitted. An item
			 * that changes names is applied only behind a read that returned no event:
			 * the lane is read again when all its events are merged. */
			s->held = s->delivered && is_news(s, &s->item);
			if (s->held)
				break;
			err = apply(s, &s->item);
			items++;
		}
		if (err) {
			s->finished = true;
			s->err = err;
			return err;
		}
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
