/* SPDX-License-Identifier: BSD-2-Clause */
/* What waits between the BPF ring buffer and the merge: its order, and the memory it gives back. */
#include "source/bpf/lanes.h"
#include "source/bpf/spool.h"
#include "tests/tap.h"

#include <stdint.h>

static void test_spool(void)
{
	struct bpf_spool s = {0};
	uint8_t record[1000];
	unsigned wrong = 0, n = 0;
	size_t bytes;
	for (unsigned i = 0; i < 5000; i++) {
		memset(record, (int)(i & 0xff), sizeof(record));
		wrong += bpf_spool_put(&s, record, 1 + i % sizeof(record)) != 0;
	}
	ok(!wrong && s.cap > 2u << 20, "records of megabytes may wait");
	for (const uint8_t *r; (r = bpf_spool_next(&s, &bytes)); n++)
		wrong += bytes != 1 + n % sizeof(record) || r[bytes - 1] != (n & 0xff);
	ok(!wrong && n == 5000, "they come out in their order");
	ok(s.cap <= 1u << 20, "and then the memory is given back");
	ok(!bpf_spool_put(&s, record, 8) && bpf_spool_next(&s, &bytes) && bytes == 8,
	   "others may follow");
	ok(!bpf_spool_next(&s, &bytes) && s.cap > 0, "a small one is kept for the next");
	bpf_spool_done(&s);
}

/* A record comes while others wait: what was read before them makes room, or there is more. */
static void test_spool_in_turn(void)
{
	static const size_t sizes[] = {30000, 1, 12345, 8, 40000, 7, 65000, 3000};
	static uint8_t record[65000];
	struct bpf_spool s = {0};
	unsigned wrong = 0, put = 0, got = 0;
	size_t bytes;
	for (unsigned i = 0; i < 2000; i++) {
		/* Two are put for each that is read, and the other way round. */
		for (unsigned n = i % 200 < 100 ? 2 : 1; n; n--) {
			size_t size = sizes[put * 7 % 8];
			memset(record, (int)(put & 0xff), size);
			wrong += bpf_spool_put(&s, record, size) || s.end > s.cap;
			put++;
		}
		for (unsigned n = i % 200 < 100 ? 1 : 2; n && got < put; n--) {
			const uint8_t *r = bpf_spool_next(&s, &bytes);
			wrong += !r || bytes != sizes[got * 7 % 8] || r[0] != (got & 0xff) ||
				 r[bytes - 1] != (got & 0xff);
			got++;
		}
	}
	is(wrong, 0, "records that come between reads have room, and come out in their order");
	bpf_spool_done(&s);
	wrong = bpf_spool_put(&s, record, 30000) || bpf_spool_put(&s, record, 30000) ||
		!bpf_spool_next(&s, &bytes) || bpf_spool_put(&s, record, 40000);
	ok(!wrong && s.end <= s.cap, "also where the room that was read is not enough");
	bpf_spool_done(&s);
}

static void test_lanes(void)
{
	struct bpf_lanes l;
	struct ebt_event ev[64];
	unsigned wrong = 0, n = 0;
	if (bpf_lanes_init(&l))
		abort();
	for (unsigned i = 0; i < 5000; i++) {
		struct ebt_event in = {.ts = i, .domain = 3};
		wrong += bpf_lanes_add(&l, 0, &in) != 0;
	}
	is(l.waiting, 5000, "events of a domain wait");
	for (size_t got; (got = bpf_lanes_read(&l, 1, UINT64_MAX, ev, 64)); n += (unsigned)got)
		wrong += ev[0].ts != n;
	ok(!wrong && n == 5000 && !l.waiting, "they are read in their order");
	is(l.lane[1].cap, 0, "and the memory of so many is given back");
	bpf_lanes_done(&l);
}

/* More threads than are remembered: the one that comes next may have been among them. */
static void test_threads(void)
{
	struct bpf_lanes l;
	if (bpf_lanes_init(&l))
		abort();
	for (uint32_t tid = 1; tid <= 4096; tid++)
		*bpf_lanes_last(&l, 0, EBT_NO_DOMAIN, tid) = (struct bpf_last){
			.ts = tid == 77 ? 9000 : tid, .dropped = tid, .is_known = true};
	is(bpf_lanes_last(&l, 0, EBT_NO_DOMAIN, 5)->ts, 5, "each thread has its last event");
	const struct bpf_last *last = bpf_lanes_last(&l, 0, EBT_NO_DOMAIN, 5000);
	ok(last->is_known && last->ts == 9000 && last->dropped == 77,
	   "one beyond as many as are remembered has the newest of those that are forgotten");
	bpf_lanes_done(&l);
}

int main(void)
{
	test_spool();
	test_spool_in_turn();
	test_lanes();
	test_threads();
	return tap_done();
}
