/* SPDX-License-Identifier: BSD-2-Clause */
/* Page events written as a page trace, and read again. */
#include "format/pagetrace.h"
#include "tests/tap.h"

#include <ebtrace/pagetrace.h>
#include <stdlib.h>
#include <unistd.h>

#define BASE 0xc000000000ull

static struct sink *begin(struct session **s, FILE *file, uint32_t page_bytes,
			  uint32_t *ret_process)
{
	struct sink *k = NULL;
	if (session_new(s) || processes_of(&(*s)->processes, 5, ret_process) ||
	    pagetrace_new(*s, fileno(file), &k))
		ok(0, "a sink is made");
	processes_announce(&(*s)->processes, *ret_process)->page_bytes = page_bytes;
	return k;
}

static ssize_t read_at(void *ctx, void *to, size_t bytes, uint64_t offset)
{
	return pread(fileno(ctx), to, bytes, (off_t)offset);
}

/* The events in the order of time, as text. */
static void read_all(FILE *file, char *ret, size_t size)
{
	struct ebt_pagetrace_file *f;
	struct ebt_pagetrace_event e;
	size_t at = 0;
	*ret = 0;
	if (ebt_pagetrace_open(read_at, file, &f, NULL)) {
		ok(0, "a page trace was written");
		return;
	}
	while (at < size && ebt_pagetrace_read_all(f, &e, 1) == 1)
		at += (size_t)snprintf(ret + at, size - at, "%s%d %c%llu+%llu", at ? ", " : "", e.p,
				       " AFS"[e.what & 3],
				       (unsigned long long)(e.addr - BASE) / 8192,
				       (unsigned long long)e.pages);
	ebt_pagetrace_close(f);
}

static struct ebt_event event(uint32_t process, uint64_t ts, uint16_t kind, uint64_t addr,
			      uint64_t pages)
{
	return (struct ebt_event){.ts = ts,
				  .process = process,
				  .kind = kind,
				  .domain = EBT_NO_DOMAIN,
				  .flags = EBT_F_BPF,
				  .arg = {BASE + addr, pages}};
}

static void check(const char *name, uint32_t page_bytes, struct ebt_event *ev, size_t n,
		  const char *want)
{
	struct session *s;
	uint32_t process;
	char text[512];
	FILE *file = tmpfile();
	struct sink *k = begin(&s, file, page_bytes, &process);
	for (size_t i = 0; i < n; i++)
		ev[i].process = ev[i].process ? ev[i].process : process;
	if (sink_events(k, ev, n) || sink_end(k))
		ok(0, "events are written");
	read_all(file, text, sizeof(text));
	is_str(text, want, name);
	sink_free(k);
	session_free(s);
	fclose(file);
}

static void test_forms(void)
{
	struct ebt_event ev[] = {
		event(0, 1000, EBT_PAGE_ALLOC, 0, 4),
		event(0, 1000, EBT_PAGE_ALLOC, 8192, 2),
		event(0, 2000, EBT_PAGE_ALLOC, 65536, 1),
		event(77, 2500, EBT_PAGE_ALLOC, 0, 1),
		event(0, 3000, EBT_PAGE_SCAVENGE, 0, 2),
		event(0, 4000, EBT_PAGE_FREE, 65536, 1),
		event(0, 5000, EBT_PAGE_FREE, 1ull << 60, 1),
	};
	const size_t n = sizeof(ev) / sizeof(*ev);
	ev[0].id = EBT_PAGE_SNAPSHOT;
	ev[1].id = EBT_PAGE_SNAPSHOT;
	struct ebt_event of_heap[sizeof(ev) / sizeof(*ev)];
	memcpy(of_heap, ev, sizeof(ev));
	check("pages of 4 KiB of an address space are rounded", 4096, ev, n,
	      "-1 A0+2, 0 A8+1, 0 F0+1, 0 S0+1, 0 F8+1");
	memcpy(ev, of_heap, sizeof(ev));
	check("larger ones are several", 16384, ev, n,
	      "-1 A0+8, -1 A1+4, 0 A8+2, 0 F0+4, 0 S0+4, 0 F8+2");
	struct ebt_event huge[] = {event(0, 1000, EBT_PAGE_ALLOC, 0, 4),
				   event(0, 2000, EBT_PAGE_ALLOC, 1 << 20, (1ull << 63) + 3)};
	check("more than there can be are none", 16384, huge, 2, "0 A0+8");
	for (size_t i = 0; i < n; i++) {
		of_heap[i].flags = 0;
		of_heap[i].domain = (uint16_t)(3 - i % 2);
	}
	of_heap[1].domain = EBT_NO_DOMAIN;
	of_heap[1].flags = EBT_F_BPF; /* of a marker */
	check("those of a heap are as they are, also in contradiction", 8192, of_heap, n,
	      "-1 A1+2, 3 A0+4, 3 A8+1, 3 S0+2, 2 F8+1");
}

/* More Ps than there is memory for, in turn. */
static void test_many(void)
{
	struct session *s;
	uint32_t process;
	FILE *file = tmpfile();
	struct sink *k = begin(&s, file, 8192, &process);
	struct ebt_pagetrace_file *f;
	const struct ebt_pagetrace_lane *lane;
	int err = 0;
	for (uint32_t i = 0; i < 3000; i++) {
		struct ebt_event ev = event(process, 1000 + 200 * i, EBT_PAGE_ALLOC, i * 8192, 1);
		ev.flags = 0;
		ev.domain = i % 1000 == 999 ? EBT_NO_DOMAIN : (uint16_t)(i % 1000);
		err |= sink_events(k, &ev, 1);
	}
	err |= sink_end(k);
	is(err, 0, "many Ps are written");
	sink_free(k);
	session_free(s);
	if (ebt_pagetrace_open(read_at, file, &f, NULL)) {
		ok(0, "and read");
		return;
	}
	size_t lanes = ebt_pagetrace_lanes(f, &lane);
	uint64_t events = 0, boot = 0;
	for (size_t i = 0; i < lanes; i++) {
		events += lane[i].events;
		boot += lane[i].p == EBT_PAGETRACE_NO_P ? lane[i].blocks : 0;
	}
	is(lanes, 1000, "each has its lane");
	is(events, 3000, "with all events");
	is(boot, 1, "P -1 has one block");
	int64_t p = 0;
	/* P, time, 3 events: 40 bytes. */
	fseek(file, -40, SEEK_END);
	ok(fread(&p, 1, 8, file) == 8 && p >> 3 == -1, "which is the last");
	ebt_pagetrace_close(f);
	fclose(file);
}

/* An address space of which nothing was there at first. */
static void test_nothing_first(void)
{
	struct session *s;
	uint32_t process;
	FILE *file = tmpfile();
	struct sink *k = begin(&s, file, 4096, &process);
	struct ebt_pagetrace_file *f;
	struct ebt_event ev = event(process, 1000, EBT_PAGE_ALLOC, 0, 1);
	is(sink_events(k, &ev, 1), 0, "an event is taken");
	is(sink_end(k), 0, "and written");
	sink_free(k);
	session_free(s);
	if (ebt_pagetrace_open(read_at, file, &f, NULL)) {
		ok(0, "and read");
		return;
	}
	ok(ebt_pagetrace_file_counts(f).has_boot, "the trace is whole: it has a block of P -1");
	ebt_pagetrace_close(f);
	fclose(file);
}

/* The index of a process that has ended is another's. */
static void test_index_again(void)
{
	struct session *s;
	uint32_t process;
	char text[512];
	FILE *file = tmpfile();
	struct sink *k = begin(&s, file, 8192, &process);
	struct ebt_event first = event(process, 1000, EBT_PAGE_ALLOC, 0, 2),
			 second = event(process, 2000, EBT_PAGE_ALLOC, 8192 * 8, 4);
	ok(!sink_events(k, &first, 1) && !sink_forget(k, process) && !sink_events(k, &second, 1) &&
		   !sink_end(k),
	   "a process ends, and another one has its index");
	read_all(file, text, sizeof(text));
	ok(strstr(text, "A0+2") && !strstr(text, "A8+4"), "whose pages are not in the trace: %s",
	   text);
	sink_free(k);
	session_free(s);
	fclose(file);
}

int main(void)
{
	test_index_again();
	test_forms();
	test_many();
	test_nothing_first();
	return tap_done();
}
