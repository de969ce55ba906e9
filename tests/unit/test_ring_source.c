/* SPDX-License-Identifier: BSD-2-Clause */
/* The source of rings, over a live ring and over one whose file is truncated under it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ebtrace/probes.h>

#include "source/ring.h"
#include "tests/tap.h"

struct tally {
	size_t events, damage;
	uint64_t offset;
	int end; /* what the last read of lane 0 gave */
};

static void drain(struct source *s, struct tally *t)
{
	struct ebt_event ev[100];
	source_poll(s);
	for (uint32_t lane = 0; lane < s->lanes; lane++)
		while ((t->end = source_read(s, lane, ev, 100)) > 0)
			for (int i = 0; i < t->end; i++) {
				t->events += ev[i].kind != EBT_DAMAGE && ev[i].kind != EBT_LOST;
				t->damage += ev[i].kind == EBT_DAMAGE;
				if (ev[i].kind == EBT_DAMAGE)
					t->offset = ev[i].arg[0];
			}
}

static void test_live(struct session *session)
{
	struct ring_source *s;
	struct ebt_cursor *c = NULL;
	struct tally t = {0};
	ok(!ring_source_new(session, 1 << 20, &s) &&
		   !ebt_cursor_open_pid(0, NULL, EBT_RELEASE_AUTO, &c, NULL) &&
		   !ring_source_add(s, c, "test", (uint32_t)getpid(), true),
	   "a live ring is added");
	for (int i = 0; i < 100; i++)
		ebt_begin(EBT_PHASE_minor);
	struct source *base = ring_source_base(s);
	ring_source_finish(s, (uint32_t)getpid());
	drain(base, &t);
	ok(t.events >= 100 && !t.damage && !t.end, "finished, it gives all and ends");
	source_free(base);
}

static void test_truncated(struct session *session)
{
	struct ring_source *s;
	struct ebt_cursor *c = NULL;
	struct tally t = {0};
	char path[] = "/tmp/ebtrace-source-XXXXXX", cmd[512];
	int fd = mkstemp(path);
	snprintf(cmd, sizeof(cmd), "cp '%s' '%s'", ebt_ring_path(), path);
	ok(fd >= 0 && !system(cmd) && !ring_source_new(session, 1 << 20, &s) &&
		   !ebt_cursor_open(path, EBT_RELEASE_AUTO, &c, NULL) &&
		   !ring_source_add(s, c, "test", 1, true),
	   "a ring's file is added as live");
	struct source *base = ring_source_base(s);
	source_poll(base);
	ok(!ftruncate(fd, 100), "its file is truncated inside the headers");
	source_poll(base);
	ok(!source_stop(base), "the source stops");
	drain(base, &t);
	ok(t.events >= 100, "what was taken before is delivered");
	ok(t.damage == 1 && t.offset == 100, "the damage is told once, where the file ends");
	is(t.end, 0, "and the lane ends");
	source_free(base);
	close(fd);
	unlink(path);
}

int main(void)
{
	struct session *session;
	setenv("EBTRACE_DIR", "/dev/shm", 1);
	if (!ok(!session_new(&session) && !ebt_start(), "a ring is recorded"))
		return tap_done();
	test_live(session);
	test_truncated(session);
	ebt_stop();
	session_free(session);
	return tap_done();
}
