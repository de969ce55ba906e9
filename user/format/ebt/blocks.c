/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/ebt/blocks.h"

#include "base/clock.h"
#include "base/ptrarray.h"
#include "base/ptrmap.h"
#include "format/ebt/items.h"
#include "format/ebt/packer.h"
#include "format/ebt/stacks.h"
#include "session/kinds.h"
#include "stream/loss.h"
#include <errno.h>
#include <stdlib.h>

_Static_assert(CAPTURE_TOTAL_COUNT == TOTALS_KEPT, "a capture has a place for each total it keeps");

#define EBT_LEVEL	1
#define EBT_BLOCK_BYTES (256 * 1024)
/* Each block writes its stacks anew: a block is closed only when it has at least 1 byte of events
 * per STACKS_SHARE bytes of stacks. */
#define STACKS_SHARE 8
/* The stacks of all blocks may occupy STACKS_BYTES, and STACKS_PER_EVENT per byte of events. Beyond
 * that limit, stacks that are new to a block are cut. */
#define STACKS_BYTES	 (64u << 20)
#define STACKS_PER_EVENT 256

/* The name of a user event as the capture has it. */
struct known_name {
	uint64_t block;	 /* in which it was written last */
	uint32_t string; /* held */
};

/* The process that a pid refers to in the capture. */
struct meant {
	uint64_t block; /* in which it was referred to last; 0: never */
	uint32_t process;
};

/* A process as the capture has it. */
struct known_process {
	const struct process *process; /* NULL: it is not announced yet */
	struct process written;
	uint64_t block;			 /* in which it was written last; 0: never */
	PTRMAP(struct known_name) names; /* of its user events, by id */
};

struct ebt_blocks {
	const struct session *session;
	struct ebt_blocks_options opt;
	struct ebt_packer *packer;
	struct capture_writer *writer; /* of the open block; the packer's */
	struct ebt_stacks *stacks;
	uint64_t block; /* number of the open one, from 1 */
	bool is_open;	/* it holds something */
	uint64_t batch; /* within one no process changes */
	uint64_t opened_ns;
	PTRARRAY(struct known_process) processes; /* by index */
	PTRMAP(struct meant) meant;		  /* by pid */
	struct known_process *last;		  /* events of one process come in runs */
	uint32_t last_process;
	uint64_t last_block, last_batch;
	uint64_t stack_bytes, event_bytes; /* of closed blocks */
	/* The losses that a reader of the capture counts. */
	struct totals counted;
	int err;
};

/* A pid that has referred to no other process in the file needs no item. */
static int refer_incarnation(struct ebt_blocks *e, const struct process *p)
{
	bool is_new;
	struct meant *last = ptrmap_make(&e->meant, p->pid, &is_new);
	if (!last)
		return -ENOMEM;
	bool same = last->block == e->block && last->process == p->index;
	bool numbered = !p->plain || p->start.known;
	bool plain = !numbered && (!last->block || last->process == p->index);
	*last = (struct meant){e->block, p->index};
	if (same || plain)
		return 0;
	struct capture_item item = {.what = CAPTURE_INCARNATION};
	item.incarnation = (struct capture_incarnation){
		.pid = p->pid,
		.number = numbered ? p->number : 0,
		.start_known = p->start.known,
		.start_boot_ns = p->start.boot_ns,
	};
	return capture_put_item(e->writer, &item);
}

static int put_process(struct ebt_blocks *e, struct known_process *k)
{
	int err = refer_incarnation(e, k->process);
	if (err)
		return err;
	k->written = *k->process;
	k->block = e->block;
	return ebt_items_put_process(e->writer, e->session, k->process);
}

static int know_process(struct ebt_blocks *e, uint32_t process, struct known_process **ret)
{
	bool is_new;
	*ret = ptrarray_make(&e->processes, process, &is_new);
	return *ret ? 0 : -ENOMEM;
}

static bool has_changed(const struct process *a, const struct process *b)
{
	return !runtime_version_is(a->traits.runtime, b->traits.runtime) ||
	       a->usage.known != b->usage.known || a->usage.user_ns != b->usage.user_ns ||
	       a->usage.system_ns != b->usage.system_ns ||
	       a->usage.peak_rss_bytes != b->usage.peak_rss_bytes || a->end.known != b->end.known ||
	       a->end.ns != b->end.ns || a->alloc_trace.known != b->alloc_trace.known ||
	       a->page_bytes != b->page_bytes || strcmp(a->producer, b->producer) ||
	       strcmp(a->runtime, b->runtime) || strcmp(a->comm, b->comm);
}

/* Writes what no block has yet of a process, whether it has events or not. */
static int put_news_of(struct ebt_blocks *e, const struct process *p)
{
	struct known_process *k;
	int err = know_process(e, p->index, &k);
	if (err)
		return err;
	k->process = p;
	return k->block && !has_changed(p, &k->written) ? 0 : put_process(e, k);
}

/* Hands over the block that was closed last. */
static int hand_over(struct ebt_blocks *e)
{
	const void *bytes;
	ssize_t n = ebt_packer_finish(e->packer, &bytes);
	if (n < 0)
		return (int)n;
	return n ? e->opt.take(e->opt.ctx, bytes, (size_t)n) : 0;
}

static uint64_t event_bytes(const struct ebt_blocks *e)
{
	return capture_open_bytes(e->writer) - ebt_stacks_bytes(e->stacks);
}

static bool is_full(const struct ebt_blocks *e)
{
	return capture_is_full(e->writer, EBT_BLOCK_BYTES) &&
	       (capture_is_full(e->writer, SIZE_MAX) ||
		event_bytes(e) * STACKS_SHARE >= ebt_stacks_bytes(e->stacks));
}

static int close_block(struct ebt_blocks *e, enum capture_block_type type)
{
	int err = hand_over(e);
	if (err)
		return err;
	e->stack_bytes += ebt_stacks_bytes(e->stacks);
	e->event_bytes += event_bytes(e);
	ebt_packer_close(e->packer, type);
	e->writer = ebt_packer_open(e->packer);
	e->block++;
	e->is_open = false;
	ebt_stacks_closed(e->stacks, e->writer);
	return 0;
}

static int begin_block(struct ebt_blocks *e)
{
	const struct session *s = e->session;
	bool is_part = e->opt.is_part;
	e->opened_ns = now_ns();
	e->is_open = true;
	return ebt_items_put_session(e->writer, s, is_part ? e->opt.begin : s->run_begin,
				     is_part ? e->opt.end : s->run_end);
}

/* Begins other blocks where one is full; one is open behind it. */
static int put_news(struct ebt_blocks *e)
{
	const struct processes *ps = &e->session->processes;
	int err = 0;
	for (const struct process *p = NULL; !err && (p = processes_next(ps, p));) {
		err = put_news_of(e, p);
		if (!err && is_full(e))
			err = close_block(e, CAPTURE_BLOCK_EVENTS);
		if (!err && !e->is_open)
			err = begin_block(e);
	}
	return err;
}

static int open_block(struct ebt_blocks *e)
{
	bool is_first = e->block == 1;
	int err = begin_block(e);
	return err || !is_first ? err : put_news(e);
}

/* The event before was of the process, and in this block. */
static bool is_last(const struct ebt_blocks *e, uint32_t process)
{
	return e->last && e->last_process == process && e->last_block == e->block;
}

static __attribute__((noinline)) int know_last(struct ebt_blocks *e, uint32_t process)
{
	const struct processes *ps = &e->session->processes;
	if (!is_last(e, process)) {
		int err = know_process(e, process, &e->last);
		if (!err)
			err = refer_incarnation(e, processes_at(ps, process));
		if (err)
			return err;
		e->last_process = process;
		e->last_block = e->block;
	}
	e->last_batch = e->batch;
	struct known_process *k = e->last;
	if (!k->process)
		k->process = processes_announced(ps, process);
	if (!k->process)
		return 0;
	/* An exec changes the fields that are compared here. */
	bool same = runtime_version_is(k->process->traits.runtime, k->written.traits.runtime) &&
		    k->process->alloc_trace.known == k->written.alloc_trace.known &&
		    k->process->page_bytes == k->written.page_bytes &&
		    !memcmp(k->process->comm, k->written.comm, sizeof(k->written.comm));
	if (same && k->block == e->block)
		return 0;
	return put_process(e, k);
}

/* Every block has itself what its events refer to. */
static inline int refer_process(struct ebt_blocks *e, uint32_t process)
{
	return is_last(e, process) && e->last_batch == e->batch ? 0 : know_last(e, process);
}

static int refer_name(struct ebt_blocks *e, const struct ebt_event *ev)
{
	struct strings *strings = e->session->strings;
	uint32_t string = processes_user_string(&e->session->processes, ev->process, ev->id);
	if (!string)
		return 0;
	bool is_new;
	/* refer_process() has found e->last. */
	struct known_name *k = ptrmap_make(&e->last->names, ev->id, &is_new);
	if (!k)
		return -ENOMEM;
	if (k->string == string && k->block == e->block)
		return 0;
	strings_hold(strings, string);
	strings_drop(strings, k->string);
	*k = (struct known_name){e->block, string};
	return ebt_items_put_name(e->writer, processes_pid(&e->session->processes, ev->process),
				  ev->id, strings_text(strings, string));
}

/* Events of a reported hole arrived late, so fewer are lost than the losses count. */
static int settle_losses(struct ebt_blocks *e)
{
	struct totals none = e->counted;
	totals_since(&none, &e->session->totals);
	if (!none.lost_events && !none.lost_words && !none.history_events && !none.history_words)
		return 0;
	struct capture_item item = {.what = CAPTURE_RECOVERED};
	item.recovered.events = none.lost_events + none.history_events;
	item.recovered.words = none.lost_words + none.history_words;
	item.recovered.history_events = none.history_events;
	item.recovered.history_words = none.history_words;
	e->counted = e->session->totals;
	return capture_put_item(e->writer, &item);
}

static bool may_repeat_stacks(const struct ebt_blocks *e)
{
	uint64_t stacks = e->stack_bytes + ebt_stacks_bytes(e->stacks);
	uint64_t events = e->event_bytes + event_bytes(e);
	return stacks <= STACKS_BYTES + STACKS_PER_EVENT * events;
}

/* Opens a block that has the stack, whole if a block has room for that. */
static int refer_stack(struct ebt_blocks *e, uint32_t stack, uint32_t *ret_number)
{
	*ret_number = 0;
	int err = e->is_open ? 0 : open_block(e);
	if (!err && stack)
		err = ebt_stacks_refer(e->stacks, stack, !may_repeat_stacks(e), ret_number);
	/* A stack that does not fit even an empty block leaves unused parts in two blocks. */
	for (int cut = 0; cut <= 1 && err == -ENOSPC; cut++) {
		err = close_block(e, CAPTURE_BLOCK_EVENTS);
		if (!err)
			err = open_block(e);
		if (!err)
			err = ebt_stacks_refer(e->stacks, stack, cut, ret_number);
	}
	return err;
}

/* Puts the event as a capture has it: with a pid, and with the block's own number of the stack. */
static int put_numbered(struct ebt_blocks *e, const struct ebt_event *ev, uint32_t stack)
{
	struct ebt_event numbered = *ev;
	size_t bytes = 0;
	const void *payload = NULL;
	numbered.pid = processes_pid(&e->session->processes, ev->process);
	if (ev->flags & EBT_F_PAYLOAD)
		payload = session_blob(e->session, ev, &bytes);
	numbered.stack = stack;
	return capture_put_event(e->writer, &numbered, payload, payload ? bytes : 0);
}

/* An event of a batch: a loss, and what is recovered of others, comes with the first (sink.h). */
static int put_event(struct ebt_blocks *e, const struct ebt_event *ev, bool is_first)
{
	uint32_t stack;
	int err = refer_stack(e, ev->stack, &stack);
	if (!err)
		err = refer_process(e, ev->process);
	if (!err && kinds_get(ev->kind)->label == KINDS_LABEL_user)
		err = refer_name(e, ev);
	if (!err && is_first && ev->kind == EBT_LOST)
		loss_count(&e->counted, ev);
	if (!err && is_first)
		err = settle_losses(e);
	if (!err)
		err = put_numbered(e, ev, stack);
	return err || !is_full(e) ? err : close_block(e, CAPTURE_BLOCK_EVENTS);
}

int ebt_blocks_events(struct ebt_blocks *e, const struct ebt_event *ev, size_t n)
{
	e->batch++;
	for (size_t i = 0; i < n && !e->err; i++)
		e->err = put_event(e, &ev[i], !i);
	return e->err;
}

int ebt_blocks_item(struct ebt_blocks *e, const struct capture_item *item)
{
	if (!e->err && !e->is_open)
		e->err = open_block(e);
	if (!e->err)
		e->err = capture_put_item(e->writer, item);
	return e->err;
}

int ebt_blocks_close(struct ebt_blocks *e)
{
	if (!e->err && e->is_open)
		e->err = close_block(e, CAPTURE_BLOCK_EVENTS);
	return e->err;
}

int ebt_blocks_finish(struct ebt_blocks *e)
{
	if (!e->err)
		e->err = hand_over(e);
	return e->err;
}

uint64_t ebt_blocks_number(const struct ebt_blocks *e)
{
	return e->block;
}

uint64_t ebt_blocks_opened_ns(const struct ebt_blocks *e)
{
	return e->is_open ? e->opened_ns : 0;
}

/* The names of a process's mappings, all that there are, once. */
static int put_mappings(struct ebt_blocks *e, const struct process *p)
{
	int err = 0;
	uint64_t block = 0;
	for (uint32_t i = 0; !err && i < p->mappings.count; i++) {
		err = e->is_open ? 0 : open_block(e);
		if (!err && block != e->block)
			err = refer_incarnation(e, p);
		block = e->block;
		if (!err)
			err = ebt_items_put_mapping(e->writer, p->pid, &p->mappings.at[i]);
		if (!err && is_full(e))
			err = close_block(e, CAPTURE_BLOCK_EVENTS);
	}
	return err;
}

static int put_all_mappings(struct ebt_blocks *e)
{
	const struct processes *ps = &e->session->processes;
	int err = 0;
	for (const struct process *p = NULL; !err && (p = processes_next(ps, p));)
		err = put_mappings(e, p);
	return err;
}

static int put_end(struct ebt_blocks *e, const struct totals *t)
{
	int err = put_all_mappings(e);
	if (!err && e->is_open)
		err = close_block(e, CAPTURE_BLOCK_EVENTS);
	if (!err)
		err = open_block(e);
	if (!err)
		err = put_news(e);
	if (!err)
		err = settle_losses(e);
	struct capture_item item = {.what = CAPTURE_TOTALS};
	totals_pack(t, item.totals);
	if (!err)
		err = capture_put_item(e->writer, &item);
	if (!err)
		err = close_block(e, CAPTURE_BLOCK_END);
	return err ? err : hand_over(e);
}

int ebt_blocks_end(struct ebt_blocks *e, const struct totals *t)
{
	if (!e->err)
		e->err = put_end(e, t);
	return e->err;
}

static void free_known(const struct ebt_blocks *e, struct known_process *k)
{
	size_t at = 0;
	for (const struct known_name *name; k && (name = ptrmap_next(&k->names, &at));)
		strings_drop(e->session->strings, name->string);
	if (k)
		ptrmap_free(&k->names);
	free(k);
}

/* What no block has yet of a process that is in the capture or belongs there, and its end. */
static int put_gone(struct ebt_blocks *e, const struct process *p)
{
	struct capture_item item = {.what = CAPTURE_GONE, .gone = p->pid};
	if (!p->announced && !ptrarray_get(&e->processes, p->index))
		return 0;
	int err = e->is_open ? 0 : open_block(e);
	if (!err && p->announced)
		err = put_news_of(e, p);
	if (!err)
		err = put_mappings(e, p);
	if (!err && !e->is_open)
		err = open_block(e);
	if (!err)
		err = refer_incarnation(e, p);
	if (!err)
		err = capture_put_item(e->writer, &item);
	return err || !is_full(e) ? err : close_block(e, CAPTURE_BLOCK_EVENTS);
}

int ebt_blocks_forget(struct ebt_blocks *e, uint32_t process)
{
	const struct process *p = processes_at(&e->session->processes, process);
	if (!e->err)
		e->err = put_gone(e, p);
	e->last = NULL;
	free_known(e, ptrarray_remove(&e->processes, process));
	const struct meant *meant = ptrmap_get(&e->meant, p->pid);
	if (meant && meant->process == process)
		free(ptrmap_remove(&e->meant, p->pid));
	return e->err;
}

void ebt_blocks_free(struct ebt_blocks *e)
{
	if (!e)
		return;
	ebt_stacks_free(e->stacks);
	ebt_packer_free(e->packer);
	size_t at = 0;
	for (struct known_process *p; (p = ptrarray_next(&e->processes, &at));)
		free_known(e, p);
	ptrarray_done(&e->processes);
	ptrmap_free(&e->meant);
	free(e);
}

int ebt_blocks_new(const struct session *s, const struct ebt_blocks_options *o,
		   struct ebt_blocks **ret)
{
	struct ebt_blocks *e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->session = s;
	e->opt = *o;
	e->block = 1;
	e->counted = s->totals;
	int err = ebt_packer_new(EBT_LEVEL, &e->packer);
	if (!err)
		e->writer = ebt_packer_open(e->packer);
	if (!err)
		err = ebt_stacks_new(s, e->writer, &e->stacks);
	if (err) {
		ebt_blocks_free(e);
		return err;
	}
	*ret = e;
	return 0;
}
