// SPDX-License-Identifier: BSD-2-Clause
#include "source/pages/space.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define MAX_TOUCHED 65536 /* ranges; beyond it the check is made again */

void page_event_at(struct page_event *of, uint64_t ts)
{
	if (ts > of->space->last_ns)
		of->space->last_ns = ts;
	of->ts = of->space->last_ns;
}

int page_event_emit(void *ctx, uint64_t first, uint64_t pages)
{
	const struct page_event *of = ctx;
	if (of->out->until_ns && of->ts > of->out->until_ns)
		return 0;
	struct ebt_event ev = {
		.ts = of->ts,
		.pos = EBT_NO_POS,
		.process = of->process,
		.tid = of->tid,
		.kind = of->kind,
		.domain = EBT_NO_DOMAIN,
		.cpu = of->cpu,
		.flags = of->out->flags,
		.id = of->cause,
		.seq = of->cause >= EBT_PAGE_POPULATED ? of->within_us : 0,
		.arg = {first * of->out->page_bytes, pages},
	};
	return of->out->emit(of->out->ctx, &ev);
}

static int append(struct page_run **run, size_t *runs, size_t *room, uint64_t first, uint64_t pages)
{
	if (!array_reserve(*run, *room, *runs))
		return -ENOMEM;
	(*run)[(*runs)++] = (struct page_run){first, pages};
	return 0;
}

int page_runs_add(void *ctx, uint64_t first, uint64_t pages)
{
	struct page_runs *r = ctx;
	return append(&r->run, &r->runs, &r->room, first, pages);
}

void page_runs_done(struct page_runs *r)
{
	free(r->run);
	*r = (struct page_runs){0};
}

int page_space_touch(struct page_space *s, uint64_t first, uint64_t pages)
{
	struct page_run *last = s->touches ? &s->touched[s->touches - 1] : NULL;
	if (last && last->first + last->pages == first) {
		last->pages += pages;
		return 0;
	}
	s->overrun |= s->touches == MAX_TOUCHED;
	return s->overrun ? 0 : append(&s->touched, &s->touches, &s->room, first, pages);
}

static struct page_call *find_call(struct page_space *s, uint32_t tid)
{
	for (uint32_t i = 0; i < s->calls; i++)
		if (s->call[i].tid == tid)
			return &s->call[i];
	return NULL;
}

int page_space_enter(struct page_space *s, const struct ebt_page_record *rec, uint64_t first,
		     uint64_t pages)
{
	struct page_call *call = find_call(s, rec->head.tid);
	if (!call && !array_reserve(s->call, s->calls_room, s->calls))
		return -ENOMEM;
	call = call ? call : &s->call[s->calls++];
	*call = (struct page_call){rec->head.tid, rec->dropped, {first, pages}};
	return 0;
}

int page_space_leave(struct page_space *s, uint32_t tid, uint64_t ts)
{
	struct page_call *call = find_call(s, tid);
	if (!call)
		return 0;
	struct page_run run = call->run;
	*call = s->call[--s->calls];
	return s->held && ts >= s->check_ns ? page_space_touch(s, run.first, run.pages) : 0;
}

int page_space_touch_calls(struct page_space *s, uint32_t dropped)
{
	int err = 0;
	for (uint32_t i = 0; !err && i < s->calls;) {
		const struct page_call *call = &s->call[i];
		/* The counts wrap. */
		if ((int32_t)(dropped - call->dropped) > 0) {
			s->call[i] = s->call[--s->calls];
			continue;
		}
		err = page_space_touch(s, call->run.first, call->run.pages);
		i++;
	}
	return err;
}
