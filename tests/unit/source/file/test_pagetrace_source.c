/* SPDX-License-Identifier: BSD-2-Clause */
/* A page trace as a source: from a file, exactly in order of time; from a pipe, within a window. */
#include "source/file/pagetrace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream/merge.h"
#include "tests/tap.h"

#define SECOND 1000000000ull

/* A trace that is made by hand. */
struct words {
	uint64_t word[64];
	size_t count;
};

static void put_block(struct words *w, int64_t p, uint64_t ns)
{
	w->word[w->count++] = ((uint64_t)p << 3) | 4;
	w->word[w->count++] = (ns >> 7) << 3;
}

/* One page, `ticks` of 128 ns after the block's time. */
static void put_event(struct words *w, unsigned what, uint64_t ticks, uint64_t page)
{
	w->word[w->count++] = ticks << 48 | page * EBT_PAGETRACE_PAGE_BYTES | 1 << 3 | what;
}

static struct words sample(void)
{
	struct words w = {.count = 0};
	put_block(&w, 1, 2 * SECOND);
	put_event(&w, EBT_PAGETRACE_ALLOC, 0, 10);
	put_event(&w, EBT_PAGETRACE_FREE, 5, 10);
	put_block(&w, 0, SECOND);
	put_event(&w, EBT_PAGETRACE_ALLOC, 0, 20);
	put_event(&w, EBT_PAGETRACE_SCAVENGE, 60000, 30);
	put_block(&w, 0, 60 * SECOND);
	put_event(&w, EBT_PAGETRACE_FREE, 1, 20);
	put_block(&w, -1, SECOND / 2);
	put_event(&w, EBT_PAGETRACE_ALLOC, 0, 30);
	return w;
}

struct run {
	struct session *session;
	struct pagetrace_source *source;
	struct merge *merge;
	struct ebt_event event[32];
	size_t count;
};

static void start(struct run *r, int fd)
{
	struct pagetrace_options o = {.name = "a trace", .head = "", .alone = true};
	*r = (struct run){0};
	if (session_new(&r->session) || pagetrace_source_new(r->session, fd, &o, &r->source) ||
	    merge_new(&r->session->processes, &r->merge) ||
	    merge_add(r->merge, pagetrace_source_base(r->source)))
		abort();
}

static void drain(struct run *r)
{
	struct ebt_event *ev;
	int n, again = 1;
	while (again) {
		again = 0;
		merge_poll(r->merge);
		while ((n = merge_batch(r->merge, &ev)) > 0)
			for (int i = 0; i < n && r->count < 32; i++, again = 1)
				r->event[r->count++] = ev[i];
	}
}

static void end(struct run *r)
{
	merge_free(r->merge);
	source_free(pagetrace_source_base(r->source));
	session_free(r->session);
}

static int file_of(const struct words *w)
{
	int fd = memfd_create("trace", 0);
	if (fd < 0 || write(fd, w->word, 8 * w->count) != (ssize_t)(8 * w->count))
		abort();
	return fd;
}

static void test_file(void)
{
	struct words w = sample();
	struct run r;
	start(&r, file_of(&w));
	drain(&r);
	is(r.count, 6, "a file: all events");
	const struct ebt_event *e = r.event;
	static const uint64_t page[] = {30, 20, 30, 10, 10, 20};
	bool sorted = true, pages = true, late = false;
	for (size_t i = 0; i < r.count; i++) {
		sorted &= !i || e[i - 1].ts <= e[i].ts;
		pages &= e[i].arg[0] == page[i] * EBT_PAGETRACE_PAGE_BYTES && e[i].arg[1] == 1;
		late |= e[i].flags & EBT_F_LATE;
	}
	ok(sorted && pages && !late, "in order of time, none of them late, with their pages");
	is(e[0].domain, EBT_NO_DOMAIN,
	   "P -1, the last in the file, is the first, without a domain");
	ok(e[1].domain == 0 && e[3].domain == 1, "the domain is the P");
	is(e[1].kind, EBT_PAGE_ALLOC, "allocated");
	is(e[2].kind, EBT_PAGE_SCAVENGE, "scavenged");
	is(e[4].kind, EBT_PAGE_FREE, "freed");
	ok(r.session->start.known && r.session->start.ns / 128 == SECOND / 2 / 128,
	   "the trace starts with the first event");
	const struct process *p = processes_next(&r.session->processes, NULL);
	ok(p && p->page_bytes == EBT_PAGETRACE_PAGE_BYTES, "the size of a page is known");
	end(&r);
}

static void test_pipe(void)
{
	struct words w = sample();
	struct run r;
	int fd[2];
	if (pipe(fd))
		abort();
	start(&r, fd[0]);
	size_t half = 8 * (w.count - 3);
	if (write(fd[1], w.word, half) != (ssize_t)half)
		abort();
	drain(&r);
	size_t before = r.count;
	ok(before && before < 6, "a pipe: what is older than the window, before its end");
	if (write(fd[1], (char *)w.word + half, 24) != 24)
		abort();
	close(fd[1]);
	drain(&r);
	is(r.count, 6, "and then the rest");
	const struct ebt_event *boot = NULL;
	for (size_t i = 0; i < r.count; i++)
		if (r.event[i].domain == EBT_NO_DOMAIN)
			boot = &r.event[i];
	ok(boot && boot->flags & EBT_F_LATE, "the event of P -1 is late");
	ok(boot && EBT_OWN_TS(boot) / 1000 - SECOND / 2 / 1000 <= 1, "and keeps its own time");
	end(&r);
}

static void test_damage(void)
{
	struct words w = sample();
	struct run r;
	w.word[8] = 0; /* the P of the block of 60 s */
	start(&r, file_of(&w));
	drain(&r);
	size_t damaged = 0;
	for (size_t i = 0; i < r.count; i++)
		if (r.event[i].kind == EBT_DAMAGE) {
			damaged++;
			is(r.event[i].arg[0], 64, "a damage has its offset");
			is(r.event[i].arg[1], 3, "and its words");
		}
	is(damaged, 1, "a damaged word is one event");
	ok(*pagetrace_source_reason(r.source), "with a reason: %s",
	   pagetrace_source_reason(r.source));
	end(&r);
}

static void test_no_trace(void)
{
	struct words w = {.word = {1, 2, 3}, .count = 3};
	struct session *session;
	struct pagetrace_source *source;
	struct pagetrace_options o = {.name = "a trace", .head = ""};
	if (session_new(&session))
		abort();
	is(pagetrace_source_new(session, file_of(&w), &o, &source), -EBADMSG,
	   "what is no page trace is refused");
	session_free(session);
}

/* The writing end of a pipe whose reading end is closed: poll() wakes, and a read fails. */
static void test_unreadable(void)
{
	struct run r;
	int fds[2];
	if (pipe(fds))
		abort();
	close(fds[0]);
	start(&r, fds[1]);
	drain(&r);
	ok(!r.count && pagetrace_source_error(r.source) == -EBADF,
	   "an error of the system ends the source, and is its error");
	is(merge_error(r.merge), -EBADF, "and that of the merge");
	end(&r);
}

int main(void)
{
	test_unreadable();
	test_file();
	test_pipe();
	test_damage();
	test_no_trace();
	return tap_done();
}
