/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of page records, and of checks of real page tables. */
#include "base/clock.h"
#include "source/pages/spaces.h"
#include "tests/tap.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ull
#define MM   0xfeed

static char text[1 << 16];
static uint64_t last_ts;
static bool back;

/* "a10+2" and so on: kind, page, pages, cause if there is one. */
static uint32_t within_us; /* the longest of pages that were found */
static bool exact_within;  /* of others */

static int emit(void *ctx, const struct ebt_event *ev)
{
	(void)ctx;
	const char *kind = ev->kind == EBT_PAGE_ALLOC ? "a" : ev->kind == EBT_PAGE_FREE ? "f" : "s";
	size_t n = strlen(text);
	back |= ev->ts < last_ts;
	last_ts = ev->ts;
	n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%llu+%llu", n ? " " : "", kind,
			      (unsigned long long)(ev->arg[0] / PAGE),
			      (unsigned long long)ev->arg[1]);
	if (ev->id >= EBT_PAGE_POPULATED && ev->seq > within_us)
		within_us = ev->seq;
	exact_within |= ev->id < EBT_PAGE_POPULATED && ev->seq;
	if (ev->id)
		snprintf(text + n, sizeof(text) - n, "/%u", ev->id);
	return 0;
}

/* What a record says: "F5+1", "M5+8>50+8". */
struct call {
	char change;
	unsigned long long page, pages, to, to_pages;
};

static const char changes[] = {
	[EBT_PAGES_FAULT] = 'F', [EBT_PAGES_UNMAP] = 'U', [EBT_PAGES_DROP] = 'D',
	[EBT_PAGES_LAZY] = 'L',	 [EBT_PAGES_MOVE] = 'M',  [EBT_PAGES_DONE] = '.',
};

static struct call call_of(const char *said)
{
	struct call c = {0};
	sscanf(said, "%c%llu+%llu>%llu+%llu", &c.change, &c.page, &c.pages, &c.to, &c.to_pages);
	return c;
}

static int put(struct page_spaces *ps, struct page_user *u, const struct call *c, uint64_t mm,
	       uint64_t ts)
{
	const char *change = memchr(changes, c->change, sizeof(changes));
	struct ebt_page_record rec = {
		.head = {.type = EBT_RECORD_PAGES, .site = (uint16_t)(change - changes), .tid = 1},
		.ts = ts,
		.mm = mm,
		.addr = c->page * PAGE,
		.bytes = c->pages * PAGE,
		.to = c->to * PAGE,
		.to_bytes = c->to_pages * PAGE,
	};
	return page_user_receive(ps, u, &rec);
}

static struct page_spaces new_spaces(void)
{
	*text = 0;
	last_ts = 0;
	back = false;
	return (struct page_spaces){.out = {.page_bytes = PAGE, .emit = emit}};
}

/* Records one after the other, and the events that come of them. */
static void check(const char *name, const char *calls, const char *want)
{
	struct page_spaces ps = new_spaces();
	struct page_user u;
	uint64_t ts = 100;
	page_user_begin(&ps, &u, getpid(), 3, EBT_PAGE_SNAPSHOT);
	for (const char *at = calls; at; at = strchr(at, ' ')) {
		struct call c = call_of(at + (*at == ' '));
		put(&ps, &u, &c, MM, ts++);
		at++;
	}
	ok(!strcmp(text, want), "%s", name) || (diag("got %s", text), 1);
	page_user_end(&ps, &u, 200);
	ok(!ps.first && !back, "it is gone at its end");
	page_spaces_done(&ps);
}

static void check_records(void)
{
	check("a fault allocates a page once", "F5+1 F5+1", "a5+1");
	check("a huge page allocates those that are not", "F514+1 F512+512",
	      "a514+1 a512+2 a515+509");
	check("what was not allocated is not freed", "F5+2 F9+1 U0+100 U0+100",
	      "a5+2 a9+1 f5+2 f9+1");
	check("a range without end frees what is behind", "F5+2 U6+2251799813685248", "a5+2 f6+1");
	check("what is dropped is scavenged, and allocated again", "F5+2 D0+6 F5+1",
	      "a5+2 s5+1 a5+1");
	check("what is lazily freed is scavenged once, and freed by nobody",
	      "F5+2 L0+9 L0+9 D5+1 U0+9", "a5+2 s5+2");
	check("what is lazily freed may be allocated again", "F5+2 L0+9 F6+1 U0+9",
	      "a5+2 s5+2 a6+1 f6+1");
	check("what moves is freed here and allocated there", "F5+2 F9+1 M5+8>50+8",
	      "a5+2 a9+1 f5+2 f9+1 a50+2/3 a54+1/3");
	check("what does not fit is freed", "F5+4 F51+1 M5+4>50+2",
	      "a5+4 a51+1 f7+2 f51+1 f5+2 a50+2/3");
	check("a shorter mapping that stays frees its end", "F5+4 M5+4>5+1", "a5+4 f6+3");
	check("a longer one that stays frees nothing", "F5+4 M5+4>5+10", "a5+4");
}

static void check_refused(void)
{
	struct page_spaces ps = new_spaces();
	struct page_user u;
	struct ebt_page_record rec = {.mm = MM, .addr = 7 * PAGE, .bytes = PAGE};
	page_user_begin(&ps, &u, getpid(), 3, EBT_PAGE_SNAPSHOT);
	page_user_receive(&ps, &u, &rec);
	rec.head.site = EBT_PAGES_UNMAP;
	rec.addr += 8;
	page_user_receive(&ps, &u, &rec);
	ok(!strcmp(text, "a7+1"), "a call that does not begin at a page does nothing");
	rec.addr = UINT64_MAX - PAGE + 1;
	rec.bytes = UINT64_MAX;
	page_user_receive(&ps, &u, &rec);
	rec.head.site = 99;
	page_user_receive(&ps, &u, &rec);
	ok(!strcmp(text, "a7+1"), "nor do addresses that cannot be, nor calls that are unknown");
	rec = (struct ebt_page_record){.mm = MM, .addr = 8 * PAGE, .bytes = 3 * PAGE};
	page_user_receive(&ps, &u, &rec);
	rec.head.site = EBT_PAGES_UNMAP;
	rec.bytes = PAGE + 1;
	page_user_receive(&ps, &u, &rec);
	ok(!strcmp(text, "a7+1 a8+3 f8+2"), "a page of which one byte is unmapped is freed");
	page_spaces_done(&ps);
}

static void check_exec(void)
{
	struct page_spaces ps = new_spaces();
	struct page_user u, child;
	struct call fault = call_of("F5+1"), other = call_of("F6+1");
	page_user_begin(&ps, &u, getpid(), 3, EBT_PAGE_SNAPSHOT);
	put(&ps, &u, &fault, MM, 10);
	put(&ps, &u, &other, MM + 1, 20);
	page_user_exec(&ps, &u, MM + 1, 30);
	ok(!strcmp(text, "a5+1 f5+1 a6+1"),
	   "exec frees all, also when faults come before its record");
	page_user_share(&ps, &child, getpid(), 4, &u);
	put(&ps, &child, &fault, MM + 1, 40);
	page_user_end(&ps, &u, 50);
	ok(!strcmp(text, "a5+1 f5+1 a6+1 a5+1"), "a vfork's child keeps what it shares");
	page_user_exec(&ps, &child, MM + 2, 60);
	page_user_end(&ps, &child, 70);
	ok(!strcmp(text, "a5+1 f5+1 a6+1 a5+1 f5+2") && !ps.first, "until it calls exec");
	page_spaces_done(&ps);
}

/* ---- checks ---- */

struct pending {
	struct page_spaces ps;
	struct page_user u;
	struct call call;
	unsigned calls;
	uint32_t dropped;
};

static int drain(void *ctx, uint32_t *dropped)
{
	struct pending *p = ctx;
	*dropped = p->dropped;
	if (!p->calls)
		return 0;
	p->calls--;
	return put(&p->ps, &p->u, &p->call, MM, now_ns());
}

static bool said(const char *what, const char *at, unsigned pages, unsigned cause)
{
	char want[64];
	snprintf(want, sizeof(want), cause ? "%s%llu+%u/%u" : "%s%llu+%u", what,
		 (unsigned long long)(uintptr_t)at / PAGE, pages, cause);
	return strstr(text, want);
}

/* 64 small pages: those from 8 to 11 are there. */
static char *map_area(void)
{
	char *area =
		mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		abort();
	madvise(area, 64 * PAGE, MADV_NOHUGEPAGE);
	for (unsigned i = 8; i < 12; i++)
		area[i * PAGE] = 1;
	return area;
}

/* Records that come while page tables are read: these do not know them yet, or more. */
static void check_meanwhile(struct pending *p, char *area)
{
	p->ps.out.drain = drain;
	p->call = (struct call){'U', (uintptr_t)area / PAGE + 8, 1, 0, 0};
	p->calls = 1;
	*text = 0;
	page_user_check(&p->ps, &p->u);
	ok(said("f", area + 8 * PAGE, 1, 0) && !said("a", area + 8 * PAGE, 1, EBT_PAGE_POPULATED),
	   "what a record has touched meanwhile is as the record says");
	/* The call has begun before the next check. */
	*text = 0;
	page_user_check(&p->ps, &p->u);
	ok(!said("a", area + 8 * PAGE, 1, EBT_PAGE_POPULATED),
	   "a call that has not returned may not have removed its pages yet");
	p->call.change = '.';
	p->calls = 1;
	page_user_check(&p->ps, &p->u);
	ok(!said("a", area + 8 * PAGE, 1, EBT_PAGE_POPULATED), "also one that returns meanwhile");
	page_user_check(&p->ps, &p->u);
	ok(said("a", area + 8 * PAGE, 1, EBT_PAGE_POPULATED), "behind its return it has");
	put(&p->ps, &p->u, &(struct call){'U', (uintptr_t)area / PAGE + 8, 1, 0, 0}, MM, now_ns());
	*text = 0;
	page_user_check(&p->ps, &p->u);
	ok(!said("a", area + 8 * PAGE, 1, EBT_PAGE_POPULATED),
	   "a call is under way while nothing was dropped");
	p->dropped = 1;
	page_user_check(&p->ps, &p->u);
	ok(said("a", area + 8 * PAGE, 1, EBT_PAGE_POPULATED),
	   "behind a drop, which may have been its return, page tables are right");
	p->call = (struct call){'F', (uintptr_t)area / PAGE + 30, 1, 0, 0};
	p->calls = 1;
	*text = 0;
	uint64_t before = now_ns();
	page_user_check(&p->ps, &p->u);
	ok(said("a", area + 30 * PAGE, 1, 0) && !said("f", area + 30 * PAGE, 1, EBT_PAGE_GONE),
	   "a fault that comes while they are read is not undone");
	within_us = 0;
	page_user_check(&p->ps, &p->u);
	ok(said("f", area + 30 * PAGE, 1, EBT_PAGE_GONE), "the next reading finds its page gone");
	ok(within_us * 1000ull <= now_ns() - before + 1000, "which was there at the one before");
}

static void check_tables(void)
{
	char *area = map_area();
	struct pending p = {.ps = new_spaces()};
	p.ps.out.ctx = &p;
	page_user_begin(&p.ps, &p.u, getpid(), 3, EBT_PAGE_SNAPSHOT);
	uint64_t begin = now_ns();
	ok(!page_user_check(&p.ps, &p.u) && said("a", area + 8 * PAGE, 4, EBT_PAGE_SNAPSHOT),
	   "the first check finds what is there");
	uint64_t first = now_ns();
	area[20 * PAGE] = 1;
	madvise(area + 9 * PAGE, PAGE, MADV_DONTNEED);
	*text = 0;
	within_us = 0;
	uint64_t second = now_ns();
	ok(!page_user_check(&p.ps, &p.u) && said("a", area + 20 * PAGE, 1, EBT_PAGE_POPULATED) &&
		   said("f", area + 9 * PAGE, 1, EBT_PAGE_GONE),
	   "the next ones what has come and gone without a record");
	ok(p.ps.out.counts.appeared[EBT_PAGE_POPULATED] && p.ps.out.counts.gone[EBT_PAGE_GONE] == 1,
	   "which is counted");
	uint64_t within = within_us * 1000ull;
	ok(within >= second - first && within <= now_ns() - begin + 1000 && !exact_within,
	   "it has come since the first check, which the events say, and no others do");

	check_meanwhile(&p, area);
	ok(!back, "times never go back");
	page_spaces_done(&p.ps);
	munmap(area, 64 * PAGE);
}

/* MADV_FREE comes while page tables are read, which show its pages as they were: then they are
 * lazily free, and neither appear again nor vanish. */
static void check_lazy(void)
{
	char *area = map_area();
	struct pending p = {.ps = new_spaces()};
	p.ps.out.ctx = &p;
	page_user_begin(&p.ps, &p.u, getpid(), 3, EBT_PAGE_SNAPSHOT);
	page_user_check(&p.ps, &p.u);
	p.ps.out.drain = drain;
	p.call = (struct call){'L', (uintptr_t)area / PAGE + 8, 2, 0, 0};
	p.calls = 1;
	*text = 0;
	page_user_check(&p.ps, &p.u);
	ok(said("s", area + 8 * PAGE, 2, 0) && !said("a", area + 8 * PAGE, 2, EBT_PAGE_POPULATED),
	   "pages that are lazily freed meanwhile do not appear again");
	p.call.change = '.';
	p.calls = 1;
	*text = 0;
	page_user_check(&p.ps, &p.u);
	page_user_check(&p.ps, &p.u);
	is(p.u.space->lazy.pages, 2, "and are lazily free until the kernel takes them");
	ok(!said("a", area + 8 * PAGE, 2, EBT_PAGE_POPULATED) &&
		   !said("f", area + 8 * PAGE, 2, EBT_PAGE_GONE),
	   "neither taken nor gone");
	/* The page tables do not have this one: a record that comes meanwhile keeps it. */
	put(&p.ps, &p.u, &(struct call){'F', (uintptr_t)area / PAGE + 40, 1, 0, 0}, MM, now_ns());
	p.call = (struct call){'L', (uintptr_t)area / PAGE + 40, 1, 0, 0};
	p.calls = 1;
	page_user_check(&p.ps, &p.u);
	is(p.u.space->lazy.pages, 3, "a page that page tables do not show yet is not forgotten");
	p.call.change = '.';
	p.calls = 1;
	page_user_check(&p.ps, &p.u);
	page_user_check(&p.ps, &p.u);
	is(p.u.space->lazy.pages, 2, "but by the next check it is");
	int fd = memfd_create("pages", MFD_CLOEXEC);
	char *file = ftruncate(fd, 4 * PAGE)
			     ? NULL
			     : mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	file[PAGE] = 1;
	*text = 0;
	page_user_check(&p.ps, &p.u);
	ok(said("a", file + PAGE, 1, EBT_PAGE_FILE), "a page of a file appears with its cause");
	put(&p.ps, &p.u, &(struct call){'L', (uintptr_t)file / PAGE + 1, 1, 0, 0}, MM, now_ns());
	*text = 0;
	page_user_check(&p.ps, &p.u);
	ok(!said("a", file + PAGE, 1, EBT_PAGE_FILE), "and not again while it is lazily free");
	munmap(file, 4 * PAGE);
	close(fd);
	page_spaces_done(&p.ps);
	munmap(area, 64 * PAGE);
}

/* More records than are kept come while the page tables are read. */
static int drain_many(void *ctx, uint32_t *dropped)
{
	*dropped = 0;
	struct pending *p = ctx;
	int err = 0;
	for (unsigned i = 0; i < p->calls && !err; i++) {
		struct call c = {'U', 2ull * i, 1, 0, 0};
		err = put(&p->ps, &p->u, &c, MM, now_ns());
	}
	return err;
}

static void check_overrun(void)
{
	/* Nothing that is mapped meanwhile lies beside it. */
	char *area = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *page = area + PAGE;
	struct pending p = {.ps = new_spaces(), .calls = 70000};
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	p.ps.out.ctx = &p;
	page_user_begin(&p.ps, &p.u, getpid(), 3, EBT_PAGE_SNAPSHOT);
	page_user_check(&p.ps, &p.u);
	p.ps.out.drain = drain_many;
	*page = 1;
	*text = 0;
	is(page_user_check(&p.ps, &p.u), -EAGAIN,
	   "a check during which too many records come is made again");
	is_str(text, "", "nothing follows from it");
	ok(p.u.space->urgent, "soon");
	p.calls = 0;
	ok(!page_spaces_check(&p.ps, UINT64_MAX, false) && said("a", page, 1, EBT_PAGE_POPULATED),
	   "and the next one finds what it would have found");
	page_spaces_done(&p.ps);
	munmap(area, 3 * PAGE);
}

static void check_share(void)
{
	struct page_spaces ps = new_spaces();
	struct page_user u;
	struct ebt_page_record failed = {.head = {.site = EBT_PAGES_CHECK}, .mm = MM};
	uint64_t begin = now_ns();
	page_user_begin(&ps, &u, getpid(), 3, EBT_PAGE_SNAPSHOT);
	page_spaces_check(&ps, begin, false);
	is(ps.out.counts.checks, 1, "a new space is checked at once");
	uint64_t end = now_ns(), cost = ps.out.counts.check_ns;
	page_user_receive(&ps, &u, &failed);
	page_spaces_check(&ps, begin + 10 * cost, false);
	is(ps.out.counts.checks, 1, "urgent checks use a tenth of a CPU at most");
	page_spaces_check(&ps, end + 10 * cost, false);
	is(ps.out.counts.checks, 2, "and that much of it");
	page_spaces_done(&ps);
}

/* It ends while the probes are removed, which takes longer than the trace may. */
static void check_limit(void)
{
	struct page_spaces ps = new_spaces();
	struct page_user u;
	struct call c = call_of("F5+2");
	ps.out.until_ns = 150;
	page_user_begin(&ps, &u, getpid(), 3, EBT_PAGE_SNAPSHOT);
	put(&ps, &u, &c, MM, 100);
	page_user_end(&ps, &u, 200);
	ok(!strcmp(text, "a5+2"), "no event is later than the end of the trace") ||
		(diag("got %s", text), 1);
	ok(!ps.first, "though its space is gone");
	page_spaces_done(&ps);
}

int main(void)
{
	check_limit();
	check_records();
	check_refused();
	check_exec();
	check_tables();
	check_lazy();
	check_overrun();
	check_share();
	return tap_done();
}
