// SPDX-License-Identifier: BSD-2-Clause
#include "source/pages/spaces.h"

#include "source/pages/space.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "proc/maps.h"
#include "proc/memory_reader.h"
#include "proc/pagemap.h"

/* Compares an address space with the kernel's page tables. Used by spaces.c alone. */

/* Of /proc/PID/maps: a program may have very many. */
#define MAPPINGS_READ_MAX 4096

/* Pages in the page tables. */
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

/* Takes the state of ranges that records have touched since the check began from the records, not
 * from the page tables. */
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
	memory_reader_maps(out->memory, u->pid, MAPS_ALL, name_mapping, &n);
	int fd = file_open(u->dir, "comm", 0);
	ssize_t len = fd < 0 ? -1 : read(fd, n.to->program, sizeof(n.to->program) - 1);
	if (len > 0)
		n.to->program[len - (n.to->program[len - 1] == '\n')] = 0;
	if (fd >= 0)
		close(fd);
}

/* The space is held; u is one of its users, and may not be any more afterwards. *ret_cpu_ns: the
 * CPU time that a worker took for it. 0, -EAGAIN: not all records could be received, or too many;
 * or an error of memory_reader_pages() or emit(). */
static int page_check(struct page_output *out, struct page_space *s, const struct page_user *u,
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

/* A space is checked often at first: a program may end soon. */
#define MIN_PERIOD_NS 10000000ull
#define MAX_PERIOD_NS 1000000000ull
/* The time before the next check follows from the CPU time of this one. */
#define SHARE	     50
#define URGENT_SHARE 10

/* ---- spaces and their users ---- */

static struct page_space *new_space(struct page_spaces *ps, uint64_t mm, enum ebt_page_cause cause,
				    uint64_t ts)
{
	struct page_space *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->mm = mm;
	s->cause = cause;
	s->read_ns = ts;
	s->urgent = true;
	s->period_ns = MIN_PERIOD_NS;
	s->next = ps->first;
	ps->first = s;
	return s;
}

/* Events are of the first one. */
static void join(struct page_space *s, struct page_user *u)
{
	struct page_user **at = &s->users;
	while (*at)
		at = &(*at)->next;
	u->space = s;
	u->next = NULL;
	*at = u;
}

static void free_space(struct page_spaces *ps, struct page_space *s)
{
	struct page_space **at = &ps->first;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	page_set_done(&s->mapped);
	page_set_done(&s->lazy);
	free(s->touched);
	free(s->call);
	free(s);
}

static void put_space(struct page_spaces *ps, struct page_space *s)
{
	if (!s->users && !s->held)
		free_space(ps, s);
}

/* Removes a user from its space. The last user frees the pages. 0 or an error of emit(). */
static int leave(struct page_spaces *ps, struct page_user *u, uint64_t ts)
{
	struct page_space *s = u->space;
	struct page_user **at = &s->users;
	int err = 0;
	while (*at != u)
		at = &(*at)->next;
	*at = u->next;
	u->space = NULL;
	if (!s->users) {
		struct page_event of = {&ps->out, s, .kind = EBT_PAGE_FREE, .process = u->process};
		page_event_at(&of, ts);
		err = page_set_remove(&s->mapped, 0, PAGE_SET_ALL, page_event_emit, &of);
	}
	put_space(ps, s);
	return err;
}

void page_spaces_done(struct page_spaces *ps)
{
	while (ps->first) {
		struct page_space *s = ps->first;
		for (struct page_user *u = s->users; u; u = u->next) {
			u->space = NULL;
			if (u->dir >= 0)
				close(u->dir);
		}
		free_space(ps, s);
	}
}

static void begin(struct page_user *u, pid_t pid, uint32_t process)
{
	*u = (struct page_user){.pid = pid, .process = process, .dir = pagemap_open(pid)};
}

int page_user_begin(struct page_spaces *ps, struct page_user *u, pid_t pid, uint32_t process,
		    enum ebt_page_cause cause)
{
	struct page_space *s = new_space(ps, 0, cause, now_ns());
	if (!s)
		return -ENOMEM;
	begin(u, pid, process);
	join(s, u);
	return 0;
}

int page_user_share(struct page_spaces *ps, struct page_user *u, pid_t pid, uint32_t process,
		    struct page_user *parent)
{
	if (!parent->space)
		return page_user_begin(ps, u, pid, process, EBT_PAGE_FORK);
	begin(u, pid, process);
	join(parent->space, u);
	return 0;
}

/* To a new space. */
static int move_to(struct page_spaces *ps, struct page_user *u, uint64_t mm, uint64_t ts)
{
	struct page_space *s = new_space(ps, mm, EBT_PAGE_POPULATED, ts);
	if (!s)
		return -ENOMEM;
	int err = leave(ps, u, ts);
	join(s, u);
	return err;
}

int page_user_exec(struct page_spaces *ps, struct page_user *u, uint64_t mm, uint64_t ts)
{
	/* Its first faults may have come before the record of its exec. */
	if (!u->space || u->space->mm == mm)
		return 0;
	return move_to(ps, u, mm, ts);
}

int page_user_end(struct page_spaces *ps, struct page_user *u, uint64_t ts)
{
	if (!u->space)
		return 0;
	int err = leave(ps, u, ts);
	if (u->dir >= 0)
		close(u->dir);
	u->dir = -1;
	return err;
}

/* ---- records ---- */

struct range {
	uint64_t first, pages;
};

/* The pages that a range of addresses touches, clamped to addresses that there are. */
static struct range range_of(const struct page_spaces *ps, uint64_t addr, uint64_t bytes)
{
	uint64_t end =
		bytes > PAGEMAP_END || addr > PAGEMAP_END - bytes ? PAGEMAP_END : addr + bytes;
	if (addr >= end)
		return (struct range){0};
	uint64_t first = addr / ps->out.page_bytes;
	return (struct range){first, (end + ps->out.page_bytes - 1) / ps->out.page_bytes - first};
}

static int on_fault(struct page_event *of, struct range r)
{
	struct page_space *s = of->space;
	uint64_t before = s->mapped.pages;
	page_set_remove(&s->lazy, r.first, r.pages, NULL, NULL);
	of->kind = EBT_PAGE_ALLOC;
	int err = page_set_add(&s->mapped, r.first, r.pages, page_event_emit, of);
	of->out->counts.known_faults += s->mapped.pages == before;
	return err;
}

static int on_unmap(struct page_event *of, struct range r)
{
	page_set_remove(&of->space->lazy, r.first, r.pages, NULL, NULL);
	of->kind = EBT_PAGE_FREE;
	return page_set_remove(&of->space->mapped, r.first, r.pages, page_event_emit, of);
}

static int on_drop(struct page_event *of, struct range r)
{
	page_set_remove(&of->space->lazy, r.first, r.pages, NULL, NULL);
	of->kind = EBT_PAGE_SCAVENGE;
	return page_set_remove(&of->space->mapped, r.first, r.pages, page_event_emit, of);
}

static int add_lazy(void *ctx, uint64_t first, uint64_t pages)
{
	struct page_event *of = ctx;
	int err = page_set_add(&of->space->lazy, first, pages, NULL, NULL);
	return err ? err : page_event_emit(of, first, pages);
}

static int on_lazy(struct page_event *of, struct range r)
{
	of->kind = EBT_PAGE_SCAVENGE;
	return page_set_remove(&of->space->mapped, r.first, r.pages, add_lazy, of);
}

/* mremap() has returned: what was behind the new length is unmapped, also what was at the new
 * address; the rest has moved. */
static int on_move(struct page_event *of, struct range from, struct range to)
{
	struct page_space *s = of->space;
	struct page_runs runs = {0};
	uint64_t kept = from.pages < to.pages ? from.pages : to.pages;
	int err = on_unmap(of, (struct range){from.first + kept, from.pages - kept});
	if (err || from.first == to.first)
		return err;
	err = on_unmap(of, to);
	if (!err)
		err = page_set_each(&s->mapped, NULL, from.first, kept, page_runs_add, &runs);
	if (!err)
		err = on_unmap(of, (struct range){from.first, kept});
	of->kind = EBT_PAGE_ALLOC;
	of->cause = EBT_PAGE_MOVED;
	for (size_t i = 0; !err && i < runs.runs; i++)
		err = page_set_add(&s->mapped, runs.run[i].first - from.first + to.first,
				   runs.run[i].pages, page_event_emit, of);
	page_runs_done(&runs);
	return err;
}

/* A check does not compare what records have touched since it began. */
static int note_touched(struct page_space *s, const struct ebt_page_record *rec, struct range r)
{
	return s->held && rec->ts >= s->check_ns && r.pages ? page_space_touch(s, r.first, r.pages)
							    : 0;
}

/* Notes a system call that removes pages: it may remove them while the page tables are read. */
static int note_call(struct page_space *s, const struct ebt_page_record *rec, struct range r)
{
	switch (rec->head.site) {
	case EBT_PAGES_UNMAP:
	case EBT_PAGES_DROP:
	case EBT_PAGES_LAZY:
		return page_space_enter(s, rec, r.first, r.pages);
	case EBT_PAGES_CHECK:
	case EBT_PAGES_DONE:
		return page_space_leave(s, rec->head.tid, rec->ts);
	}
	return 0;
}

int page_user_receive(struct page_spaces *ps, struct page_user *u,
		      const struct ebt_page_record *rec)
{
	if (!u->space)
		return 0;
	if (!u->space->mm)
		u->space->mm = rec->mm;
	int err = u->space->mm == rec->mm ? 0 : move_to(ps, u, rec->mm, rec->ts);
	if (err)
		return err;
	struct page_space *s = u->space;
	struct range r = range_of(ps, rec->addr, rec->bytes), to = {0};
	struct page_event of = {&ps->out, s, .process = s->users->process, .tid = rec->head.tid,
				.cpu = rec->head.cpu};
	page_event_at(&of, rec->ts);
	if (rec->head.site == EBT_PAGES_MOVE)
		to = range_of(ps, rec->to, rec->to_bytes);
	err = note_touched(s, rec, r);
	if (!err)
		err = note_touched(s, rec, to);
	if (!err)
		err = note_call(s, rec, r);
	/* The kernel refuses what does not begin at a page. */
	if (err || rec->addr % ps->out.page_bytes)
		return err;
	switch (rec->head.site) {
	case EBT_PAGES_FAULT:
		return on_fault(&of, r);
	case EBT_PAGES_UNMAP:
		return on_unmap(&of, r);
	case EBT_PAGES_DROP:
		return on_drop(&of, r);
	case EBT_PAGES_LAZY:
		return on_lazy(&of, r);
	case EBT_PAGES_MOVE:
		return on_move(&of, r, to);
	case EBT_PAGES_CHECK:
		s->urgent = true;
	}
	return 0;
}

/* ---- checks ---- */

int page_user_check(struct page_spaces *ps, struct page_user *u)
{
	struct page_space *s = u->space;
	if (!s || u->dir < 0)
		return -ESRCH;
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), worker;
	s->held = true;
	s->urgent = false;
	int err = page_check(&ps->out, s, u, &worker);
	s->held = false;
	uint64_t now = now_ns(), cost = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu + worker;
	s->due_ns = now + s->period_ns;
	s->period_ns = s->period_ns < MAX_PERIOD_NS / 2 ? 2 * s->period_ns : MAX_PERIOD_NS;
	s->urgent |= err == -EAGAIN;
	ps->rests_ns = now + SHARE * cost;
	ps->urgent_rests_ns = now + URGENT_SHARE * cost;
	ps->out.counts.checks++;
	ps->out.counts.check_ns += cost;
	put_space(ps, s);
	return err;
}

static bool is_due(const struct page_spaces *ps, const struct page_space *s, uint64_t now)
{
	return s->urgent ? now >= ps->urgent_rests_ns : now >= s->due_ns && now >= ps->rests_ns;
}

/* The page tables, or the records of meanwhile, could not be read. */
static bool is_unread(int err)
{
	return err == -EAGAIN || err == -ESRCH || err == -EACCES || err == -EPERM ||
	       err == -ETIMEDOUT || err == -ECANCELED || err == -ECONNRESET;
}

int page_spaces_check(struct page_spaces *ps, uint64_t now, bool all)
{
	/* A check may receive records that remove any space: begin anew behind it. */
	for (struct page_space *s = ps->first; s; s = s->next)
		s->passed = false;
	for (struct page_space *s = ps->first; s;) {
		if (s->passed || !s->users || (!all && !is_due(ps, s, now))) {
			s = s->next;
			continue;
		}
		s->passed = true;
		int err = page_user_check(ps, s->users);
		if (err && !is_unread(err))
			return err;
		if (!all)
			now = now_ns();
		s = ps->first;
	}
	return 0;
}
