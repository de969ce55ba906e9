/* SPDX-License-Identifier: BSD-2-Clause */
/* ndjson: what the lines of one kind and id have in common is not kept for longer than it is
 * true. */
#include "codec/ring/ids.h"
#include "format/ndjson/ndjson.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

static void put(struct sink *k, uint16_t kind, uint32_t id)
{
	struct ebt_event ev = {
		.ts = 1, .pos = EBT_NO_POS, .pid = 7, .kind = kind, .cpu = EBT_NO_CPU, .id = id};
	if (sink_events(k, &ev, 1))
		abort();
}

/* A phase that a release has by another number than the canonical one. */
static uint32_t renumbered(const uint16_t *raw, uint32_t n)
{
	for (uint32_t id = 0; id < n; id++)
		if (raw[id] != id && raw[id] != UINT16_MAX)
			return id;
	return UINT32_MAX;
}

int main(void)
{
	static char text[4096];
	struct session *s;
	struct sink *k;
	uint32_t n;
	const uint16_t *before = ring_raw_phases(EBT_RELEASE_OCAML_5_0, &n);
	int fd = memfd_create("ndjson", 0);
	if (session_new(&s) || enter_processes(s, 16) || ndjson_new(s, fd, &k) || fd < 0)
		abort();
	uint32_t id = before ? renumbered(before, n) : UINT32_MAX;
	if (!ok(id != UINT32_MAX, "an old release numbers a phase in its own way"))
		return tap_done();
	struct process *p = processes_announce(&s->processes, 7);
	p->traits.raw_phase = before;
	p->traits.raw_phases = n;
	put(k, EBT_BEGIN, id);
	put(k, EBT_PROCESS, EBT_PROCESS_EXEC);
	p->traits = (struct traits){0};
	put(k, EBT_BEGIN, id);
	is(sink_end(k), 0, "all is written");
	sink_free(k);
	ok(pread(fd, text, sizeof(text) - 1, 0) > 0, "and is there");
	char want[32];
	snprintf(want, sizeof(want), "\"id\":%u,", before[id]);
	const char *exec = strstr(text, "\"exec\"");
	const char *first = strstr(text, want);
	ok(exec && first && first < exec, "a program's phases have its release's numbers");
	snprintf(want, sizeof(want), "\"id\":%u,", id);
	ok(exec && strstr(exec, want), "the program that takes its place has those of its own");
	session_free(s);
	close(fd);
	return tap_done();
}
