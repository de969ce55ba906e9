/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/pagetrace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/plural.h"
#include "base/ptrmap.h"
#include "report/pages/model/event.h"
#include "report/pages/model/pages.h"
#include "report/pages/model/round.h"

#define WRITERS_MAX 512 /* each has a block, 32 KiB */

struct pagetrace {
	struct sink base;
	struct session *session;
	struct buf buf;
	PTRMAP(struct ebt_pagetrace_writer) writers; /* by P + 1 */
	bool has_process, forgotten, reported_others;
	uint32_t process, page_bytes;
	bool is_space, has_begun; /* behind the snapshot */
	struct pages_round round;
	uint64_t shift_ns; /* from the session's clock to CLOCK_MONOTONIC */
	uint64_t beyond;   /* events that the format cannot hold */
	int err;
};

static int write_block(void *ctx, const void *block, size_t bytes)
{
	struct pagetrace *t = ctx;
	buf_put(&t->buf, block, bytes);
	return t->buf.err;
}

/* Ends the block of some P, so that its memory is another's. P -1 is to be the last. */
static int put_one_away(struct pagetrace *t)
{
	struct ebt_pagetrace_writer *w;
	size_t at = 0;
	do
		w = ptrmap_next(&t->writers, &at);
	while (w && w->p == EBT_PAGETRACE_NO_P);
	int err = w ? ebt_pagetrace_write_flush(w) : 0;
	if (w)
		free(ptrmap_remove(&t->writers, (uint64_t)(w->p + 1)));
	return err;
}

static int writer_of(struct pagetrace *t, int32_t p, struct ebt_pagetrace_writer **ret)
{
	bool is_new;
	*ret = ptrmap_get(&t->writers, (uint64_t)(p + 1));
	if (*ret)
		return 0;
	int err = t->writers.words.count >= WRITERS_MAX ? put_one_away(t) : 0;
	if (err)
		return err;
	*ret = ptrmap_make(&t->writers, (uint64_t)(p + 1), &is_new);
	if (!*ret)
		return -ENOMEM;
	ebt_pagetrace_writer_init(*ret, p, write_block, t);
	return 0;
}

static int put(void *ctx, const struct ebt_pagetrace_event *e)
{
	struct pagetrace *t = ctx;
	struct ebt_pagetrace_writer *w;
	int err = writer_of(t, e->p, &w);
	if (!err)
		err = ebt_pagetrace_write(w, (enum ebt_pagetrace_what)e->what, e->addr, e->pages,
					  e->time_ns + t->shift_ns);
	t->beyond += err == -EINVAL;
	return err == -EINVAL ? 0 : err;
}

/* An event of an address space with pages of 8 KiB or more. Pages that are scavenged were resident:
 * a free comes before. */
static int put_space(struct pagetrace *t, const struct ebt_pagetrace_event *e)
{
	struct ebt_pagetrace_event freed = *e;
	freed.what = EBT_PAGETRACE_FREE;
	int err = e->what == EBT_PAGETRACE_SCAVENGE ? put(t, &freed) : 0;
	return err ? err : put(t, e);
}

/* The event's pages as those of the format. */
static int put_scaled(struct pagetrace *t, struct ebt_pagetrace_event *e)
{
	uint64_t ratio = t->page_bytes / EBT_PAGETRACE_PAGE_BYTES;
	if (!ratio)
		return pages_round_event(&t->round, e, put, t);
	e->pages = e->pages > UINT64_MAX / ratio ? UINT64_MAX : e->pages * ratio;
	return t->is_space ? put_space(t, e) : put(t, e);
}

static void choose(struct pagetrace *t, const struct ebt_event *ev)
{
	const struct timebase monotonic = {.clock = TIMEBASE_MONOTONIC};
	const struct process *p = processes_at(&t->session->processes, ev->process);
	timebase_shift(&t->session->timebase, &monotonic, &t->shift_ns);
	t->has_process = true;
	t->process = ev->process;
	t->page_bytes = pages_page_bytes(p ? p->page_bytes : 0, EBT_PAGETRACE_PAGE_BYTES);
	t->is_space = pages_event_of_space(ev, t->page_bytes);
}

static bool is_own(struct pagetrace *t, const struct ebt_event *ev)
{
	if (!t->has_process)
		choose(t, ev);
	if (!t->forgotten && ev->process == t->process)
		return true;
	if (!t->reported_others)
		messages_at(&t->session->messages, LOG_NORMAL,
			    "a page trace holds one process: the pages of others are left out");
	t->reported_others = true;
	return false;
}

/* Ps are merged by time in 128 ns, where one would overtake another: an address space has but
 * one. */
static int32_t p_of_space(struct pagetrace *t, const struct ebt_event *ev)
{
	t->has_begun |= ev->kind != EBT_PAGE_ALLOC ||
			(ev->id != EBT_PAGE_SNAPSHOT && ev->id != EBT_PAGE_FORK);
	return t->has_begun ? 0 : EBT_PAGETRACE_NO_P;
}

static int pagetrace_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct pagetrace *t = (struct pagetrace *)k;
	struct ebt_pagetrace_event e;
	for (size_t i = 0; i < n && !t->err; i++) {
		if (kinds_family(ev[i].kind) != KINDS_pages || !is_own(t, &ev[i]) ||
		    !pages_event_of(&ev[i], t->is_space, &e))
			continue;
		if (t->is_space)
			e.p = p_of_space(t, &ev[i]);
		t->err = put_scaled(t, &e);
	}
	return t->err;
}

/* The index may be assigned to another process from now on. */
static int pagetrace_forget(struct sink *k, uint32_t process)
{
	struct pagetrace *t = (struct pagetrace *)k;
	t->forgotten |= t->has_process && t->process == process;
	return 0;
}

static int pagetrace_flush(struct sink *k)
{
	return buf_flush(&((struct pagetrace *)k)->buf);
}

static void report(const struct pagetrace *t)
{
	const struct pages_round *r = &t->round;
	if (r->events)
		messages_at(&t->session->messages, LOG_NORMAL,
			    "pages of 4 KiB were rounded to the page trace's 8 KiB: of %" PRIu64
			    " event%s, %" PRIu64 " %s widened, %" PRIu64 " changed no page",
			    r->events, plural(r->events), r->widened,
			    plural_of(r->widened, "was", "were"), r->without);
	if (t->is_space)
		messages_at(&t->session->messages, LOG_NORMAL,
			    "a page trace has no threads: all is of P 0, but for what was "
			    "there first, which is of P -1");
	if (t->beyond + r->beyond)
		messages_at(&t->session->messages, LOG_NORMAL,
			    "the page trace cannot hold %" PRIu64 " of the events",
			    t->beyond + r->beyond);
}

/* The last blocks, by P; that of P -1 behind the others. Without one a reader takes the trace for
 * one that was cut: an address space has one also if nothing was there at first. */
static int put_all_away(struct pagetrace *t)
{
	struct ebt_pagetrace_writer *boot = ptrmap_get(&t->writers, 0), *next, *w;
	int32_t last = EBT_PAGETRACE_NO_P;
	int err = !boot && t->is_space ? writer_of(t, EBT_PAGETRACE_NO_P, &boot) : 0;
	while (!err) {
		size_t at = 0;
		next = NULL;
		while ((w = ptrmap_next(&t->writers, &at)))
			if (w->p > last && (!next || w->p < next->p))
				next = w;
		last = next ? next->p : last;
		if (!next)
			return boot ? ebt_pagetrace_write_end(boot, t->shift_ns) : 0;
		err = ebt_pagetrace_write_flush(next);
	}
	return err;
}

static int pagetrace_end(struct sink *k)
{
	struct pagetrace *t = (struct pagetrace *)k;
	t->err = t->err ? t->err : put_all_away(t);
	int err = buf_finish(&t->buf);
	report(t);
	return t->err ? t->err : err;
}

static void pagetrace_free(struct sink *k)
{
	struct pagetrace *t = (struct pagetrace *)k;
	ptrmap_free(&t->writers);
	pages_round_done(&t->round);
	buf_done(&t->buf);
	free(t);
}

static const struct sink_ops pagetrace_ops = {
	.events = pagetrace_events,
	.forget = pagetrace_forget,
	.flush = pagetrace_flush,
	.end = pagetrace_end,
	.free = pagetrace_free,
};

int pagetrace_new(struct session *s, int fd, struct sink **ret)
{
	struct pagetrace *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->base.ops = &pagetrace_ops;
	t->base.out = &t->buf;
	t->session = s;
	pages_round_init(&t->round);
	int err = buf_init_behind(&t->buf, fd, SINK_BUFFER_BYTES, SINK_BEHIND_BYTES);
	if (err) {
		free(t);
		return err;
	}
	*ret = &t->base;
	return 0;
}
