/* SPDX-License-Identifier: BSD-2-Clause */
/* Batches are as large as the output is fast: what is written does not depend on them. */
#include <sys/mman.h>
#include <unistd.h>

#include "format/chrome/chrome.h"
#include "format/memtrace.h"
#include "format/perfetto/perfetto.h"
#include "session/session.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#define EVENTS 512

static int memtrace(const struct session *s, int fd, struct sink **ret)
{
	return memtrace_new((struct session *)s, fd, ret);
}

/* Pages and allocations in turn, of several domains, 0.1 ms apart: some counters are due
 * between. */
static struct ebt_event event(unsigned i)
{
	struct ebt_event ev = {.process = 1,
			       .ts = 1000000000ull + i * 100000ull,
			       .domain = (uint16_t)(i * 37 % 11),
			       .pos = EBT_NO_POS,
			       .cpu = EBT_NO_CPU};
	if (i % 3) {
		ev.kind = EBT_ALLOC;
		ev.arg[0] = i;
		ev.arg[1] = 10 + i;
		ev.pos = 1;
	} else {
		ev.kind = EBT_PAGE_ALLOC;
		ev.arg[0] = i * 8192ull;
		ev.arg[1] = 1;
	}
	return ev;
}

/* The bytes that a format makes of the events, in batches of so many. */
static size_t write_in(size_t batch, int (*make)(const struct session *, int, struct sink **),
		       char *out, size_t cap)
{
	struct session *s;
	struct sink *sink;
	struct ebt_event ev[EVENTS];
	int fd = memfd_create("out", 0);
	if (fd < 0 || session_new(&s) || enter_processes(s, 4) || make(s, fd, &sink))
		abort();
	for (unsigned i = 0; i < EVENTS; i++)
		ev[i] = event(i);
	for (size_t i = 0; i < EVENTS; i += batch)
		if (sink_events(sink, ev + i, batch < EVENTS - i ? batch : EVENTS - i))
			abort();
	sink_end(sink);
	sink_free(sink);
	session_free(s);
	ssize_t n = pread(fd, out, cap, 0);
	close(fd);
	return n > 0 ? (size_t)n : 0;
}

int main(void)
{
	static const struct {
		const char *name;
		int (*make)(const struct session *, int, struct sink **);
	} format[] = {{"perfetto", perfetto_new}, {"chrome", chrome_new}, {"memtrace", memtrace}};
	static char all[1 << 20], some[1 << 20];
	for (unsigned f = 0; f < sizeof(format) / sizeof(*format); f++) {
		size_t n = write_in(EVENTS, format[f].make, all, sizeof(all));
		for (size_t batch = 1; batch < EVENTS; batch = batch * 3 + 1) {
			size_t got = write_in(batch, format[f].make, some, sizeof(some));
			ok(n && got == n && !memcmp(all, some, n),
			   "%s: batches of %zu make the same bytes as one of %d (%zu, %zu)",
			   format[f].name, batch, EVENTS, got, n);
		}
	}
	return tap_done();
}
