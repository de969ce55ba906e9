/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings that could not be opened before their processes ended: found later, or a loss each. */
#include "engine/live/unread_rings.h"

#include <stdlib.h>

#include "base/clock.h"
#include "tests/tap.h"

static unsigned lines;

static void count_line(void *ctx, enum log_level level, const char *fmt, va_list ap)
{
	(void)ctx, (void)level, (void)fmt, (void)ap;
	lines++;
}

static uint32_t begin_and_end(struct processes *ps, uint32_t pid)
{
	uint32_t process;
	if (processes_begin(ps, pid, NULL, &process))
		abort();
	processes_end(ps, process);
	return process;
}

int main(void)
{
	struct engine e = {0};
	struct ring_source *rings;
	struct unread_rings u;
	struct ebt_event ev[200];
	if (session_new(&e.session) || ring_source_new(e.session, 0, &rings))
		return 1;
	e.session->messages.line = count_line;
	struct processes *ps = &e.session->processes;
	struct source *base = ring_source_base(rings);
	processes_announce(ps, begin_and_end(ps, 1)); /* the first one stays */
	unread_rings_init(&u, &e, rings);
	uint32_t old = begin_and_end(ps, 7), again = begin_and_end(ps, 7);
	uint32_t process[100];
	unread_rings_add(&u, old, 10);
	for (unsigned i = 0; i < 100; i++) {
		process[i] = begin_and_end(ps, 100 + i);
		unread_rings_add(&u, process[i], 10 + i);
	}
	unread_rings_add(&u, again, 20);
	while (processes_gone(ps))
		processes_take_gone(ps);
	unread_rings_found(&u, 7);
	unread_rings_found(&u, 8);
	is(processes_gone(ps), 2, "the files of a pid are found, of all processes that had it");
	unread_rings_report(&u);
	is(lines, 100, "the others are reported");
	is(processes_gone(ps), 2, "and stay until their losses are read");
	source_stop(base);
	int n = source_read(base, 0, ev, 200);
	unsigned right = 0;
	for (int i = 0; i < n; i++)
		right += ev[i].kind == EBT_LOST && ev[i].process == process[i] &&
			 EBT_LOST_SINCE(&ev[i]) == 10u + (unsigned)i;
	ok(n == 100 && right == 100, "each of them is a loss, in the order of their ends");
	is(processes_gone(ps), 102, "then nobody refers to them any more");
	unread_rings_report(&u);
	is(lines, 100, "and nothing is reported twice");
	unread_rings_add(&u, old, 10);
	unread_rings_done(&u);
	source_free(base);
	session_free(e.session);
	return tap_done();
}
