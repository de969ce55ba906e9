/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/ebt/trigger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/capture/capture.h"
#include "format/ebt/blocks.h"
#include "format/ebt/capture_ring.h"

#define BLOCKS_BEFORE  8
#define BLOCK_NS_MIN   10000000u
#define BLOCK_NS_MAX   1000000000u
#define TRIGGER_BUFFER (64u << 10)
#define OVERDUE_NS     20000000u /* how often open spans are looked through */

struct trigger {
	struct sink base;
	const struct session *session;
	struct trigger_options opt;
	struct span_watch *watch;
	struct ebt_blocks *blocks; /* of the whole stream */
	struct capture_ring ring;
	struct totals before; /* those of the session before the event that comes */
	uint64_t block_ns, first_ns, last_ns;
	uint64_t looked_ns; /* when open spans were looked through last */
	uint64_t block;	    /* the number of the block that the ring's last entry is for */
	/* The capture that is written. */
	bool is_writing;
	struct trigger_capture capture;
	uint64_t until_ns, written; /* written: events in its blocks */
	struct totals begin;
	struct buf out;
	int err;
};

static int write_block(void *ctx, const void *block, size_t bytes)
{
	struct trigger *t = ctx;
	uint8_t head[CAPTURE_BLOCK_BYTES];
	memcpy(head, block, sizeof(head));
	t->written += capture_block_move(head, t->written);
	buf_put(&t->out, head, sizeof(head));
	buf_put(&t->out, (const uint8_t *)block + sizeof(head), bytes - sizeof(head));
	return buf_flush(&t->out);
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Drops what no span that is open, or will begin, needs. */
static void trim(struct trigger *t)
{
	uint64_t oldest_ns = span_watch_oldest_ns(t->watch);
	uint64_t needed_ns = oldest_ns < t->last_ns ? oldest_ns : t->last_ns;
	capture_ring_trim(&t->ring, minus(needed_ns, t->opt.before_ns));
}

/* The entry of the next block, which gets something that happened at ts. */
static int begin_entry(struct trigger *t, uint64_t ts)
{
	struct ebt_event *open;
	uint32_t opens;
	int err = span_watch_open(t->watch, &open, &opens);
	if (!err)
		err = capture_ring_begin(&t->ring, ts, &t->before, open, opens);
	t->first_ns = ts;
	t->block++;
	return err;
}

static int take_block(void *ctx, const void *block, size_t bytes)
{
	struct trigger *t = ctx;
	/* One event may close several. */
	int err = t->ring.filled < t->ring.count ? 0 : begin_entry(t, t->first_ns);
	if (!err)
		err = capture_ring_fill(&t->ring, block, bytes);
	/* The limit is kept at each block. Which are too old, trim() finds: here a span may just
	 * have ended that needs them. */
	capture_ring_trim(&t->ring, 0);
	return !err && t->is_writing ? write_block(t, block, bytes) : err;
}

/* The open block will get something that happened at ts. */
static int open_block(struct trigger *t, uint64_t ts)
{
	int err = 0;
	if (t->block == ebt_blocks_number(t->blocks) && minus(ts, t->first_ns) > t->block_ns)
		err = ebt_blocks_close(t->blocks);
	if (err || t->block == ebt_blocks_number(t->blocks))
		return err;
	/* However the one before was closed: it was old, or full. */
	trim(t);
	return begin_entry(t, ts);
}

/* What happened at ts may have closed several blocks, and be in the open one. */
static int follow_blocks(struct trigger *t, uint64_t ts)
{
	bool is_open = ebt_blocks_opened_ns(t->blocks) != 0;
	int err = 0;
	while (!err && t->block + !is_open < ebt_blocks_number(t->blocks))
		err = begin_entry(t, ts);
	return err;
}

/* Blocks that the capture alone has. */
static int make_blocks(struct trigger *t, const struct moment *end, struct ebt_blocks **ret)
{
	struct ebt_blocks_options o = {
		.take = write_block,
		.ctx = t,
		.is_part = true,
		.begin = moment_at(t->capture.kept_ns),
		.end = end ? *end : (struct moment){0},
	};
	return ebt_blocks_new(t->session, &o, ret);
}

static int put_trigger(struct trigger *t, struct ebt_blocks *b)
{
	const struct trigger_capture *c = &t->capture;
	struct capture_item item = {.what = CAPTURE_TRIGGER};
	item.trigger = (struct capture_trigger){
		.pid = processes_pid(&t->session->processes, c->hit.process),
		.domain = c->hit.domain,
		.begin_ns = c->hit.begin_ns,
		.end_ns = c->hit.end_ns,
		.ns = c->hit.ns,
		.from_ns = c->is_cut || c->from_ns > c->kept_ns ? c->from_ns : c->kept_ns,
		.kept_ns = c->kept_ns,
	};
	snprintf(item.trigger.span, sizeof(item.trigger.span), "%s", c->hit.span);
	snprintf(item.trigger.condition, sizeof(item.trigger.condition), "%s", c->hit.rule->text);
	return ebt_blocks_item(b, &item);
}

/* The first block: why there is this capture, and the spans that were open when it begins. */
static int write_begin(struct trigger *t, const struct capture_ring_block *first)
{
	struct ebt_blocks *b;
	uint8_t head[CAPTURE_HEAD_BYTES];
	capture_put_head(head);
	buf_put(&t->out, head, sizeof(head));
	int err = make_blocks(t, NULL, &b);
	if (err)
		return err;
	err = put_trigger(t, b);
	if (!err && first->opens)
		err = ebt_blocks_events(b, first->open, first->opens);
	if (!err)
		err = ebt_blocks_close(b);
	if (!err)
		err = ebt_blocks_finish(b);
	ebt_blocks_free(b);
	return err;
}

/* The oldest block that the capture needs. */
static uint32_t first_needed(const struct trigger *t, uint64_t from_ns)
{
	const struct capture_ring *r = &t->ring;
	uint32_t i = 0;
	while (i + 1 < r->count && r->at[r->first + i + 1].first_ns < from_ns)
		i++;
	return i;
}

static int write_kept(struct trigger *t, uint32_t i)
{
	const struct capture_ring *r = &t->ring;
	int err = write_begin(t, &r->at[r->first + i]);
	for (; !err && i < r->filled; i++)
		err = write_block(t, r->at[r->first + i].block, r->at[r->first + i].bytes);
	return err;
}

static int begin_capture(struct trigger *t, const struct span_hit *hit)
{
	int fd, err = ebt_blocks_finish(t->blocks);
	if (err)
		return err;
	uint64_t from_ns = minus(hit->begin_ns, t->opt.before_ns);
	uint32_t i = first_needed(t, from_ns);
	const struct capture_ring_block *first = &t->ring.at[t->ring.first + i];
	t->capture = (struct trigger_capture){
		.number = t->capture.number + 1,
		.hit = *hit,
		.from_ns = from_ns,
		.kept_ns = first->first_ns,
		/* What the stream has not before its first event is not cut. */
		.is_cut = first->first_ns > from_ns && first->before.timed,
	};
	t->begin = first->before;
	t->written = 0;
	err = t->opt.open(t->opt.ctx, &t->capture, &fd);
	if (err)
		return err;
	err = buf_init_behind(&t->out, fd, TRIGGER_BUFFER, SINK_BEHIND_BYTES);
	if (err)
		return t->opt.close(t->opt.ctx, &t->capture, err);
	t->is_writing = true;
	return write_kept(t, i);
}

static int write_end(struct trigger *t)
{
	struct ebt_blocks *b;
	struct moment end = moment_at(t->last_ns < t->until_ns ? t->last_ns : t->until_ns);
	int err = ebt_blocks_close(t->blocks);
	if (!err)
		err = ebt_blocks_finish(t->blocks);
	if (!err)
		err = make_blocks(t, &end, &b);
	if (err)
		return err;
	struct totals totals = t->before;
	totals_since(&totals, &t->begin);
	totals.first_ns = t->capture.kept_ns;
	totals.events = t->capture.events = t->written;
	err = ebt_blocks_end(b, &totals);
	ebt_blocks_free(b);
	return err;
}

static int end_capture(struct trigger *t)
{
	int err = write_end(t);
	int written = buf_finish(&t->out);
	buf_done(&t->out);
	t->is_writing = false;
	err = t->opt.close(t->opt.ctx, &t->capture, err ? err : written);
	return !err && t->capture.number == t->opt.max ? -EPIPE : err;
}

static int found(struct trigger *t, const struct span_hit *hit)
{
	bool was_writing = t->is_writing;
	t->base.wants_open = true;
	int err = t->is_writing ? 0 : begin_capture(t, hit);
	uint64_t until_ns = hit->end_ns + t->opt.after_ns;
	t->until_ns = until_ns < hit->end_ns ? UINT64_MAX : until_ns;
	bool is_same = was_writing && hit->was_found;
	t->capture.hits += !is_same;
	/* Its length is known now. */
	if (is_same && t->capture.hit.is_open && t->capture.hit.begin_ns == hit->begin_ns)
		t->capture.hit = *hit;
	return err;
}

static int push(struct trigger *t, const struct ebt_event *ev)
{
	struct span_hit hit;
	int err = t->is_writing && ev->ts > t->until_ns ? end_capture(t) : 0;
	if (!err)
		err = open_block(t, ev->ts);
	if (!err)
		err = ebt_blocks_events(t->blocks, ev, 1);
	if (!err)
		err = follow_blocks(t, ev->ts);
	if (err)
		return err;
	t->last_ns = ev->ts > t->last_ns ? ev->ts : t->last_ns;
	t->before = t->session->totals;
	int is_hit = span_watch_push(t->watch, ev, &hit);
	return is_hit > 0 ? found(t, &hit) : is_hit;
}

static int trigger_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct trigger *t = (struct trigger *)k;
	for (size_t i = 0; i < n && !t->err; i++)
		t->err = push(t, &ev[i]);
	return t->err;
}

static int find_overdue(struct trigger *t, uint64_t now_ns)
{
	struct span_hit hit;
	int err = 0;
	t->looked_ns = now_ns;
	while (!err && span_watch_overdue(t->watch, now_ns, t->opt.after_ns, &hit)) {
		/* The capture begins with a block of the ring. */
		err = open_block(t, t->last_ns);
		if (!err)
			err = found(t, &hit);
	}
	return err;
}

static int trigger_advance(struct sink *k, uint64_t horizon_ns)
{
	struct trigger *t = (struct trigger *)k;
	if (!t->err && t->is_writing && horizon_ns > t->until_ns)
		t->err = end_capture(t);
	if (!t->err && horizon_ns != UINT64_MAX && horizon_ns >= t->looked_ns + OVERDUE_NS)
		t->err = find_overdue(t, horizon_ns);
	return t->err;
}

static int trigger_forget(struct sink *k, uint32_t process)
{
	struct trigger *t = (struct trigger *)k;
	if (!t->err)
		t->err = open_block(t, t->last_ns);
	if (!t->err)
		t->err = ebt_blocks_forget(t->blocks, process);
	if (!t->err)
		t->err = follow_blocks(t, t->last_ns);
	int err = span_watch_forget(t->watch, process);
	return t->err ? t->err : err;
}

/* No reader waits for the blocks in memory; the written ones are flushed by write_block(). */
static int trigger_flush(struct sink *k)
{
	return ((struct trigger *)k)->err;
}

static bool trigger_ready(struct sink *k)
{
	const struct trigger *t = (struct trigger *)k;
	return !t->is_writing || buf_ready(&t->out);
}

static int trigger_end(struct sink *k)
{
	struct trigger *t = (struct trigger *)k;
	if (t->is_writing) {
		int err = end_capture(t);
		t->err = t->err ? t->err : err;
	}
	return t->err == -EPIPE ? 0 : t->err;
}

static void trigger_free(struct sink *k)
{
	struct trigger *t = (struct trigger *)k;
	if (t->is_writing)
		buf_done(&t->out);
	ebt_blocks_free(t->blocks);
	span_watch_free(t->watch);
	capture_ring_done(&t->ring);
	free(t);
}

static const struct sink_ops trigger_ops = {
	.events = trigger_events,
	.advance = trigger_advance,
	.forget = trigger_forget,
	.flush = trigger_flush,
	.ready = trigger_ready,
	.end = trigger_end,
	.free = trigger_free,
};

int trigger_new(const struct session *s, const struct trigger_options *o, struct sink **ret)
{
	struct trigger *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->session = s;
	t->opt = *o;
	/* One event at a time, so that each block knows the totals before it. */
	t->base = (struct sink){.ops = &trigger_ops, .batch_max = 1};
	t->ring.limit = o->memory;
	uint64_t block_ns = o->before_ns / BLOCKS_BEFORE;
	t->block_ns = block_ns < BLOCK_NS_MIN	? BLOCK_NS_MIN
		      : block_ns > BLOCK_NS_MAX ? BLOCK_NS_MAX
						: block_ns;
	struct ebt_blocks_options bo = {.take = take_block, .ctx = t, .is_part = true};
	int err = span_watch_new(s, o->rule, o->rules, &t->watch);
	if (!err)
		err = ebt_blocks_new(s, &bo, &t->blocks);
	if (err) {
		trigger_free(&t->base);
		return err;
	}
	*ret = &t->base;
	return 0;
}

unsigned trigger_count(const struct sink *k)
{
	return ((const struct trigger *)k)->capture.number;
}
