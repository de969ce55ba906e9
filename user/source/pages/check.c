// SPDX-License-Identifier: BSD-2-Clause
#include "source/pages/check.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "proc/maps.h"
#include "proc/memory_reader.h"
#include "proc/pagemap.h"

/* Of /proc/PID/maps: a program may have very many. */
#define MAPPINGS_READ_MAX 4096

/* What the page tables hold. */
struct found {
	uint32_t page_bytes;
	struct page_set mapped, file, huge, swapped;
};

static void found_done(struct found *f)
{
	page_set_done(&f->mapped);
	page_set_done(&f->file);
	page_set_done(&f->huge);
	page_set_done(&f->swapped);
}

static int note_run(void *ctx, const struct pagemap_run *run)
{
	struct found *f = ctx;
	uint64_t first = run->addr / f->page_bytes, pages = run->bytes / f->page_bytes;
	if (run->swapped)
		return page_set_add(&f->swapped, first, pages, NULL, NULL);
	int err = page_set_add(&f->mapped, first, pages, NULL, NULL);
	if (!err && run->huge)
		err = page_set_add(&f->huge, first, pages, NULL, NULL);
	else if (!err && run->file)
		err = page_set_add(&f->file, first, pages, NULL, NULL);
	return err;
}

static int add_to(void *set, uint64_t first, uint64_t pages)
{
	return page_set_add(set, first, pages, NULL, NULL);
}

/* Where records have come meanwhile, what they say is found. */
static int believe_records(const struct page_space *s, struct found *f)
{
	int err = 0;
	for (size_t i = 0; !err && i < s->touches; i++) {
		const struct page_run *r = &s->touched[i];
		page_set_remove(&f->mapped, r->first, r->pages, NULL, NULL);
		err = page_set_each(&s->mapped, NULL, r->first, r->pages, add_to, &f->mapped);
		if (!err)
			err = page_set_each(&s->lazy, NULL, r->first, r->pages, add_to, &f->mapped);
	}
	return err;
}

/* The runs of a that are not in b, nor in c. */
static int difference(const struct page_set *a, const struct page_set *b, const struct page_set *c,
		      struct page_runs *ret)
{
	struct page_set rest = {0};
	int err = page_set_each(a, b, 0, PAGE_SET_ALL, add_to, &rest);
	if (!err)
		err = page_set_each(&rest, c, 0, PAGE_SET_ALL, page_runs_add, ret);
	page_set_done(&rest);
	return err;
}

/* Emits what is in `of` and in `which` (NULL: all) with a cause; the pages change their state. */
struct change {
	struct page_event of;
	struct page_set *set; /* of the space: is changed */
	uint64_t *counts;     /* by cause */
};

static int change_run(void *ctx, uint64_t first, uint64_t pages)
{
	struct change *c = ctx;
	c->counts[c->of.cause] += pages;
	if (c->of.kind == EBT_PAGE_FREE)
		return page_set_remove(c->set, first, pages, page_event_emit, &c->of);
	return page_set_add(c->set, first, pages, page_event_emit, &c->of);
}

/* Those of the runs that are in the set have this cause, and are removed from it. */
static int change_those(struct change *c, const struct page_runs *runs, struct page_set *in,
			enum ebt_page_cause cause)
{
	int err = 0;
	c->of.cause = (uint16_t)cause;
	for (size_t i = 0; !err && i < runs->runs; i++)
		err = page_set_each(in, NULL, runs->run[i].first, runs->run[i].pages, change_run,
				    c);
	return err;
}

static int appear(struct change *c, struct found *f)
{
	struct page_space *s = c->of.space;
	struct page_runs runs = {0};
	int err = difference(&f->mapped, &s->mapped, &s->lazy, &runs);
	c->of.kind = EBT_PAGE_ALLOC;
	if (!err && s->cause == EBT_PAGE_DONE) {
		err = change_those(c, &runs, &f->huge, EBT_PAGE_HUGE);
		if (!err)
			err = change_those(c, &runs, &f->file, EBT_PAGE_FILE);
	}
	/* Those that have changed by now are not in the difference any more. */
	page_runs_done(&runs);
	if (!err)
		err = difference(&f->mapped, &s->mapped, &s->lazy, &runs);
	if (!err)
		err = change_those(c, &runs, &f->mapped, s->cause ? s->cause : EBT_PAGE_POPULATED);
	page_runs_done(&runs);
	return err;
}

static int vanish(struct change *c, struct found *f)
{
	struct page_space *s = c->of.space;
	struct page_runs runs = {0};
	int err = difference(&s->mapped, &f->mapped, NULL, &runs);
	c->of.kind = EBT_PAGE_FREE;
	c->counts = c->of.out->counts.gone;
	if (!err)
		err = change_those(c, &runs, &f->swapped, EBT_PAGE_SWAPPED);
	c->of.cause = EBT_PAGE_GONE;
	for (size_t i = 0; !err && i < runs.runs; i++) {
		uint64_t before = s->mapped.pages;
		err = page_set_remove(&s->mapped, runs.run[i].first, runs.run[i].pages,
				      page_event_emit, &c->of);
		c->counts[EBT_PAGE_GONE] += before - s->mapped.pages;
	}
	page_runs_done(&runs);
	/* What was given back and has been taken meanwhile is no news. */
	if (!err)
		err = difference(&s->lazy, &f->mapped, NULL, &runs);
	for (size_t i = 0; i < runs.runs; i++)
		page_set_remove(&s->lazy, runs.run[i].first, runs.run[i].pages, NULL, NULL);
	page_runs_done(&runs);
	return err;
}

/* At least 1. */
static uint32_t us_since(uint64_t from_ns, uint64_t to_ns)
{
	uint64_t us = to_ns > from_ns ? (to_ns - from_ns + 999) / 1000 : 1;
	return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

static int compare(struct page_output *out, struct page_space *s, struct found *f)
{
	struct change c = {
		.of = {out, s, .process = s->users->process, .cpu = EBT_NO_CPU},
		.set = &s->mapped,
		.counts = out->counts.appeared,
	};
	page_event_at(&c.of, now_ns());
	c.of.within_us = us_since(s->read_ns, c.of.ts);
	int err = believe_records(s, f);
	if (!err)
		err = vanish(&c, f);
	c.counts = out->counts.appeared;
	if (!err)
		err = appear(&c, f);
	s->cause = EBT_PAGE_DONE;
	s->read_ns = s->check_ns;
	return err;
}

struct naming {
	struct mappings *to;
	unsigned lines;
};

static int name_mapping(const struct maps_entry *e, void *ctx)
{
	struct naming *n = ctx;
	int err = mappings_add(n->to, e->start, e->end, e->path);
	return err ? err : ++n->lines == MAPPINGS_READ_MAX;
}

/* Names are no more than labels: that they could not be read is no error. */
static void name_mappings(struct page_output *out, const struct page_user *u)
{
	struct naming n = {out->mappings ? out->mappings(out->ctx, u->process) : NULL, 0};
	if (!n.to)
		return;
	memory_reader_maps(out->memory, u->pid, name_mapping, &n);
	int fd = file_open(u->dir, "comm", 0);
	ssize_t len = fd < 0 ? -1 : read(fd, n.to->program, sizeof(n.to->program) - 1);
	if (len > 0)
		n.to->program[len - (n.to->program[len - 1] == '\n')] = 0;
	if (fd >= 0)
		close(fd);
}

int page_check(struct page_output *out, struct page_space *s, const struct page_user *u,
	       uint64_t *ret_cpu_ns)
{
	struct found found = {.page_bytes = out->page_bytes};
	s->touches = 0;
	s->overrun = false;
	s->check_ns = now_ns();
	uint32_t dropped = 0;
	int err = memory_reader_pages(out->memory, u->pid, u->dir, out->plain, note_run, &found,
				      ret_cpu_ns);
	if (!err)
		name_mappings(out, u);
	/* u may be gone behind this. */
	if (!err && out->drain)
		err = out->drain(out->ctx, &dropped);
	if (!err)
		err = page_space_touch_calls(s, dropped);
	if (!err && s->overrun)
		err = -EAGAIN;
	if (!err && s->users)
		err = compare(out, s, &found);
	found_done(&found);
	return err;
}
