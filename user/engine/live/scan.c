/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/scan.h"

#include "base/clock.h"

/* While a program of ours has no ring: so often at first, later so many times while as much time passes
 * as has passed, up to a time in which few rings wrap. */
#define FIRST_NS     250000ull
#define FIRST_MAX_NS 8000000ull
#define FIRST_SHARE  32
/* A program has its ring so long after it has begun. */
#define BEGINS_NS 2000000ull
/* A scan that takes so long (of 60,000 mappings), and those that come sooner than by the clock,
 * have one part in so many of our time. */
#define DEAR_NS (RING_FILES_SCAN_NS / 4)
#define SHARE	5

static void set(struct scan *s, uint64_t at_ns)
{
	s->at_ns = at_ns;
	loop_timer_set(s->loop, &s->timer, at_ns);
}

/* How long it is until the next look for the ring of a program that has none yet. */
static uint64_t first_period(const struct scan *s, uint64_t now)
{
	uint64_t ns = (now - s->began_ns) / FIRST_SHARE;
	ns = ns > FIRST_NS ? ns : FIRST_NS;
	return ns < FIRST_MAX_NS ? ns : FIRST_MAX_NS;
}

static int on_timer(void *ctx)
{
	struct scan *s = ctx;
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool waiting = s->hurried && !ring_files_opened(s->files);
	uint64_t begin = now_ns();
	/* Who has ended is forgotten by the scan: first it is heard what they did last. */
	int err = s->probing->source ? source_poll(s->probing->source) : 0;
	if (!err)
		err = ring_files_scan(s->files, probing_known_ns(s->probing));
	bool young = begin < s->young_until_ns;
	uint64_t next = begin + (waiting ? first_period(s, begin)
				 : young ? BEGINS_NS
					 : RING_FILES_SCAN_NS);
	if (ring_files_opened(s->files))
		probing_report_missing(s->probing);
	follow_found(s->follow, probing_attach_found, s->probing);
	uint64_t cost = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	uint64_t fair = now_ns() + (SHARE - 1) * cost;
	s->rests_until_ns = cost > DEAR_NS ? fair : 0;
	set(s, (cost > DEAR_NS || young) && fair > next ? fair : next);
	return err;
}

void scan_begin(struct scan *s, struct loop *l, struct follow *f, struct ring_files *files,
		struct probing *p, bool hurried)
{
	*s = (struct scan){
		.loop = l,
		.follow = f,
		.files = files,
		.probing = p,
		.hurried = hurried && p->engine->options->mode != MODE_PROBES,
		.timer = {.fn = on_timer, .ctx = s},
		.began_ns = now_ns(),
	};
	set(s, s->began_ns);
}

void scan_end(struct scan *s)
{
	if (s->loop)
		loop_timer_clear(s->loop, &s->timer);
	s->loop = NULL;
}

/* Never later than it would be without. */
static void scan_by(struct scan *s, uint64_t at_ns)
{
	uint64_t from = at_ns > s->rests_until_ns ? at_ns : s->rests_until_ns;
	if (s->loop && from < s->at_ns)
		set(s, from);
}

void scan_soon(struct scan *s)
{
	scan_by(s, now_ns());
}

void scan_new(struct scan *s)
{
	s->young_until_ns = now_ns() + RING_FILES_SCAN_NS;
}

void scan_after(struct scan *s, enum bpf_change change)
{
	switch (change) {
	case BPF_FORKED:
	case BPF_EXECED:
		scan_by(s, now_ns() + BEGINS_NS);
		break;
	case BPF_RING_STARTED:
	case BPF_RING_NEEDED:
	case BPF_EXITED:
		scan_by(s, now_ns());
		break;
	case BPF_RING_FILLS:
	case BPF_RING_STOPPED:
		break;
	}
}
