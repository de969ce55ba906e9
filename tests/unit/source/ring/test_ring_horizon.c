/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the ring source may hand out, and when: rings whose headers say what no producer can be
 * stopped at. A writer inside an event, one that left it, one that stays; a record cut by a hole.
 */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/ring/ring.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"
#include "tests/unit/ring_forged.h"

#define STORE_SLACK_NS 20000ull /* as ring.c has it */
#define IDLE_MAX_US    20000	/* as well */
#define SLACK_NS       (RING_SLACK_NS + STORE_SLACK_NS)
#define STOPPED_NS     1000000000ull /* a writer that stays inside an event is waited for so long */

static struct session *session;
static struct ring_source *rings;
static struct source *source;
static struct ebt_ring_file layout;
static char path[] = "/tmp/ebtrace-horizon-XXXXXX";
static int fd = -1;
static struct ebt_event ev[16];

static void begin(bool ext)
{
	fd = fd < 0 ? mkstemp(path) : fd;
	layout = forged_layout(2);
	if (ftruncate(fd, 0) || ring_source_new(session, 1 << 20, &rings))
		abort();
	forged_file(fd, &layout, ext);
	source = ring_source_base(rings);
}

/* As a live file; returns the time before it was added. */
static uint64_t add(bool live)
{
	struct ebt_cursor *c;
	uint64_t before = now_ns();
	if (ebt_cursor_open(path, EBT_RELEASE_OCAML_5_3, &c, NULL) ||
	    ring_source_add(rings, c, "forged", 7, live ? RING_LIVE : RING_AT_REST))
		abort();
	return before;
}

static void header(uint32_t domain, uint64_t head, uint64_t tail, uint64_t writing)
{
	const struct ebt_ring_header r = {.head = head, .tail = tail, .writing = writing};
	forged_header(fd, &layout, domain, &r);
}

/* Looks, when rings that do not fill are looked at again, which is late where looks take long;
 * returns the time just before. */
static uint64_t look(void)
{
	usleep(IDLE_MAX_US);
	uint64_t before = now_ns();
	if (source_poll(source))
		abort();
	return before;
}

/* Where the machine has held us up for so long that a writer that has been inside an event since
 * then counts as stopped, less is held back for it. */
static bool is_too_late(uint64_t since)
{
	return now_ns() - since >= STOPPED_NS;
}

static void test_writing(void)
{
	begin(true);
	uint64_t ts = now_ns();
	forged_counter(fd, &layout, 0, 0, ts, 0);
	header(0, 0, 3, 1);
	uint64_t added = add(true), added_by = now_ns();
	look();
	uint64_t first = source_horizon(source, 1);
	ok((first >= added - RING_SLACK_NS - SLACK_NS &&
	    first <= added_by - RING_SLACK_NS - SLACK_NS) ||
		   is_too_late(added),
	   "a writer inside an event at the first look: nothing is certain since the ring was "
	   "found");
	int early = source_read(source, 1, ev, 16);
	ok(early == -EAGAIN || is_too_late(added), "what it wrote before waits");
	early = early < 0 ? 0 : early;
	usleep(1000);
	uint64_t second = look(), second_by = now_ns();
	ok(source_horizon(source, 1) == first || is_too_late(added),
	   "it stays there: no more is certain");
	ok(source_horizon(source, 0) == first || is_too_late(added), "for any lane");
	usleep(1000);
	forged_counter(fd, &layout, 0, 3, ts + 1, 1);
	header(0, 0, 6, 1);
	look();
	uint64_t moved = source_horizon(source, 1);
	ok(moved >= second - SLACK_NS && (moved <= second_by - SLACK_NS || is_too_late(second)),
	   "it wrote and is inside an event again: that began after the look before");
	header(0, 0, 6, 0);
	uint64_t out = look();
	ok(source_horizon(source, 1) >= out - SLACK_NS,
	   "it is out: all up to this look is certain");
	usleep(RING_SLACK_NS / 1000 + 2000);
	look();
	is(source_read(source, 1, ev + early, 16 - early), 2 - early,
	   "after the slack what it wrote is handed out");
	ok(ev[0].ts == ts && ev[1].ts == ts + 1 && ev[1].seq == 1, "as it is");
	source_free(source);
}

static void test_others(void)
{
	begin(true);
	forged_counter(fd, &layout, 0, 0, 5, 0);
	header(0, 0, 3, 0);
	header(1, 0, 0, 1);
	uint64_t added = add(true), added_by = now_ns();
	look();
	uint64_t horizon = source_horizon(source, 1);
	ok((horizon >= added - RING_SLACK_NS - SLACK_NS &&
	    horizon <= added_by - RING_SLACK_NS - SLACK_NS) ||
		   is_too_late(added),
	   "a writer inside its first event holds back other rings too");
	is(source_read(source, 1, ev, 16), 1, "but not what is older");
	usleep(1150000);
	uint64_t now = look(), by = now_ns();
	horizon = source_horizon(source, 1);
	ok(horizon >= now - STOPPED_NS - SLACK_NS && horizon <= by - STOPPED_NS - SLACK_NS,
	   "one that stays for a second is stopped, and waited for no longer than that");
	ring_source_finish(rings, 7);
	look();
	ok(source_horizon(source, 1) == UINT64_MAX, "one that has ended, not at all");
	is(source_stop(source), 0, "the source stops");
	ok(source_horizon(source, 1) == UINT64_MAX, "and has no horizon");
	is(source_read(source, 1, ev, 16), 0, "the lane ends");
	is(source_read(source, 0, ev, 16), 0, "and lane 0");
	source_free(source);
}

static void test_foreign(void)
{
	begin(false);
	forged_counter(fd, &layout, 0, 0, 5, 0);
	header(0, 0, 3, 1);
	add(true);
	uint64_t now = look();
	ok(source_horizon(source, 1) >= now - SLACK_NS,
	   "in a file that is not ours the word means nothing");
	source_free(source);
}

/* Half of a record was taken when the writer lapped us. */
static void test_cut(bool ext, bool decoded)
{
	begin(ext);
	forged_counter(fd, &layout, 0, 0, 10, 0);
	forged_counter(fd, &layout, 0, 3, 11, 1);
	header(0, 0, 4, 0);
	add(true);
	look();
	size_t n = 0;
	if (decoded) { /* the first record was handed out before the hole was found */
		is(source_read(source, 1, ev, 16), 1, "half of a record waits");
		n = 1;
	}
	forged_counter(fd, &layout, 0, 600, 20, 200);
	header(0, 600, 603, 0);
	look();
	source_stop(source);
	is(source_read(source, 1, ev + n, 16), 3 - n, "a record, a hole and a record");
	ok(ev[0].ts == 10 && ev[0].pos == 0, "the record in front of the cut one is as it is");
	ok(ev[1].kind == EBT_LOST && ev[1].arg[1] == 597,
	   "the words that were taken of the cut record are part of the hole");
	ok(EBT_LOST_SINCE(&ev[1]) == 10 && ev[1].ts == 20, "which is where it is");
	ok(ev[1].arg[0] == (ext ? 199 : EBT_LOST_UNCOUNTED), "%s",
	   ext ? "its events are counted by ordinals" : "its events are not known");
	ok(ev[2].kind == EBT_COUNTER && ev[2].pos == 600, "the stream goes on");
	is(source_read(source, 1, ev, 16), 0, "and ends");
	source_free(source);
}

/* The scans for ring files stop for longer than the slack, as where the machine is busy. */
static void test_scans(void)
{
	begin(true);
	uint64_t scanned = now_ns() - 2 * SLACK_NS;
	ring_source_scanned(rings, scanned);
	look();
	is(source_horizon(source, 0), scanned, "a file that is there since the last scan may come");
	forged_counter(fd, &layout, 0, 0, scanned - 1, 0);
	forged_counter(fd, &layout, 0, 3, scanned + 1, 1);
	header(0, 0, 6, 0);
	add(true);
	look();
	is(source_horizon(source, 1), scanned, "also beside another one");
	is(source_read(source, 1, ev, 16), 1, "what is younger than the scan waits");
	ring_source_finish(rings, 7);
	look();
	is(source_horizon(source, 1), scanned, "also behind the end of those that are known");
	is(source_read(source, 1, ev, 16), -EAGAIN, "and waits still");
	ring_source_scanned(rings, scanned + 1);
	look();
	is(source_read(source, 1, ev, 16), 1, "until the next scan");
	source_stop(source);
	ok(source_horizon(source, 0) == UINT64_MAX, "at the end nothing is waited for");
	source_free(source);
}

/* A cut record whose rest comes is whole. */
static void test_rest(void)
{
	begin(true);
	forged_counter(fd, &layout, 0, 0, 10, 0);
	forged_counter(fd, &layout, 0, 3, 11, 1);
	header(0, 0, 4, 0);
	add(true);
	look();
	is(source_read(source, 1, ev, 16), 1, "half of a record waits for its rest");
	header(0, 0, 6, 0);
	look();
	is(source_read(source, 1, ev, 16), 1, "which makes it whole");
	ok(ev[0].kind == EBT_COUNTER && ev[0].ts == 11 && ev[0].pos == 3, "as it was written");
	source_free(source);
}

/* Looks until one has been at a whole file in which nothing changes. */
static uint64_t look_until_still(void)
{
	look();
	return look();
}

/* Events that can be read once the slack is over. */
static int read_all(void)
{
	usleep(RING_SLACK_NS / 1000 + 2000);
	look();
	look();
	int n = source_read(source, 1, ev, 16);
	return n < 0 ? 0 : n;
}

#define STILL_MAX_NS 200000000ull /* beyond that a file that is still is read whole */

/* A file in which nothing changes is asked by one read whether that is so. */
static void test_still(void)
{
	begin(true);
	uint64_t ts = now_ns();
	forged_counter(fd, &layout, 0, 0, ts, 0);
	header(0, 0, 3, 0);
	add(true);
	uint64_t whole = look_until_still(), first = look(), first_by = now_ns();
	uint64_t horizon = source_horizon(source, 1);
	ok(horizon >= whole - SLACK_NS, "all up to the look before is certain");
	ok(horizon <= first - SLACK_NS || now_ns() - whole > STILL_MAX_NS,
	   "and no more, as one read does not say what came first");
	look();
	uint64_t second_by = now_ns();
	ok(source_horizon(source, 1) >= first - SLACK_NS, "from look to look it goes on");
	header(0, 0, 3, 1);
	for (int i = 0; i < 4; i++)
		look();
	ok(source_horizon(source, 1) >= horizon &&
		   (source_horizon(source, 1) <= second_by - SLACK_NS || is_too_late(second_by)),
	   "a writer that is inside an event since then is waited for");
	forged_counter(fd, &layout, 0, 3, first_by, 1);
	header(0, 0, 6, 0);
	is(read_all(), 2, "what it wrote comes, in order");
	ok(ev[0].ts == ts && ev[1].ts == first_by, "and whole");
	look_until_still();
	look();
	forged_counter(fd, &layout, 0, 6, now_ns(), 2);
	header(0, 0, 9, 0);
	is(read_all(), 1, "one that is written while the file is still is found");
	look_until_still();
	look();
	uint32_t lanes = source->lanes;
	forged_counter(fd, &layout, 1, 0, now_ns(), 0);
	header(1, 0, 3, 0);
	look();
	is(source->lanes, lanes + 1, "so is the first one of another ring");
	look_until_still();
	look();
	source_read(source, 2, ev, 16);
	if (ftruncate(fd, (off_t)layout.headers_offset + 8))
		abort();
	int n = read_all();
	ok(n > 0 && ev[n - 1].kind == EBT_DAMAGE, "that it is cut is noticed, too");
	source_stop(source);
	ok(source_horizon(source, 0) == UINT64_MAX, "and ends");
	source_free(source);
}

int main(void)
{
	if (session_new(&session) || enter_processes(session, 7))
		return 1;
	test_writing();
	test_others();
	test_foreign();
	for (int i = 0; i < 4; i++)
		test_cut(i & 1, i & 2);
	test_rest();
	test_still();
	test_scans();
	session_free(session);
	close(fd);
	unlink(path);
	return tap_done();
}
