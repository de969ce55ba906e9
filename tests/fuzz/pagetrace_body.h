/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a page trace of any bytes with both readers, which must agree, and writes its events again:
 * what is read of that must be the same. Shared by the fuzz target and the tests.
 */
#ifndef FUZZ_PAGETRACE_BODY_H
#define FUZZ_PAGETRACE_BODY_H

#include "tests/unit/pagetrace_fixture.h"

struct pagetrace_body {
	size_t events, damaged, lanes, blocks;
	ssize_t end; /* what the reader in the order of the file returned last */
};

static void pagetrace_body_must(bool good)
{
	if (!good)
		abort();
}

static int pagetrace_body_store(void *ctx, const void *block, size_t bytes)
{
	pagetrace_body_must(bytes && bytes <= EBT_PAGETRACE_BLOCK_BYTES);
	pt_append(ctx, block, bytes);
	return 0;
}

/* Each lane alone: in order of time, with the events that it states. */
static size_t pagetrace_body_lanes(struct pt_bytes *b)
{
	struct ebt_pagetrace_file *f;
	const struct ebt_pagetrace_lane *lane;
	struct ebt_pagetrace_event ev[7];
	if (ebt_pagetrace_open(pt_pread, b, &f, NULL))
		return 0;
	size_t lanes = ebt_pagetrace_lanes(f, &lane);
	for (size_t i = 0; i < lanes; i++) {
		uint64_t events = 0, last_ns = 0;
		for (ssize_t n; (n = ebt_pagetrace_read_lane(f, i, ev, 7));) {
			pagetrace_body_must(n > 0);
			for (ssize_t k = 0; k < n; k++) {
				pagetrace_body_must(ev[k].time_ns >= last_ns &&
						    ev[k].p == lane[i].p);
				last_ns = ev[k].time_ns;
				events += ev[k].what != EBT_PAGETRACE_DAMAGE;
			}
		}
		pagetrace_body_must(events == lane[i].events);
	}
	ebt_pagetrace_close(f);
	return lanes;
}

/* The events, which are in order of time, as one P's. */
static void pagetrace_body_write(const struct pt_events *e)
{
	static struct ebt_pagetrace_writer w;
	struct pt_bytes b = {0};
	ebt_pagetrace_writer_init(&w, 1, pagetrace_body_store, &b);
	for (size_t i = 0; i < e->n; i++) {
		const struct ebt_pagetrace_event *ev = &e->at[i];
		pagetrace_body_must(
			!ebt_pagetrace_write(&w, ev->what, ev->addr, ev->pages, ev->time_ns));
		e->at[i].p = 1;
	}
	pagetrace_body_must(!ebt_pagetrace_write_flush(&w));
	struct pt_events again = pt_read(&b, 5000, 64);
	pagetrace_body_must(!again.end && pt_same(&again, e) && !again.damaged);
	pt_free(&again);
	free(b.data);
}

/* The bytes arrive in pieces of at most `piece`. */
__attribute__((unused)) static struct pagetrace_body pagetrace_body(const uint8_t *data,
								    size_t size, size_t piece)
{
	struct pt_bytes b = {(uint8_t *)data, size, size};
	struct pt_events e = pt_read(&b, piece, 50), all = pt_read_all(&b, 50);
	pagetrace_body_must(e.end == all.end && e.n == all.n && e.n <= size / 8);
	pagetrace_body_must(!e.end || e.end == -EBADMSG);
	pagetrace_body_must(
		e.end || (pt_is_whole(&e.counts, size) && pt_same_counts(&e.counts, &all.counts)));
	for (size_t i = 1; i < all.n; i++)
		pagetrace_body_must(all.at[i - 1].time_ns <= all.at[i].time_ns);
	struct pagetrace_body ret = {
		.events = e.n,
		.damaged = e.damaged,
		.lanes = pagetrace_body_lanes(&b),
		.blocks = e.counts.blocks,
		.end = e.end,
	};
	pagetrace_body_write(&all);
	pt_free(&e);
	pt_free(&all);
	return ret;
}

#endif
